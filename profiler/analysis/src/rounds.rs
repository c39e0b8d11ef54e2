//! Rounds of refinement: each has its own call paths and its own sums, since its probes differ.
//!
//! A profile rests on one round, the last one with [`INTERVALS_ENOUGH`] intervals, or else the largest. Memory is
//! bounded by keeping the sums of at most three rounds: the one a profile would rest on, the newest, and the one before
//! it, whose last intervals may still be on their way. Of all others only the number of intervals is kept.

use crate::accumulate::Accumulator;
use crate::critical::kept::Keep;
use crate::critical::who::WaitSums;
use crate::paths::Paths;
use crate::profile;

/// Intervals a round needs for its shares to mean something.
pub const INTERVALS_ENOUGH: u64 = 1000;

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
    first_generation: u32,
    probes: u32,
    intervals: u64,
    detail: Option<Box<Detail>>,
}

/// All rounds of a run, in order.
#[derive(Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
}

impl Rounds {
    /// Begins a round: intervals of generation `first_generation` and later belong to it.
    pub fn begin(&mut self, first_generation: u32, probes: u32) {
        let best = self.best();
        let previous = self.rounds.len().checked_sub(1);
        for (at, round) in self.rounds.iter_mut().enumerate() {
            if Some(at) != best && Some(at) != previous {
                round.detail = None;
            }
        }
        self.rounds.push(Round {
            first_generation,
            probes,
            intervals: 0,
            detail: Some(Box::default()),
        });
    }

    /// The round an interval of this generation belongs to: the last that began at or before it.
    pub fn of(&self, generation: u32) -> Option<usize> {
        self.rounds
            .iter()
            .rposition(|round| round.first_generation <= generation)
    }

    /// Sums of a round; nothing where they were dropped.
    pub fn detail_mut(&mut self, round: usize) -> Option<&mut Detail> {
        self.rounds[round].detail.as_deref_mut()
    }

    /// Counts a kept interval of a round.
    pub fn count(&mut self, round: usize) {
        self.rounds[round].intervals += 1;
        if self.rounds[round].intervals == INTERVALS_ENOUGH && self.rounds[round].detail.is_some() {
            self.rounds[..round]
                .iter_mut()
                .for_each(|older| older.detail = None);
        }
    }

    /// Intervals kept in the newest round.
    pub fn newest_intervals(&self) -> u64 {
        self.rounds.last().map_or(0, |round| round.intervals)
    }

    /// The sums a profile rests on.
    pub fn chosen(&self) -> Option<&Detail> {
        self.best().and_then(|at| self.rounds[at].detail.as_deref())
    }

    /// The sums of the newest round, however few its intervals.
    pub fn newest(&self) -> Option<&Detail> {
        self.rounds.last().and_then(|round| round.detail.as_deref())
    }

    /// The list for the profile.
    pub fn list(&self) -> Vec<profile::Round> {
        let line = |round: &Round| profile::Round {
            probes: round.probes,
            intervals: round.intervals,
        };
        self.rounds.iter().map(line).collect()
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
        let enough = kept().rfind(|(_, round)| round.intervals >= INTERVALS_ENOUGH);
        let most = kept().map(|(_, round)| round.intervals).max()?;
        enough
            .or_else(|| kept().rfind(|(_, round)| 2 * round.intervals >= most))
            .map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(intervals: &[u64]) -> Rounds {
        let mut rounds = Rounds::default();
        for (at, &count) in intervals.iter().enumerate() {
            rounds.begin(10 * at as u32, at as u32);
            (0..count).for_each(|_| rounds.count(at));
        }
        rounds
    }

    fn kept(rounds: &Rounds) -> Vec<bool> {
        rounds
            .rounds
            .iter()
            .map(|round| round.detail.is_some())
            .collect()
    }

    #[test]
    fn generations_find_their_round() {
        let mut rounds = Rounds::default();
        rounds.begin(2, 5);
        rounds.begin(4, 9);
        assert_eq!(
            [1, 2, 3, 4, 9].map(|generation| rounds.of(generation)),
            [None, Some(0), Some(0), Some(1), Some(1)]
        );
    }

    #[test]
    fn the_last_round_with_enough_is_chosen() {
        assert_eq!(rounds(&[5000, 1000, 10]).best(), Some(1));
        assert_eq!(rounds(&[50, 70, 10]).best(), Some(1));
        assert_eq!(rounds(&[]).best(), None);
    }

    #[test]
    fn sums_of_at_most_three_rounds_are_kept() {
        assert_eq!(kept(&rounds(&[5000, 1000, 10])), [false, true, true]);
        assert_eq!(
            kept(&rounds(&[50, 20, 30, 40, 1])),
            [false, false, false, true, true]
        );
    }
}
