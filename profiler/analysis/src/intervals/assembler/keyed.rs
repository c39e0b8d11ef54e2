//! Intervals with a key. They may move between threads, so their beginnings, ends and segments come from several
//! rings and are put together in order of time.
//!
//! A **segment** is a stretch of one thread's work on the interval (dissertation 2.3.1).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::intervals::interval::AttributeValues;
use crate::intervals::trace_context::TraceContext;

/// Intervals known at a time, at most, ended ones included that may still be looked at.
pub(crate) const INSTANCES_MAX: usize = 1 << 18;
/// Segments known at a time, at most.
pub(crate) const SEGMENTS_MAX: usize = 1 << 19;

/// An interval with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Begin, ticks.
    pub begin: u64,
    /// End, ticks, once it ended.
    pub end: Option<u64>,
    /// Generation of the plan under which it began.
    pub generation: u32,
    /// Whether its probes were on.
    pub probed: bool,
    /// Its class.
    pub class: u16,
    /// The span that it belongs to.
    pub trace: Option<TraceContext>,
}

/// A segment that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// On which thread.
    pub thread: u64,
    /// When the thread turned away from the interval, ticks.
    pub end: u64,
    /// Number of the mark at which it did.
    pub end_mark: u64,
}

/// All intervals with keys.
#[derive(Debug, Default)]
pub struct KeyedIntervals {
    instances: FxHashMap<u64, VecDeque<Instance>>,
    instances_len: usize,
    open: usize,
    /// Attributes of open intervals, by key.
    attributes: FxHashMap<u64, AttributeValues>,
    segments: FxHashMap<u64, Vec<Segment>>,
    segments_len: usize,
    prune_at: usize,
}

impl KeyedIntervals {
    /// An interval begins. Returns whether one with this key had not ended: that one is over.
    pub fn begin(&mut self, key: u64, instance: Instance) -> bool {
        let instances = self.instances.entry(key).or_default();
        let left = instances.back_mut().filter(|last| last.end.is_none());
        let left_early = left.is_some();
        if left_early {
            self.attributes.remove(&key);
        }
        if let Some(left) = left {
            left.end = Some(instance.begin);
        }
        instances.push_back(instance);
        self.instances_len += 1;
        self.open += usize::from(!left_early);
        left_early
    }

    /// The open interval of this key is of this class.
    pub fn classify(&mut self, key: u64, class: u16) {
        let last = self.instances.get_mut(&key).and_then(VecDeque::back_mut);
        if let Some(open) = last.filter(|last| last.end.is_none()) {
            open.class = class;
        }
    }

    /// The class of the open interval of this key.
    pub(crate) fn class_of(&self, key: u64) -> Option<u16> {
        let last = self.instances.get(&key).and_then(VecDeque::back);
        last.filter(|last| last.end.is_none())
            .map(|open| open.class)
    }

    /// The open interval of this key belongs to this span.
    pub(crate) fn set_trace(&mut self, key: u64, trace: TraceContext) {
        let last = self.instances.get_mut(&key).and_then(VecDeque::back_mut);
        if let Some(open) = last.filter(|last| last.end.is_none()) {
            open.trace = Some(trace);
        }
    }

    /// The open interval of this key has this attribute; a value it had before is replaced.
    pub(crate) fn set_attribute(&mut self, key: u64, attribute: u16, value: i64) {
        let last = self.instances.get(&key).and_then(VecDeque::back);
        if last.is_none_or(|last| last.end.is_some()) {
            return;
        }
        let values = self.attributes.entry(key).or_default();
        match values.iter_mut().find(|(known, _)| *known == attribute) {
            Some((_, known)) => *known = value,
            None => values.push((attribute, value)),
        }
    }

    /// Attributes of the interval of this key, which has just ended.
    pub(crate) fn take_attributes(&mut self, key: u64) -> AttributeValues {
        self.attributes.remove(&key).unwrap_or_default()
    }

    /// The interval of this key ends. Returns it, or nothing where none is open.
    pub fn end(&mut self, key: u64, time: u64) -> Option<Instance> {
        let last = self.instances.get_mut(&key)?.back_mut()?;
        if last.end.is_some() {
            return None;
        }
        last.end = Some(time);
        self.open -= 1;
        Some(*last)
    }

    /// A thread that worked for this key turned away.
    pub fn segment(&mut self, key: u64, segment: Segment) {
        self.segments.entry(key).or_default().push(segment);
        self.segments_len += 1;
    }

