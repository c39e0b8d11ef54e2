//! Times at which the kernel had a thread off-CPU, and the waker. This input needs permission to read the kernel's
//! events.

use std::collections::VecDeque;

pub use crate::intervals::switched_out::{Off, SwitchedOut};

/// Spans kept of one thread, at most; the oldest go.
pub(crate) const SPANS_MAX: usize = 1 << 16;

/// A thread's spans, in order, without overlap.
#[derive(Debug, Default)]
pub struct Spans {
    spans: VecDeque<SwitchedOut>,
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

    /// The last sleep that overlaps a stretch of time, if it ended in it.
    pub(crate) fn last_sleep(&self, start: u64, end: u64) -> Option<SwitchedOut> {
        let after = self.spans.partition_point(|span| span.start < end);
        let inside = self.spans.range(..after).rev();
        let mut inside = inside.take_while(|span| span.end > start);
        let last = inside.find(|span| span.off != Off::Preempted);
        last.filter(|span| span.end <= end).copied()
    }

    /// Whether nothing is known of when the thread did not run.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether the kernel says that the thread blocked at no time between the two: it may have been preempted. False
    /// where the kernel is not asked.
    pub(crate) fn never_blocked(&self, start: u64, end: u64) -> bool {
        let after = self.spans.partition_point(|span| span.start < end);
        let mut inside = self.spans.range(..after).rev();
        let overlaps = |span: &&SwitchedOut| span.end > start;
        !self.spans.is_empty()
            && inside
                .by_ref()
                .take_while(overlaps)
                .all(|span| span.off == Off::Preempted)
    }

    /// Whether the kernel says that the thread slept for a device, or for a page, in more than half of the time between
    /// the two.
    pub(crate) fn on_device(&self, start: u64, end: u64) -> bool {
        let after = self.spans.partition_point(|span| span.start < end);
        let inside = self.spans.range(..after).rev();
        let inside = inside.take_while(|span| span.end > start);
        let device = inside.filter(|span| matches!(span.off, Off::Device | Off::Fault));
        let slept = device.map(|span| span.end.min(end) - span.start.max(start));
        slept.sum::<u64>() > (end - start) / 2
    }

    /// The last span that begins before `time`.
    pub(crate) fn last_before(&self, time: u64) -> Option<SwitchedOut> {
        let after = self.spans.partition_point(|span| span.start < time);
        self.spans.get(after.checked_sub(1)?).copied()
    }

    /// Forgets what ended before `horizon`.
    pub(crate) fn forget_before(&mut self, horizon: u64) {
        let gone = self.spans.partition_point(|span| span.end < horizon);
        self.spans.drain(..gone);
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
            off: Off::Preempted,
            by: None,
        };
        let mut spans = Spans::default();
        spans.push(&[span(10, 20), span(15, 30), span(20, 20), span(40, 50)]);
        assert_eq!(spans.last_before(10), None);
        assert_eq!(spans.last_before(11), Some(span(10, 20)));
        assert_eq!(spans.last_before(45), Some(span(40, 50)));
        assert!(spans.never_blocked(5, 100) && !Spans::default().never_blocked(5, 100));
        spans.push(&[SwitchedOut {
            off: Off::Blocked,
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
    fn the_last_sleep_of_a_wait() {
        let mut spans = Spans::default();
        let sleep = |start, end, off| SwitchedOut {
            start,
            end,
            off,
            by: Some(7),
        };
        let sleeps = [
            sleep(10, 20, Off::Blocked),
            sleep(30, 40, Off::Device),
            sleep(40, 45, Off::Preempted),
        ];
        spans.push(&sleeps);
        assert_eq!(spans.last_sleep(5, 50), Some(sleeps[1]));
        assert_eq!(spans.last_sleep(5, 25), Some(sleeps[0]));
        assert_eq!(
            spans.last_sleep(5, 35),
            None,
            "the wait was over before the sleep"
        );
        assert_eq!(spans.last_sleep(40, 50), None);
    }
}
