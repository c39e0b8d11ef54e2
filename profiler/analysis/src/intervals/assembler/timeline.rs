//! The recent past of one thread. It has the completed calls in the order of their ends. Between them are the marks
//! at which it waited, woke another thread, passed on a task or turned to another interval.
//!
//! ```text
//! calls   [ c0 c1 c2 c3 c4 .. ]                          16 bytes each, as recorded
//! marks   [ m0 (before it: 2 calls) m1 (4 calls) .. ]    m0 stands between c1 and c2
//! opens   [ o0 o1 .. ]                                   calls open at a mark, outermost first
//! ```
//! All three are counted from the thread's beginning, so that a place in the stream keeps its number when older ones
//! are dropped. Read backwards from a mark they give the thread's stack at every moment before it: the mark's open
//! calls enclose everything, and a completed call encloses the ones before it that began after it did.

use std::collections::VecDeque;

use evenkeel_wire::{Object, Open, Record};

use crate::intervals::interval::Serving;

/// Calls kept of one thread, at most: 16 MiB. Where waits are not followed, this is as many as an interval may have.
pub const CALLS_MAX: usize = 1 << 20;
/// Marks kept of one thread, at most.
pub(crate) const MARKS_MAX: usize = 1 << 17;
/// Calls for which a thread's buffer is kept from one interval to the next, where waits are not followed: 256 KiB.
const CALLS_RETAINED: usize = 1 << 14;

/// The event at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread was blocked since `start`, for the first object or both.
    Wait {
        /// When it began, ticks.
        start: u64,
        /// For what.
        objects: [Option<Object>; 2],
    },
    /// A moment at which the open calls are known: a wake, an enqueue, an interval's end.
    Anchor,
    /// A task was taken up.
    Dequeue(Object),
    /// The thread turned to another interval, or to none: [`Mark::serving`] is what it served until then.
    Turn,
    /// Records were lost since the mark before.
    Gap,
}

/// A mark.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When, ticks; of a wait its end.
    pub time: u64,
    /// Number of calls recorded before it since the thread's beginning.
    pub calls_before: u64,
    /// The interval that the thread served until then.
    pub serving: Serving,
    /// Number of its first open call.
    pub opens_at: u64,
    /// Number of open calls.
    pub opens: u32,
    /// The event.
    pub what: What,
}

/// A thread's recent past.
#[derive(Debug, Default)]
pub struct Timeline {
    calls: VecDeque<Record>,
    calls_gone: u64,
    marks: VecDeque<Mark>,
    marks_gone: u64,
    opens: VecDeque<Open>,
    opens_gone: u64,
    known_since: u64,
    /// The interval that the thread serves now.
    pub serving: Serving,
}

/// Records dropped to stay within the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Calls.
    pub calls: u64,
    /// Marks.
    pub marks: u64,
}

impl Timeline {
    /// Takes completed calls in the order of the ring.
    ///
    /// They are in order of their ends, with one exception. A signal may strike between reading a call's end from the
    /// clock and writing its record. The handler then records its own calls first. Such a call is sorted in.
    pub(crate) fn push_calls(&mut self, calls: &[Record]) {
        let mut latest = self.calls.back().map_or(0, |call| call.end());
        for &call in calls.iter().filter(|call| call.start != 0) {
            let end = call.end();
            if end < call.start {
                continue; // wrapped: no call lasts that long
            }
            if end >= latest {
                latest = end;
                self.calls.push_back(call);
            } else {
                self.sort_in(call, end);
            }
        }
    }

    /// Takes completed calls unsorted: readers have to expect those of signal handlers (see
    /// [`Timeline::push_calls`]).
    pub(crate) fn extend_calls(&mut self, calls: &[Record]) {
        self.calls.extend(calls);
    }

    /// Calls kept.
    pub(crate) fn calls_len(&self) -> usize {
        self.calls.len()
    }

