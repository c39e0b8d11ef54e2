//! When the kernel had a thread off its processor, and who made it ready again: inputs from whoever may ask the kernel.

use std::collections::VecDeque;

/// Spans kept of one thread, at most; the oldest go.
pub const SPANS_MAX: usize = 1 << 16;

/// A stretch of time that a thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchedOut {
    /// From, ticks of the target's time stamp counter.
    pub start: u64,
    /// To, ticks.
    pub end: u64,
    /// It could have run: the processor was taken from it, or not yet given to it. Otherwise it blocked.
    pub preempted: bool,
}

/// A thread was made ready to run by another of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// When, ticks.
    pub time: u64,
    /// The other's key.
    pub by: u64,
}

/// One thread's spans, in order, without overlap, and its wake-ups, in order.
#[derive(Debug, Default)]
pub struct Spans {
    spans: VecDeque<SwitchedOut>,
    wakings: VecDeque<Woken>,
}

impl Spans {
    /// Adds spans; those that are empty, or begin before the end of the one before, are left out.
    pub fn push(&mut self, spans: &[SwitchedOut]) {
        for &span in spans.iter().filter(|span| span.start < span.end) {
            if self.spans.back().is_none_or(|last| last.end <= span.start) {
                self.spans.push_back(span);
            }
        }
        let excess = self.spans.len().saturating_sub(SPANS_MAX);
        self.spans.drain(..excess);
    }

    /// Adds wake-ups; those before the one before are left out.
    pub fn push_wakings(&mut self, wakings: &[Woken]) {
        for &woken in wakings {
            if self
                .wakings
                .back()
                .is_none_or(|last| last.time <= woken.time)
            {
                self.wakings.push_back(woken);
            }
        }
        let excess = self.wakings.len().saturating_sub(SPANS_MAX);
        self.wakings.drain(..excess);
    }

    /// The last wake-up not before `from` and not after `to`.
    pub fn last_waking(&self, from: u64, to: u64) -> Option<Woken> {
        let end = self.wakings.partition_point(|woken| woken.time <= to);
        let last = self.wakings.get(end.checked_sub(1)?).copied();
        last.filter(|woken| woken.time >= from)
    }

    /// Whether nothing is known of when the thread did not run.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether the kernel says that the thread blocked at no time between the two: it may have been preempted. False where
    /// the kernel is not asked.
    pub fn never_blocked(&self, start: u64, end: u64) -> bool {
        let after = self.spans.partition_point(|span| span.start < end);
        let mut inside = self.spans.range(..after).rev();
        let overlaps = |span: &&SwitchedOut| span.end > start;
        !self.spans.is_empty()
            && inside
                .by_ref()
                .take_while(overlaps)
                .all(|span| span.preempted)
    }

    /// The last span that begins before `time`.
    pub fn last_before(&self, time: u64) -> Option<SwitchedOut> {
        let after = self.spans.partition_point(|span| span.start < time);
        self.spans.get(after.checked_sub(1)?).copied()
    }

    /// Forgets what ended before `horizon`.
    pub fn forget_before(&mut self, horizon: u64) {
        let gone = self.spans.partition_point(|span| span.end < horizon);
        self.spans.drain(..gone);
        let gone = self.wakings.partition_point(|woken| woken.time < horizon);
        self.wakings.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_in_order_and_bounded() {
        let span = |start, end| SwitchedOut {
            start,
            end,
            preempted: true,
        };
        let mut spans = Spans::default();
        spans.push(&[span(10, 20), span(15, 30), span(20, 20), span(40, 50)]);
        assert_eq!(spans.last_before(10), None);
        assert_eq!(spans.last_before(11), Some(span(10, 20)));
        assert_eq!(spans.last_before(45), Some(span(40, 50)));
        assert!(spans.never_blocked(5, 100) && !Spans::default().never_blocked(5, 100));
        spans.push(&[SwitchedOut {
            preempted: false,
            ..span(60, 70)
        }]);
        assert!(spans.never_blocked(45, 60) && spans.never_blocked(70, 80));
        assert!(!spans.never_blocked(45, 61) && !spans.never_blocked(69, 80));
        spans.forget_before(21);
        assert_eq!(spans.last_before(40), None);
        (0..2 * SPANS_MAX as u64).for_each(|at| spans.push(&[span(100 + at, 101 + at)]));
        assert_eq!(spans.spans.len(), SPANS_MAX);
    }

    #[test]
    fn the_last_wake_up_of_a_wait() {
        let mut spans = Spans::default();
        let woken = |time| Woken { time, by: 7 };
        spans.push_wakings(&[woken(10), woken(30), woken(20), woken(50)]);
        assert_eq!(spans.last_waking(5, 40), Some(woken(30)));
        assert_eq!(spans.last_waking(31, 49), None);
        spans.forget_before(31);
        assert_eq!(spans.last_waking(0, 40), None);
    }
}
