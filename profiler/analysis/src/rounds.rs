//! Rounds of refinement: each has its own call paths and its own sums, since its probes differ.
//!
//! A profile rests on one round. The newest has looked deepest, but what it says has to be precise: it is the last round that has a
//! good part of the intervals of the largest, or that is precise all the same because what it measures hardly varies. A few
//! thousand intervals of a server whose stalls come once a second say nothing, however deep they look. Only where a newer round surely
//! finds a third of the variance inside of a call that such a round did not look into, it is the better answer, whatever its errors: a
//! program may be over before its deepest round is long. Where the load has changed on the way, the newest round may be of its quietest
//! part: the profile then rests on the newest of the rounds of its later half that hold most of what varies ([`crate::loud`]). And a round whose slow intervals lost their records is passed over for one that kept
//! them: it says little of what makes intervals slow.
//!
//! Sums go on growing in at most four rounds: the one a profile would rest on, the largest, the newest, and the one before it, whose last
//! intervals may still be on their way. All others are **retired**: their sums stay, in fewer blocks, to be taken together with
//! those of the round that a profile rests on ([`crate::combine`]), as long as there is room, and the paths that explained much
//! ([`crate::other_rounds`]): what refinement has found is reported, even where the last round could not see it again.

use crate::assembler::reader::Lost;
use crate::combine::{Combined, basis, combine};
use crate::detail::Detail;
use crate::evidence;
use crate::loud::Spread;
use crate::moments::mean;
use crate::observed::Basis;
use crate::other_rounds::{RoundFindings, SHARE_MIN};
use crate::parts::VarianceTree;
use crate::plans::Plans;
use crate::profile;
use crate::sites::SiteTable;

/// Intervals a round needs for a profile to rest on it: as many as refinement wants to see before it acts on a round.
pub const INTERVALS_ENOUGH: u64 = 300;
/// ... or so many where intervals are long, and all of them say the same, ...
const INTERVALS_FEW: u64 = 40;
/// ... and at least this part of those of the largest round: the first milliseconds of a round are no match for a minute.
const PART_ENOUGH: u64 = 50;
/// ... and this part, ...
const PART_GOOD: u64 = 3;
/// ... unless no share that a report would show is farther from the truth than this (one standard error).
const ERROR_ENOUGH: f64 = 0.03;
/// A round under another load is taken for what varies most if no share is farther from the truth than this.
const ERROR_LOUD: f64 = 0.1;
/// Intervals that lost their records slant a round if they change its mean by this fraction.
const SLANTED_MIN: f64 = 0.1;
/// A newer round of at least so many intervals is taken instead ...
const INTERVALS_DEEPER: u64 = 150;
/// ... where it finds this fraction of the variance inside of what was not opened.
const SHARE_DEEPER: f64 = 0.3;

/// Blocks of a retired round, at most.
const BLOCKS_RETIRED: usize = 16;
/// Numbers kept of all retired rounds together, 16 bytes each: the smallest rounds go first.
const CELLS_RETIRED_MAX: usize = 1 << 23;

/// One round.
#[derive(Debug)]
struct Round {
    probes: u32,
    plans: u32,
    intervals: u64,
    /// When the last of them began, ticks; 0 where that is not known.
    until: u64,
    detail: Option<Box<Detail>>,
    /// Intervals that lost their records.
    lost: Lost,
    /// Its sums once nothing is added any more, in fewer blocks.
    retired: Option<Box<Detail>>,
    /// What it had found when it was retired.
    found: Option<RoundFindings>,
}

/// All rounds of a run, in order.
#[derive(Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
    /// When the first interval began, ticks.
    since: Option<u64>,
}