    /// All calls kept, and those open at the newest mark, outermost first.
    pub fn all(&mut self) -> (&[Record], &[Open]) {
        let opens = self.marks.back().map_or(0, |mark| mark.opens as usize);
        let from = self.opens.len() - opens;
        (
            self.calls.make_contiguous(),
            &self.opens.make_contiguous()[from..],
        )
    }

    /// Forgets everything: an interval begins that needs nothing of what was before.
    pub fn clear(&mut self) {
        self.calls_gone = self.calls_end();
        self.marks_gone = self.marks_end();
        self.opens_gone += self.opens.len() as u64;
        self.calls.clear();
        self.marks.clear();
        self.opens.clear();
        if self.calls.capacity() > CALLS_RETAINED {
            self.calls.shrink_to(CALLS_RETAINED);
        }
    }

    #[cold]
    fn sort_in(&mut self, call: Record, end: u64) {
        let after = self
            .calls
            .iter()
            .rev()
            .take_while(|other| other.end() > end)
            .count();
        let at = self.calls.len() - after;
        self.calls.insert(at, call);
        let number = self.calls_gone + at as u64;
        for mark in self.marks.iter_mut().rev() {
            if mark.time <= end || mark.calls_before <= number {
                break;
            }
            mark.calls_before += 1;
        }
    }

    /// Adds a mark with its open calls; returns its number.
    pub(crate) fn push_mark(&mut self, time: u64, what: What, opens: &[Open]) -> u64 {
        let mark = Mark {
            time,
            calls_before: self.calls_end(),
            serving: self.serving,
            opens_at: self.opens_gone + self.opens.len() as u64,
            opens: opens.len() as u32,
            what,
        };
        if !opens.is_empty() {
            self.opens.extend(opens);
        }
        self.marks.push_back(mark);
        self.marks_end() - 1
    }

    /// Number of the next call.
    pub(crate) fn calls_end(&self) -> u64 {
        self.calls_gone + self.calls.len() as u64
    }

    /// Number of the next mark.
    pub(crate) fn marks_end(&self) -> u64 {
        self.marks_gone + self.marks.len() as u64
    }

    /// A call by number; nothing where it was dropped.
    #[inline]
    pub fn call(&self, number: u64) -> Option<&Record> {
        self.calls
            .get(number.checked_sub(self.calls_gone)? as usize)
    }

    /// A mark by number; nothing where it was dropped.
    #[inline]
    pub fn mark(&self, number: u64) -> Option<&Mark> {
        self.marks
            .get(number.checked_sub(self.marks_gone)? as usize)
    }

    /// Numbers of the first mark and the first call after a moment: where to begin to read backwards from it.
    pub fn position(&self, time: u64) -> (u64, u64) {
        let mark = self.marks.partition_point(|mark| mark.time <= time);
        let call = self.calls.partition_point(|call| call.end() <= time);
        (self.marks_gone + mark as u64, self.calls_gone + call as u64)
    }

    /// The interval that the thread served just before a mark; the present one without a mark.
    pub(crate) fn serving_before(&self, number: u64) -> Serving {
        self.mark(number).map_or(self.serving, |mark| mark.serving)
    }