    /// The last segment of this key that ended in `(after, until]`.
    ///
    /// The paper's algorithm 2 prefers the previous segment on the same thread. Here the segment that ended last is
    /// taken, whatever its thread; the given thread wins a tie. Otherwise an interval that moves to another thread
    /// and back would lose the other thread's work.
    pub(crate) fn last_segment(
        &self,
        key: u64,
        thread: u64,
        after: u64,
        until: u64,
    ) -> Option<Segment> {
        let segments = self.segments.get(&key)?.iter();
        segments
            .filter(|segment| segment.end > after && segment.end <= until)
            .max_by_key(|segment| (segment.end, segment.thread == thread, segment.end_mark))
            .copied()
    }

    /// Class of the interval that had this key at a time, if known.
    pub(crate) fn class_at(&self, key: u64, time: u64) -> Option<u16> {
        let instances = self.instances.get(&key)?.iter().rev();
        let mut begun = instances.skip_while(|instance| instance.begin > time);
        begun.next().map(|instance| instance.class)
    }

    /// Intervals that have begun and not ended.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Ends the open intervals that began before `time`, ticks, unseen. Returns how many there were.
    pub(crate) fn give_up_before(&mut self, time: u64) -> usize {
        let mut given_up = 0;
        for last in self.instances.values_mut().filter_map(VecDeque::back_mut) {
            if last.end.is_none() && last.begin < time {
                last.end = Some(time);
                given_up += 1;
            }
        }
        self.open -= given_up;
        given_up
    }

    /// When the earliest open interval began, ticks.
    pub(crate) fn earliest_open(&self) -> Option<u64> {
        if self.open == 0 {
            return None;
        }
        let last = self.instances.values().filter_map(VecDeque::back);
        let open = last.filter(|instance| instance.end.is_none());
        open.map(|instance| instance.begin).min()
    }

    /// Forgets what ended before `horizon`, now and then. Returns how many open intervals had to be given up.
    pub(crate) fn forget_before(&mut self, horizon: u64) -> u64 {
        if self.instances_len + self.segments_len <= self.prune_at {
            return 0;
        }
        self.retain(horizon);
        let mut given_up = 0;
        if self.instances_len > INSTANCES_MAX {
            // Intervals that never end: a key for every request and an end that is never recorded.
            given_up = self.open as u64;
            self.instances.clear();
            self.attributes.clear();
            (self.instances_len, self.open) = (0, 0);
        }
        if self.segments_len > SEGMENTS_MAX {
            self.segments.clear();
            self.segments_len = 0;
        }
        self.prune_at = (2 * (self.instances_len + self.segments_len)).max(1 << 12);
        given_up
    }

    fn retain(&mut self, horizon: u64) {
        self.instances_len = 0;
        self.instances.retain(|_, instances| {
            instances.retain(|instance| instance.end.is_none_or(|end| end >= horizon));
            self.instances_len += instances.len();
            !instances.is_empty()
        });
        self.segments_len = 0;
        self.segments.retain(|_, segments| {
            segments.retain(|segment| segment.end >= horizon);
            self.segments_len += segments.len();
            !segments.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(begin: u64, class: u16) -> Instance {
        Instance {
            begin,
            end: None,
            generation: 1,
            probed: true,
            class,
            trace: None,
        }
    }

    #[test]
    fn a_key_may_be_used_again() {
        let mut keyed = KeyedIntervals::default();
        assert!(!keyed.begin(5, instance(10, 2)));
        keyed.classify(5, 3);
        assert_eq!(keyed.end(5, 20).unwrap().class, 3);
        assert_eq!(keyed.end(5, 21), None);
        assert!(!keyed.begin(5, instance(30, 4)));
        assert!(keyed.begin(5, instance(40, 6)), "the one of 30 never ended");
        let at = |time| keyed.class_at(5, time);
        assert_eq!(
            [at(9), at(15), at(25), at(35), at(45)].map(|c| c.unwrap_or(0)),
            [0, 3, 3, 4, 6]
        );
        assert_eq!((keyed.open(), keyed.earliest_open()), (1, Some(40)));
        assert!(!keyed.begin(6, instance(50, 2)));
        assert_eq!(keyed.give_up_before(45), 1);
        assert_eq!((keyed.open(), keyed.earliest_open()), (1, Some(50)));
    }

    #[test]
    fn the_segment_that_ended_last() {
        let mut keyed = KeyedIntervals::default();
        let segment = |thread, end| Segment {
            thread,
            end,
            end_mark: 0,
        };
        for ended in [
            segment(1, 10),
            segment(2, 20),
            segment(1, 30),
            segment(2, 30),
        ] {
            keyed.segment(5, ended);
        }
        let last = |thread, after, until| keyed.last_segment(5, thread, after, until);
        assert_eq!(last(1, 0, 25), Some(segment(2, 20)));
        assert_eq!(last(1, 0, 30), Some(segment(1, 30)));
        assert_eq!(last(2, 0, 30), Some(segment(2, 30)));
        assert_eq!(last(1, 10, 19), None);
    }
}
