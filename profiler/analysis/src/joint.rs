//! Several recordings taken together: the profile that one recording of all their intervals would give.
//!
//! A profile never mixes intervals with different probes. Each recording has its own last round, and what that timed differs: one
//! run of refinement went deeper here, another there. So each is replayed twice. The first time tells which intervals its profile rests
//! on, and which probes they called ([`Scouted`]); probes that are not timed in all of them are left out of all
//! ([`crate::paths::Paths::without`]): calls of theirs count as their callers' own time, but for what the probe cost, which is what a recording without them
//! would say. The second time those intervals are added to common sums. All sums are integers, so the order does not matter.

use std::ops::Range;

use crate::analysis::RunCounts;
use crate::paths::Paths;

/// Index of the only round there is.
pub(crate) const JOINT_ROUND: usize = 0;

/// What is known of a recording after its first replay.
#[derive(Clone, Debug, Default)]
pub struct Scouted {
    /// The intervals that its profile rests on.
    pub selection: Selection,
    /// The round that they are of.
    pub round: usize,
    /// Probes that they called.
    pub called: Vec<u32>,
    /// Probes planted in their round.
    pub probes: u32,
    /// Counts over the whole run.
    pub run: RunCounts,
}

/// Numbers of intervals, ascending.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    ranges: Vec<Range<u64>>,
}

/// By round, the intervals that were added to it.
#[derive(Debug, Default)]
pub(crate) struct RoundLog {
    rounds: Vec<Selection>,
}

impl RoundLog {
    /// An interval was added to a round. Numbers ascend.
    pub fn add(&mut self, id: u64, round: usize) {
        if self.rounds.len() <= round {
            self.rounds.resize_with(round + 1, Selection::default);
        }
        let ranges = &mut self.rounds[round].ranges;
        match ranges.last_mut() {
            Some(last) if last.end == id => last.end += 1,
            _ => ranges.push(id..id + 1),
        }
    }

    /// The intervals of a round.
    pub fn selection(&self, round: usize) -> Selection {
        self.rounds.get(round).cloned().unwrap_or_default()
    }
}

/// The recording at hand of several that are taken together.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    selection: Selection,
    /// Of the ranges, those before this are behind.
    at: usize,
    /// Intervals of the recordings before.
    before: u64,
    /// The round of them that counts, and its call paths: where it has sums instead of intervals ([`crate::minutes`]).
    pub round: usize,
    pub paths: Paths,
    /// Counts over all recordings.
    pub run: RunCounts,
}

impl Joint {
    /// The next recording begins, `before` intervals were of others.
    pub fn begin(&mut self, before: u64, scouted: &Scouted) {
        self.selection = scouted.selection.clone();
        self.round = scouted.round;
        self.paths = Paths::default();
        self.at = 0;
        self.before = before;
        self.run.add(&scouted.run);
    }

    /// Whether the interval with this number counts. Numbers ascend.
    pub fn selects(&mut self, id: u64) -> bool {
        let id = id - self.before;
        let ranges = &self.selection.ranges;
        while ranges.get(self.at).is_some_and(|range| range.end <= id) {
            self.at += 1;
        }
        ranges.get(self.at).is_some_and(|range| range.contains(&id))
    }
}

impl RunCounts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &RunCounts) {
        self.seen += other.seen;
        for (mine, other) in self.discarded.iter_mut().zip(other.discarded) {
            *mine += other;
        }
        self.closure_checked += other.closure_checked;
        self.closure_error_max = self.closure_error_max.max(other.closure_error_max);
        self.dropped += other.dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_what_was_logged() {
        let mut log = RoundLog::default();
        let rounds = [0, 0, 1, 1, 0, 1, 1, 1, 2];
        (0..).zip(rounds).for_each(|(id, round)| log.add(id, round));
        let mut joint = Joint::default();
        let scouted = Scouted {
            selection: log.selection(1),
            ..Scouted::default()
        };
        joint.begin(100, &scouted);
        let selected: Vec<u64> = (0..20).filter(|id| joint.selects(100 + id)).collect();
        assert_eq!(selected, [2, 3, 5, 6, 7]);
    }
}
