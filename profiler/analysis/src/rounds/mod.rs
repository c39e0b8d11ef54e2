//! Rounds of refinement. Rounds differ in their probes, so each has its own call paths and sums.
//!
//! A profile rests on one round (`choice`), taken together with other rounds of compatible plans (`combine`).
//!
//! Intervals are added to at most three rounds: the largest, the newest, and the one before it, whose last intervals
//! may still arrive. All other rounds are **retired**. As long as there is room, a retired round keeps its sums, in
//! fewer blocks, so that it can be taken together with the chosen round (`crate::rounds::combine`). It also keeps the
//! paths that explained much (`crate::rounds::other_rounds`). So the report shows a finding even if the last round did
//! not see it again.

mod choice;
pub(crate) mod combine;
pub(crate) mod common_paths;
pub(crate) mod evidence;
pub(crate) mod other_rounds;
pub mod plans;
pub mod policy;
mod worth;

use crate::findings::FINDING_MIN;
use crate::fleet::observed::Basis;
use crate::intervals::assembler::reader::Lost;
use crate::profile;
use crate::rounds::combine::{Combined, basis, combine};
use crate::rounds::other_rounds::RoundFindings;
use crate::rounds::plans::Plans;
use crate::rounds::policy::{BLOCKS_RETIRED, CELLS_RETIRED_MAX, INTERVALS_ENOUGH, INTERVALS_FEW};
use crate::sums::latencies::Latencies;
use crate::sums::round_sums::RoundSums;

/// One round.
#[derive(Debug)]
struct Round {
    probes: u32,
    plans: u32,
    intervals: u64,
    detail: Option<Box<RoundSums>>,
    /// Intervals that lost their records.
    lost: Lost,
    /// Its sums in fewer blocks, once no more intervals are added.
    retired: Option<Box<RoundSums>>,
    /// What it had found when it was retired.
    found: Option<RoundFindings>,
}

/// All rounds of a run, in order.
#[derive(Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
}

impl Rounds {
    /// Begins a round and returns its index. While calls are being trapped, a round is not `summed`: it only counts
    /// intervals.
    pub fn begin(&mut self, probes: u32, summed: bool) -> usize {
        let previous = self.rounds.iter().rposition(|round| round.detail.is_some());
        let needed = [self.largest(), previous];
        for (at, round) in self.rounds.iter_mut().enumerate() {
            if !needed.contains(&Some(at)) {
                round.retire();
            }
        }
        self.bound_retired();
        self.rounds.push(Round {
            probes,
            plans: 1,
            intervals: 0,
            detail: summed.then(Box::default),
            lost: Lost::default(),
            retired: None,
            found: None,
        });
        self.rounds.len() - 1
    }

    /// Begins the only round of several recordings taken together: with this many probes, and these sums.
    pub fn begin_joint(&mut self, probes: u32, detail: RoundSums) {
        let round = self.begin(probes, true);
        self.rounds[round].detail = Some(Box::new(detail));
    }

    /// Continues a round with another number of probes; the added probes have not been called.
    pub fn go_on(&mut self, round: usize, probes: u32) {
        self.rounds[round].probes = probes;
        self.rounds[round].plans += 1;
    }

    /// Sets how many intervals of a round have lost their records so far, and their ticks.
    pub fn set_lost(&mut self, round: usize, lost: Lost) {
        self.rounds[round].lost = lost;
    }

    /// Whether a round still has its sums.
    pub fn has_sums(&self, round: usize) -> bool {
        self.rounds[round].detail.is_some()
    }

    /// Sums of a round; `None` if they were dropped.
    pub fn detail_mut(&mut self, round: usize) -> Option<&mut RoundSums> {
        self.rounds[round].detail.as_deref_mut()
    }

    /// Sums of a round; `None` if they were dropped.
    pub fn detail(&self, round: usize) -> Option<&RoundSums> {
        self.rounds[round].detail.as_deref()
    }

    /// Sums of a round, retired or not.
    pub fn sums(&self, round: usize) -> Option<&RoundSums> {
        self.rounds[round].sums()
    }

    /// Counts a kept interval of a round.
    pub fn count(&mut self, round: usize) {
        self.rounds[round].intervals += 1;
    }

    /// Counts kept intervals of a round that were summed elsewhere. Begins the round, and those before it, if
    /// necessary.
    pub fn count_summed(&mut self, round: usize, probes: u32, intervals: u64) {
        while self.rounds.len() <= round {
            self.begin(probes, true);
        }
        let counted = &mut self.rounds[round];
        (counted.probes, counted.intervals) = (probes, counted.intervals + intervals);
    }

    /// Probes planted in a round.
    pub fn probes(&self, round: usize) -> u32 {
        self.rounds[round].probes
    }

    /// Index and sums of the round that a profile rests on. `all`: latencies of all intervals of the run.
    pub fn chosen(&self, all: &Latencies) -> Option<(usize, &RoundSums)> {
        let at = self.best(all)?;
        Some((at, self.rounds[at].sums()?))
    }