impl Rounds {
    /// Begins a round and returns its index. One that is not `summed` is counted only: calls are being trapped in it.
    pub fn begin(&mut self, probes: u32, summed: bool) -> usize {
        let previous = self.rounds.iter().rposition(|round| round.detail.is_some());
        let needed = [self.best(), self.largest(), previous];
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
            until: 0,
            detail: summed.then(Box::default),
            lost: Lost::default(),
            retired: None,
            found: None,
        });
        self.rounds.len() - 1
    }

    /// Begins the only round of several recordings taken together: with this many probes, and these sums.
    pub fn begin_joint(&mut self, probes: u32, detail: Detail) {
        let round = self.begin(probes, true);
        self.rounds[round].detail = Some(Box::new(detail));
    }

    /// A round goes on with another number of probes, of which those that are new were never called.
    pub fn go_on(&mut self, round: usize, probes: u32) {
        self.rounds[round].probes = probes;
        self.rounds[round].plans += 1;
    }

    /// So many intervals of a round have lost their records up to now.
    pub fn set_lost(&mut self, round: usize, lost: Lost) {
        self.rounds[round].lost = lost;
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

    /// Sums of a round, those included to which nothing is added any more.
    pub fn sums(&self, round: usize) -> Option<&Detail> {
        self.rounds[round].sums()
    }

    /// Counts a kept interval of a round that began at `begin`, ticks.
    pub fn count(&mut self, round: usize, begin: u64) {
        let since = self.since.unwrap_or(begin);
        self.since = Some(since.min(begin));
        self.rounds[round].until = self.rounds[round].until.max(begin);
        self.rounds[round].intervals += 1;
        let intervals = self.rounds[round].intervals;
        let may_be_best = intervals == INTERVALS_ENOUGH || intervals.is_power_of_two();
        if may_be_best && intervals >= INTERVALS_ENOUGH && self.best() == Some(round) {
            // The largest may yet say more, should this one turn out to be less precise than it looks.
            let largest = self.largest();
            let earlier = self.rounds[..round].iter_mut().enumerate();
            for (_, other) in earlier.filter(|&(at, _)| Some(at) != largest) {
                other.retire();
            }
            self.bound_retired();
        }
    }

    /// Counts kept intervals of a round that were summed elsewhere. The round and those before it are begun if they were not.
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

    /// Index of the round a profile rests on, and its sums.
    pub fn chosen(&self) -> Option<(usize, &Detail)> {
        let at = self.best()?;
        Some((at, self.rounds[at].sums()?))
    }

    /// The chosen round together with others of compatible plans; nothing where there are none.
    pub fn combined(&self, plans: &Plans, sites: &SiteTable) -> Option<Combined> {
        let (at, base) = self.chosen()?;
        let others = self
            .rounds
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != at);
        let others: Vec<_> = others
            .filter_map(|(at, round)| Some((at, round.sums()?)))
            .filter(|(_, detail)| detail.sums.blocks.intervals() >= INTERVALS_ENOUGH)
            .collect();
        combine((at, base), &others, plans, sites)
    }

    /// Which intervals a profile rests on: those of the chosen round, and of the rounds that [`Rounds::combined`] takes together with it.
    pub fn basis(&self, plans: &Plans, sites: &SiteTable) -> Option<Basis> {
        let (at, _) = self.chosen()?;
        let together = self
            .combined(plans, sites)
            .map(|combined| combined.together.rounds);
        let together = together.filter(|rounds| rounds.len() > 1);
        let Some(together) = together else {
            return Some(Basis::of_round(at));
        };
        let sums = |&at: &usize| Some((at, self.rounds[at].sums()?));
        let rounds: Vec<_> = together.iter().filter_map(sums).collect();
        Some(basis(&rounds, plans, sites))
    }

    fn bound_retired(&mut self) {
        let cells = |round: &Round| round.retired.as_deref().map_or(0, Detail::cells);
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

    /// What each round but `chosen` has found, with its index, the newest first.
    pub fn found_elsewhere(&self, chosen: usize) -> Vec<(usize, RoundFindings)> {
        let others = self.rounds.iter().enumerate().rev();
        others
            .filter(|&(at, _)| at != chosen)
            .filter_map(|(at, round)| Some((at, round.found()?)))
            .collect()
    }

    /// The round a profile rests on.
    fn best(&self) -> Option<usize> {
        let precise = self.precise()?;
        if let Some(deeper) = self.deeper(precise, 0.0) {
            return Some(deeper);
        }
        let base = match self.louder(precise) {
            Some(louder) => self.deeper(louder, SHARE_DEEPER).unwrap_or(louder),
            None => precise,
        };
        Some(self.finer(base).unwrap_or(base))
    }

    /// Index of the newest round, not of a far quieter state of the load, that finds most of the variance in a call which an older one did not time.
    fn finer(&self, than: usize) -> Option<usize> {
        let detail = self.rounds[than].sums()?;
        let base = Spread::of(&detail.sums.blocks);
        let (total, sites) = (detail.sums.blocks.total(), SiteTable::default());
        let tree = VarianceTree::new(&detail.paths, &total, &sites);
        let mut newer = self.rounds.iter().enumerate().skip(than + 1).rev();
        let is_finer = |round: &Round| {
            round.intervals >= INTERVALS_DEEPER
                && self.is_part(round)
                && !round.is_slanted()
                && round
                    .spread()
                    .is_some_and(|spread| !base.is_far_wider(&spread))
                && round
                    .found()
                    .is_some_and(|found| found.adds(&tree, SHARE_DEEPER))
        };
        newer.find(|(_, round)| is_finer(round)).map(|(at, _)| at)
    }

    /// Index of the newest round that holds most of what varies, in another state of the load ([`crate::loud`]), and surely says what it is.
    fn louder(&self, than: usize) -> Option<usize> {
        let base = self.rounds[than].spread()?;
        let mut newer = self.rounds.iter().enumerate().rev();
        newer
            .find(|(_, round)| {
                self.is_part(round) && !self.is_past(round) && round.is_surely_louder(&base)
            })
            .map(|(at, _)| at)
    }

    /// Whether a round ended in the first half of the run: what came up to then may have been the beginning, in which caches fill and data are
    /// loaded.
    fn is_past(&self, round: &Round) -> bool {
        let ends = self.rounds.iter().map(|round| round.until);
        let (since, until) = (self.since.unwrap_or(0), ends.max().unwrap_or(0));
        2 * round.until.saturating_sub(since) < until.saturating_sub(since)
    }

    /// Intervals of rounds that surely varied more than those of `detail`, and are none of `rested_on`; and their standard deviation, ticks.
    pub fn louder_than(&self, detail: &Detail, rested_on: &[usize]) -> Option<(u64, f64)> {
        let base = Spread::of(&detail.sums.blocks);
        let others = self.rounds.iter().enumerate();
        let others = others.filter(|(at, _)| !rested_on.contains(at));
        let louder = others.filter(|(_, round)| round.is_surely_louder(&base));
        let spreads = louder.filter_map(|(_, round)| round.spread());
        let all = spreads.reduce(Spread::and)?;
        Some((all.intervals() as u64, all.standard_deviation()))
    }

    /// Index of the newest round that finds most of the variance where an older one did not look, though it had this share of its own there.
    fn deeper(&self, than: usize, share: f64) -> Option<usize> {
        let detail = self.rounds[than].sums()?;
        let (total, sites) = (detail.sums.blocks.total(), SiteTable::default());
        let tree = VarianceTree::new(&detail.paths, &total, &sites);
        // Retired ones, too: a search that goes on has made the newest of few intervals.
        let newer = self.rounds.iter().enumerate().skip(than + 1).rev();
        let mut newer = newer.filter(|(_, round)| round.sums().is_some());
        let is_deeper = |round: &Round| {
            round.intervals >= INTERVALS_DEEPER
                && self.is_part(round)
                && !round.is_slanted()
                && round
                    .found()
                    .is_some_and(|found| found.splits(&tree, SHARE_DEEPER, share))
        };
        newer.find(|(_, round)| is_deeper(round)).map(|(at, _)| at)
    }

    /// Whether a round is more than a moment beside the largest.
    fn is_part(&self, round: &Round) -> bool {
        let largest = self.largest().map(|at| self.rounds[at].intervals);
        PART_ENOUGH * round.intervals >= largest.unwrap_or(0)
    }

    /// Index of the last round that is enough, else of the last that has at least half as many as the largest (the
    /// newest probes say most), among those that still have their sums.
    fn precise(&self) -> Option<usize> {
        let is_straight = |(_, round): &(usize, &Round)| !round.is_slanted();
        let straight: Vec<usize> = self.kept().filter(is_straight).map(|(at, _)| at).collect();
        let is_some = |&at: &usize| self.rounds[at].intervals >= INTERVALS_FEW;
        // Where none is, the report says what was lost.
        let any = straight.iter().any(is_some);
        let kept = || self.kept().filter(|(at, _)| !any || straight.contains(at));
        let most = kept().map(|(_, round)| round.intervals).max()?;
        let is_good = |round: &Round| {
            round.intervals >= INTERVALS_ENOUGH && PART_GOOD * round.intervals >= most
        };
        let is_precise =
            |round: &Round| round.intervals >= INTERVALS_FEW && round.error() <= ERROR_ENOUGH;
        let is_enough =
            |round: &Round| self.is_part(round) && (is_good(round) || is_precise(round));
        let kept = || kept().rev();
        let half = |round: &Round| 2 * round.intervals >= most;
        let enough = kept().find(|(_, round)| is_enough(round));
        enough
            .or_else(|| kept().find(|(_, round)| half(round)))
            .map(|(at, _)| at)
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
    /// Whether the intervals that lost their records would change the mean: those that fill a ring are the long ones.
    fn is_slanted(&self) -> bool {
        let detail = self.detail.as_deref();
        let Some(detail) = detail.filter(|_| self.lost.intervals > 0) else {
            return false;
        };
        let total = detail.sums.blocks.total();
        let kept = mean(total.latency, total.intervals);
        let all = mean(
            total.latency + i128::from(self.lost.ticks),
            total.intervals + self.lost.intervals,
        );
        (all - kept).abs() > SLANTED_MIN * kept
    }

    /// The largest error among the shares that a report would show.
    fn error(&self) -> f64 {
        self.sums().map_or(f64::INFINITY, |detail| {
            evidence::largest_error(&detail.paths, &detail.sums.blocks, SHARE_MIN)
        })
    }

    /// Whether these intervals surely vary more than those.
    fn is_surely_louder(&self, than: &Spread) -> bool {
        self.intervals >= INTERVALS_DEEPER
            && !self.is_slanted()
            && self.spread().is_some_and(|spread| spread.is_louder(than))
            && self.error() <= ERROR_LOUD
    }

    fn spread(&self) -> Option<Spread> {
        let detail = self.sums()?;
        Some(Spread::of(&detail.sums.blocks))
    }

    fn found(&self) -> Option<RoundFindings> {
        let detail = self.detail.as_deref();
        let found = || detail.map(|detail| RoundFindings::of(detail, SHARE_MIN));
        self.found.clone().or_else(found)
    }

    /// Its sums, retired or not.
    fn sums(&self) -> Option<&Detail> {
        self.detail.as_deref().or(self.retired.as_deref())
    }

    fn retire(&mut self) {
        if let Some(mut detail) = self.detail.take() {
            self.found = Some(RoundFindings::of(&detail, SHARE_MIN));
            if detail.sums.blocks.intervals() >= INTERVALS_DEEPER {
                detail.sums.blocks.coarsen(BLOCKS_RETIRED);
                self.retired = Some(detail);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::Record;

    use super::*;
    use crate::vectors::{ProbeCost, Segment, Vectoriser};

    fn rounds(intervals: &[u64]) -> Rounds {
        let mut rounds = Rounds::default();
        for (at, &count) in intervals.iter().enumerate() {
            rounds.begin(at as u32, true);
            (0..count).for_each(|_| rounds.count(at, 0));
        }
        rounds
    }

    fn kept(rounds: &Rounds) -> Vec<bool> {
        let kept = rounds.rounds.iter().map(|round| round.detail.is_some());
        kept.collect()
    }

    /// Of a round that is the better by its number some intervals lost their records, all of what is known of their time: it is chosen only
    /// where the other has lost as much.
    #[test]
    fn a_round_that_lost_its_slow_intervals_is_passed_over() {
        let mut rounds = rounds(&[5000, 300]);
        assert_eq!(rounds.best(), Some(1));
        let lost = Lost {
            intervals: 30,
            ticks: 1 << 30,
        };
        rounds.set_lost(1, lost);
        assert_eq!(rounds.best(), Some(0));
        rounds.set_lost(0, lost);
        assert_eq!(rounds.best(), Some(1));
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

    /// A round with intervals each of which makes these calls, by its number.
    fn add_round(rounds: &mut Rounds, intervals: u64, calls: impl Fn(u64) -> Vec<Record>) {
        let mut vectoriser = Vectoriser::default();
        let at = rounds.begin(2, true);
        for number in 0..intervals {
            let detail = rounds.detail_mut(at).unwrap();
            let calls = calls(number);
            let end = calls.iter().map(|call| call.end()).max().unwrap();
            let latency = end as i64;
            let segment = Segment {
                start: 0,
                end,
                calls: &calls,
                open: &[],
            };
            let made = vectoriser.segment(&segment, latency, &mut detail.paths);
            assert!(made.is_ok());
            let cost = ProbeCost::default();
            let vector = vectoriser.complete(latency, cost, &mut detail.paths);
            detail.sums.blocks.add(&vector, &detail.paths);
            rounds.count(at, 0);
        }
    }

    /// Rounds whose intervals make two calls of a tick, each of which takes a hundred in one of `every` intervals.
    fn stalling(intervals: &[u64], every: u64) -> Rounds {
        let mut rounds = Rounds::default();
        for &count in intervals {
            add_round(&mut rounds, count, |number| {
                let ticks = |first| if number % every == first { 100 } else { 1 };
                let (a, b) = (ticks(0), ticks(every / 2));
                vec![Record::new(10, a, 0), Record::new(10 + a, b, 1)]
            });
        }
        rounds
    }

    /// Two calls: the first takes 200 ticks now and then, and so does what it calls, which is timed in the second round alone; the other takes
    /// so many at other times. None of the rounds is precise.
    fn deeper(first: u64, second: u64, other: u64) -> Rounds {
        let mut rounds = Rounds::default();
        for (intervals, is_open) in [(first, false), (second, true)] {
            add_round(&mut rounds, intervals, |number| {
                let drawn = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
                let ticks = |at, long| {
                    if drawn == at {
                        long + number % 7 * 20
                    } else {
                        10
                    }
                };
                let (a, b) = (ticks(0, 200), ticks(1, other));
                let inner = is_open.then(|| Record::new(12, a - 4, 2));
                let outer = [Record::new(10, a, 0), Record::new(10 + a, b, 1)];
                inner.into_iter().chain(outer).collect()
            });
        }
        rounds
    }

    /// 200 of 5,000 are taken for most of the variance, inside of a call that the others did not look into; 140 are too few, and what
    /// is a quarter of the variance or less does not decide.
    #[test]
    fn a_deeper_look_counts_more_than_a_longer_one() {
        assert!(deeper(5_000, 200, 80).rounds[1].error() > ERROR_ENOUGH);
        assert_eq!(deeper(5_000, 200, 80).best(), Some(1));
        assert_eq!(deeper(5_000, 140, 80).best(), Some(0));
        assert_eq!(deeper(5_000, 200, 400).best(), Some(0));
        assert_eq!(deeper(15_000, 200, 80).best(), Some(0), "no part of it");
    }

    /// Intervals of a second each: sixty that all say the same are an answer, and not sixty with a single stall.
    #[test]
    fn long_intervals_need_not_be_many() {
        assert_eq!(stalling(&[400, 60], 2).best(), Some(1));
        assert_eq!(stalling(&[400, 60], 50).best(), Some(0));
        assert_eq!(stalling(&[400, 30], 2).best(), Some(0));
    }

    /// 3,000 intervals with three stalls of either kind are no answer beside 60,000. As many of a program whose intervals all
    /// say the same are.
    #[test]
    fn few_intervals_are_enough_where_they_are_precise() {
        assert_eq!(stalling(&[60_000, 3_000], 1_000).best(), Some(0));
        assert_eq!(stalling(&[60_000, 3_000], 2).best(), Some(1));
        assert_eq!(stalling(&[60_000, 30_000], 1_000).best(), Some(1));
    }

    #[test]
    fn sums_of_at_most_four_rounds_are_kept() {
        assert_eq!(kept(&rounds(&[5000, 300, 10])), [true, true, true]);
        assert_eq!(
            kept(&rounds(&[50, 20, 30, 40, 1])),
            [true, false, false, true, true]
        );
        assert_eq!(
            kept(&rounds(&[5000, 300, 10, 10, 10])),
            [true, true, false, true, true]
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
