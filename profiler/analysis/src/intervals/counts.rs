//! What is counted over a whole run.

use crate::intervals::assembler::reader::Lost;
use crate::intervals::interval::Reason;

/// Counts over the whole run, all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunCounts {
    /// Intervals seen to their end or to the loss that cost them.
    pub seen: u64,
    /// Sum of the weights of those intervals: the number of intervals that they represent. An interval that was left
    /// out has weight 1.
    pub represented: u64,
    /// Left out, by index into [`Reason::ALL`].
    pub discarded: [u64; Reason::ALL.len()],
    /// Vectors whose closure was checked.
    pub closure_checked: u64,
    /// Largest closure error, ticks.
    pub closure_error_max: u64,
    /// Where waits are followed: calls, marks and releases dropped to stay within the bounds.
    pub dropped: u64,
    /// Of the intervals that lost records, how long they took.
    pub lost: Lost,
}

impl RunCounts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &RunCounts) {
        self.seen += other.seen;
        self.represented += other.represented;
        for (mine, other) in self.discarded.iter_mut().zip(other.discarded) {
            *mine += other;
        }
        self.closure_checked += other.closure_checked;
        self.closure_error_max = self.closure_error_max.max(other.closure_error_max);
        self.dropped += other.dropped;
    }

    /// What was counted after `before` was all there was. The largest closure error is that of all.
    pub(crate) fn since(&self, before: &RunCounts) -> RunCounts {
        let mut since = *self;
        since.seen = self.seen.saturating_sub(before.seen);
        since.represented = self.represented.saturating_sub(before.represented);
        for (mine, before) in since.discarded.iter_mut().zip(before.discarded) {
            *mine = mine.saturating_sub(before);
        }
        since.closure_checked = self.closure_checked.saturating_sub(before.closure_checked);
        since.dropped = self.dropped.saturating_sub(before.dropped);
        since.lost = self.lost.since(before.lost);
        since
    }

    /// Counts the check of a vector's closure (`variance.md`, section 3): its times add up to the latency, or the
    /// interval is left out.
    pub(crate) fn check_closure(&mut self, error: u64) -> Result<(), Reason> {
        self.closure_checked += 1;
        self.closure_error_max = self.closure_error_max.max(error);
        if error == 0 {
            Ok(())
        } else {
            Err(Reason::Malformed)
        }
    }
}