    /// Calls open at a mark, outermost first.
    pub fn opens(&self, mark: &Mark) -> impl Iterator<Item = &Open> + '_ {
        let from = mark.opens_at.saturating_sub(self.opens_gone) as usize;
        self.opens.iter().skip(from).take(mark.opens as usize)
    }

    /// Everything that ended later than this, in ticks, is still there (but for what was lost, see [`What::Gap`]).
    pub(crate) fn known_since(&self) -> u64 {
        self.known_since
    }

    /// When the thread was last heard of, ticks.
    pub fn latest(&self) -> u64 {
        let call = self.calls.back().map_or(0, |call| call.end());
        self.marks.back().map_or(0, |mark| mark.time).max(call)
    }

    /// Calls and marks kept.
    pub fn kept(&self) -> usize {
        self.calls.len() + self.marks.len()
    }

    /// Forgets what ended before `horizon`: nothing that is still to come looks there.
    pub(crate) fn forget_before(&mut self, horizon: u64) {
        let calls = self.calls.partition_point(|call| call.end() < horizon);
        let marks = self.marks.iter().take_while(|mark| mark.time < horizon);
        let marks = marks.count();
        self.drop_front(calls, marks);
    }

    /// Keeps the newest within the bounds; says what had to go.
    pub fn bound(&mut self, calls_max: usize, marks_max: usize) -> Dropped {
        // To three quarters at a time, so that it is done seldom.
        let excess = |len: usize, max: usize| if len > max { len - max * 3 / 4 } else { 0 };
        let calls = excess(self.calls.len(), calls_max);
        let marks = excess(self.marks.len(), marks_max);
        self.drop_front(calls, marks);
        Dropped {
            calls: calls as u64,
            marks: marks as u64,
        }
    }

    fn drop_front(&mut self, calls: usize, marks: usize) {
        if let Some(last) = calls.checked_sub(1).and_then(|at| self.calls.get(at)) {
            self.known_since = self.known_since.max(last.end());
        }
        if let Some(last) = marks.checked_sub(1).and_then(|at| self.marks.get(at)) {
            self.known_since = self.known_since.max(last.time);
        }
        self.calls.drain(..calls);
        self.calls_gone += calls as u64;
        self.marks.drain(..marks);
        self.marks_gone += marks as u64;
        let first = self.marks.front().map(|mark| mark.opens_at);
        let opens_end = self.opens_gone + self.opens.len() as u64;
        let opens = (first.unwrap_or(opens_end) - self.opens_gone) as usize;
        self.opens.drain(..opens);
        self.opens_gone += opens as u64;
        self.release();
    }

    /// Gives memory back that a burst took.
    fn release(&mut self) {
        const RETAINED: usize = 1 << 12;
        if self.calls.capacity() > RETAINED.max(8 * self.calls.len()) {
            self.calls.shrink_to(RETAINED.max(2 * self.calls.len()));
        }
        if self.marks.capacity() > RETAINED.max(8 * self.marks.len()) {
            self.marks.shrink_to(RETAINED.max(2 * self.marks.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start: u64, end: u64) -> Record {
        Record::new(start, end - start, 1)
    }

    /// The handler's call (150 to 160) and its wake (155) come before the interrupted call's record (110 to 140).
    #[test]
    fn a_late_record_is_sorted_in() {
        let mut timeline = Timeline::default();
        timeline.push_mark(100, What::Turn, &[]);
        timeline.push_calls(&[call(102, 105), call(150, 160)]);
        let wake = timeline.push_mark(155, What::Anchor, &[]);
        timeline.push_calls(&[call(110, 140)]);
        let ends: Vec<u64> = (0..3).map(|at| timeline.call(at).unwrap().end()).collect();
        assert_eq!(ends, [105, 140, 160]);
        assert_eq!(timeline.mark(wake).unwrap().calls_before, 3);
        assert_eq!(timeline.mark(0).unwrap().calls_before, 0);
    }

    #[test]
    fn numbers_stay_when_the_oldest_go() {
        let mut timeline = Timeline::default();
        for at in 1..=100u64 {
            timeline.push_calls(&[call(10 * at, 10 * at + 5)]);
            timeline.push_mark(10 * at + 6, What::Anchor, &[Open { start: 1, probe: 1 }]);
        }
        timeline.forget_before(500);
        assert_eq!(timeline.call(49).unwrap().start, 500, "ended at 505");
        assert!(timeline.call(48).is_none() && timeline.mark(48).is_none());
        assert_eq!(timeline.mark(60).unwrap().calls_before, 61);
        assert_eq!(timeline.opens(timeline.mark(60).unwrap()).count(), 1);
        assert_eq!(timeline.known_since(), 496);
        let dropped = timeline.bound(40, 100);
        assert_eq!(
            dropped,
            Dropped {
                calls: 21,
                marks: 0
            }
        );
        assert_eq!(timeline.known_since(), 705);
    }
}