    /// The chosen round together with others of compatible plans; `None` if no other round fits.
    pub fn combined(&self, plans: &Plans, (at, base): (usize, &RoundSums)) -> Option<Combined> {
        let others = self
            .rounds
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != at);
        let others: Vec<_> = others
            .filter_map(|(at, round)| Some((at, round.sums()?)))
            .filter(|(_, detail)| detail.sums.blocks.kept() >= INTERVALS_ENOUGH)
            .collect();
        combine((at, base), &others, plans)
    }

    /// The intervals that a profile rests on: those of the chosen round and of the rounds that [`Rounds::combined`]
    /// adds to it.
    pub fn basis(&self, plans: &Plans, all: &Latencies) -> Option<Basis> {
        let (at, base) = self.chosen(all)?;
        let together = self
            .combined(plans, (at, base))
            .map(|combined| combined.together.rounds);
        let together = together.filter(|rounds| rounds.len() > 1);
        let Some(together) = together else {
            return Some(Basis::of_round(at));
        };
        let sums = |&at: &usize| Some((at, self.rounds[at].sums()?));
        let rounds: Vec<_> = together.iter().filter_map(sums).collect();
        Some(basis(&rounds, plans))
    }

    fn bound_retired(&mut self) {
        let cells = |round: &Round| round.retired.as_deref().map_or(0, RoundSums::cells);
        while self.rounds.iter().map(cells).sum::<usize>() > CELLS_RETIRED_MAX {
            let retired = self
                .rounds
                .iter_mut()
                .filter(|round| round.retired.is_some());
            if let Some(smallest) = retired.min_by_key(|round| round.intervals) {
                smallest.retired = None;
            }
        }
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

    /// What each round except `chosen` has found, with its index, the newest first. `all`: latencies of all intervals
    /// of the run.
    pub fn found_elsewhere(&self, chosen: usize, all: &Latencies) -> Vec<(usize, RoundFindings)> {
        let others = self.rounds.iter().enumerate().rev();
        others
            .filter(|&(at, _)| at != chosen)
            .filter_map(|(at, round)| Some((at, round.found(all)?)))
            .collect()
    }

    /// Index of the round with the most intervals, the last of several.
    fn largest(&self) -> Option<usize> {
        let largest = self.kept().max_by_key(|(_, round)| round.intervals);
        largest.map(|(at, _)| at)
    }

    /// Rounds that still have their sums, with their index.
    fn kept(&self) -> impl DoubleEndedIterator<Item = (usize, &Round)> {
        let rounds = self.rounds.iter().enumerate();
        rounds.filter(|(_, round)| round.detail.is_some())
    }
}

impl Round {
    fn found(&self, all: &Latencies) -> Option<RoundFindings> {
        let detail = self.detail.as_deref();
        let found = || detail.map(|detail| RoundFindings::of(detail, FINDING_MIN));
        let mut found = self.found.clone().or_else(found)?;
        found.coverage = self
            .sums()
            .map_or(0.0, |sums| worth::coverage(sums, self.lost, all));
        Some(found)
    }

    /// Its sums, retired or not.
    fn sums(&self) -> Option<&RoundSums> {
        self.detail.as_deref().or(self.retired.as_deref())
    }

    fn retire(&mut self) {
        if let Some(mut detail) = self.detail.take() {
            self.found = Some(RoundFindings::of(&detail, FINDING_MIN));
            if detail.sums.blocks.kept() >= INTERVALS_FEW {
                detail.sums.blocks.coarsen(BLOCKS_RETIRED);
                self.retired = Some(detail);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::vectors::Vectoriser;

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
    fn sums_of_at_most_three_rounds_grow() {
        assert_eq!(kept(&rounds(&[5000, 300, 10])), [true, true, true]);
        assert_eq!(
            kept(&rounds(&[50, 20, 30, 40, 1])),
            [true, false, false, true, true]
        );
        assert_eq!(
            kept(&rounds(&[5000, 300, 10, 10, 10])),
            [true, false, false, true, true]
        );
    }

    /// Sums of a retired round take a bounded part of the memory, and its errors can still be told.
    #[test]
    fn a_retired_round_has_some_blocks() {
        let (mut rounds, mut vectoriser) = (Rounds::default(), Vectoriser::default());
        rounds.begin(1, true);
        for number in 0..640 {
            let detail = rounds.detail_mut(0).unwrap();
            let vector = vectoriser.of_calls([0, 100 + number % 7], &[], &mut detail.paths);
            detail.sums.add(&vector, 0, &detail.paths);
            rounds.count(0);
        }
        let blocks = |round: &Round| round.sums().unwrap().sums.blocks.blocks().len();
        assert!(blocks(&rounds.rounds[0]) > 16);
        rounds.rounds[0].retire();
        assert!((8..=16).contains(&blocks(&rounds.rounds[0])));
    }

    /// A round that only traps calls does not retire the round before it, which is continued later.
    #[test]
    fn a_round_without_sums_replaces_none() {
        let mut rounds = rounds(&[5000, 10]);
        rounds.begin(2, false);
        rounds.begin(2, false);
        assert_eq!(kept(&rounds), [true, true, false, false]);
        let chosen = rounds.chosen(&Latencies::default());
        assert_eq!(chosen.map(|(at, _)| at), Some(0));
    }
}
