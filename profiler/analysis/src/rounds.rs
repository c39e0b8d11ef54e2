//! Rounds of refinement: each has its own call paths and its own sums, since its probes differ.
//!
//! A profile rests on one round, the last one with [`INTERVALS_ENOUGH`] intervals, or else the last of the large ones. Memory
//! is bounded by keeping the sums of at most three rounds: the one a profile would rest on, the newest, and the one before
//! it, whose last intervals may still be on their way. Of all others the number of intervals is kept, and the paths that
//! explained much ([`crate::other_rounds`]): what refinement has found is reported, even where the last round could
//! not see it again.

use crate::accumulate::Accumulator;
use crate::critical::kept::Keep;
use crate::critical::who::WaitSums;
use crate::other_rounds::RoundFindings;
use crate::paths::Paths;
use crate::profile;

/// Intervals a round needs for a profile to rest on it: as many as refinement wants to see before it acts on a round, so
/// that a report shows the depth that the search has reached. What they are worth, the standard errors say.
pub const INTERVALS_ENOUGH: u64 = 300;
/// ... and at least this part of those of the largest round: the first milliseconds of a round are no match for a minute.
const PART_ENOUGH: u64 = 50;

/// Call paths and sums of one round.
#[derive(Debug, Default)]
pub struct Detail {
    /// The round's call paths.
    pub paths: Paths,
    /// The round's sums over them.
    pub sums: Accumulator,
    /// Where waits are followed: who waited for whom.
    pub waits: WaitSums,
    /// Where waits are followed: some intervals piece by piece.
    pub keep: Keep,
}

/// One round.
#[derive(Debug)]
struct Round {
    probes: u32,
    plans: u32,
    intervals: u64,
    detail: Option<Box<Detail>>,
    /// What it had found when its sums were dropped.
    found: Option<RoundFindings>,
}

/// All rounds of a run, in order.
#[derive(Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
}

impl Rounds {
    /// Begins a round and returns its index. One that is not `summed` is counted only: calls are being trapped in it.
    pub fn begin(&mut self, probes: u32, summed: bool) -> usize {
        let best = self.best();
        let previous = self.rounds.iter().rposition(|round| round.detail.is_some());
        for (at, round) in self.rounds.iter_mut().enumerate() {
            if Some(at) != best && Some(at) != previous {
                round.drop_sums();
            }
        }
        self.rounds.push(Round {
            probes,
            plans: 1,
            intervals: 0,
            detail: summed.then(Box::default),
            found: None,
        });
        self.rounds.len() - 1
    }

    /// A round goes on with another number of probes, of which those that are new were never called.
    pub fn go_on(&mut self, round: usize, probes: u32) {
        self.rounds[round].probes = probes;
        self.rounds[round].plans += 1;
    }

    /// Whether a round still has its sums.
    pub fn has_sums(&self, round: usize) -> bool {
        self.rounds[round].detail.is_some()
    }

    /// Sums of a round; nothing where they were dropped.
    pub fn detail_mut(&mut self, round: usize) -> Option<&mut Detail> {
        self.rounds[round].detail.as_deref_mut()
    }

    /// Sums of a round; nothing where they were dropped.
    pub fn detail(&self, round: usize) -> Option<&Detail> {
        self.rounds[round].detail.as_deref()
    }

    /// Counts a kept interval of a round.
    pub fn count(&mut self, round: usize) {
        self.rounds[round].intervals += 1;
        let intervals = self.rounds[round].intervals;
        let may_be_best = intervals == INTERVALS_ENOUGH || intervals.is_power_of_two();
        if may_be_best && intervals >= INTERVALS_ENOUGH && self.best() == Some(round) {
            self.rounds[..round].iter_mut().for_each(Round::drop_sums);
        }
    }

    /// Probes planted in a round.
    pub fn probes(&self, round: usize) -> u32 {
        self.rounds[round].probes
    }

    /// Intervals kept in a round.
    pub fn intervals(&self, round: usize) -> u64 {
        self.rounds[round].intervals
    }

    /// Index of the round a profile rests on, and its sums.
    pub fn chosen(&self) -> Option<(usize, &Detail)> {
        let at = self.best()?;
        Some((at, self.rounds[at].detail.as_deref()?))
    }

    /// The list for the profile.
    pub fn list(&self) -> Vec<profile::Round> {
        let line = |round: &Round| profile::Round {
            probes: round.probes,
            plans: round.plans,
            intervals: round.intervals,
        };
        self.rounds.iter().map(line).collect()
    }

    /// What each round but `chosen` has found, with its index, the newest first.
    pub fn found_elsewhere(&self, chosen: usize) -> Vec<(usize, RoundFindings)> {
        let others = self.rounds.iter().enumerate().rev();
        others
            .filter(|&(at, _)| at != chosen)
            .filter_map(|(at, round)| Some((at, round.found()?)))
            .collect()
    }

    /// Index of the last round with enough intervals, else of the last that has at least half as many as the largest (the
    /// newest probes say most), among those that still have their sums.
    fn best(&self) -> Option<usize> {
        let kept = || {
            self.rounds
                .iter()
                .enumerate()
                .filter(|(_, round)| round.detail.is_some())
        };
        let most = kept().map(|(_, round)| round.intervals).max()?;
        let needed = INTERVALS_ENOUGH.max(most / PART_ENOUGH);
        let enough = kept().rfind(|(_, round)| round.intervals >= needed);
        enough
            .or_else(|| kept().rfind(|(_, round)| 2 * round.intervals >= most))
            .map(|(at, _)| at)
    }
}

impl Round {
    fn found(&self) -> Option<RoundFindings> {
        let found = || self.detail.as_deref().map(RoundFindings::of);
        self.found.clone().or_else(found)
    }

    fn drop_sums(&mut self) {
        if let Some(detail) = self.detail.take() {
            self.found = Some(RoundFindings::of(&detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(intervals: &[u64]) -> Rounds {
        let mut rounds = Rounds::default();
        for (at, &count) in intervals.iter().enumerate() {
            rounds.begin(at as u32, true);
            (0..count).for_each(|_| rounds.count(at));
        }
        rounds
    }

    fn kept(rounds: &Rounds) -> Vec<bool> {
        let kept = rounds.rounds.iter().map(|round| round.detail.is_some());
        kept.collect()
    }

    #[test]
    fn the_last_round_with_enough_is_chosen() {
        assert_eq!(rounds(&[5000, 300, 10]).best(), Some(1));
        assert_eq!(
            rounds(&[50_000, 300, 10]).best(),
            Some(0),
            "too small a part"
        );
        assert_eq!(rounds(&[50, 70, 10]).best(), Some(1));
        assert_eq!(rounds(&[]).best(), None);
    }

    #[test]
    fn sums_of_at_most_three_rounds_are_kept() {
        assert_eq!(kept(&rounds(&[5000, 300, 10])), [false, true, true]);
        assert_eq!(
            kept(&rounds(&[50, 20, 30, 40, 1])),
            [false, false, false, true, true]
        );
    }

    /// Calls were trapped for a moment: the round before is kept, to go on.
    #[test]
    fn a_round_without_sums_replaces_none() {
        let mut rounds = rounds(&[5000, 10]);
        rounds.begin(2, false);
        rounds.begin(2, false);
        assert_eq!(kept(&rounds), [true, true, false, false]);
        assert_eq!(rounds.chosen().map(|(at, _)| at), Some(0));
    }
}
