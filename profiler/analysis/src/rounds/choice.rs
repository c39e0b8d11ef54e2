//! Which round a profile rests on.
//!
//! The newest has looked deepest, but what it says has to be precise: it is the last round that has a
//! good part of the intervals of the largest, or that is precise all the same because what it measures hardly varies. A few
//! thousand intervals of a server whose stalls come once a second say nothing, however deep they look. A round whose slow intervals lost
//! their records is passed over for one that kept them: it says little of what makes intervals slow.
//!
//! Only where a newer round surely finds a third of the variance inside of a call that such a round did not look into, it is the better answer,
//! whatever its errors: a program may be over before its deepest round is long.
//!
//! Where the load has changed on the way, the newest round may be of its quietest part: the profile then rests on the newest of the rounds
//! of the run's later half that hold most of what varies ([`crate::rounds::spread`]).

use super::policy::*;
use super::{Round, Rounds};
use crate::findings::FINDING_MIN;
use crate::rounds::evidence;
use crate::rounds::other_rounds::RoundFindings;
use crate::rounds::spread::Spread;
use crate::sites::SiteTable;
use crate::sums::moments::mean;
use crate::sums::parts::VarianceTree;
use crate::sums::round_sums::RoundSums;

impl Rounds {
    /// The round a profile rests on.
    pub(super) fn best(&self) -> Option<usize> {
        let precise = self.precise()?;
        if let Some(deeper) = self.deeper(precise) {
            return Some(deeper);
        }
        Some(self.wider(precise).unwrap_or(precise))
    }

    /// Index of the newest round after another that says enough and finds most of the variance where that one did not look.
    fn deeper(&self, than: usize) -> Option<usize> {
        let detail = self.rounds[than].sums()?;
        let (total, sites) = (detail.sums.blocks.total(), SiteTable::default());
        let tree = VarianceTree::new(&detail.paths, &total, &sites);
        // Retired ones, too: a search that goes on has made the newest of few intervals.
        let mut newer = self.rounds.iter().enumerate().skip(than + 1).rev();
        let is_it = |round: &Round| {
            let found = || round.found();
            let splits = |found: RoundFindings| found.splits(&tree, SHARE_DEEPER);
            self.is_part(round) && round.says_enough() && found().is_some_and(splits)
        };
        newer.find(|(_, round)| is_it(round)).map(|(at, _)| at)
    }

    /// Index of the newest round that holds most of what varies, in another state of the load ([`crate::rounds::spread`]), and surely says what it is.
    fn wider(&self, than: usize) -> Option<usize> {
        let base = self.rounds[than].spread()?;
        let mut newer = self.rounds.iter().enumerate().rev();
        newer
            .find(|(_, round)| !self.is_past(round) && round.is_surely_wider(&base))
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
    pub fn wider_than(&self, detail: &RoundSums, rested_on: &[usize]) -> Option<(u64, f64)> {
        let base = Spread::of(&detail.sums.blocks);
        let others = self.rounds.iter().enumerate();
        let others = others.filter(|(at, _)| !rested_on.contains(at));
        let wider = others.filter(|(_, round)| round.is_surely_wider(&base));
        let spreads = wider.filter_map(|(_, round)| round.spread());
        let all = spreads.reduce(Spread::and)?;
        Some((all.intervals() as u64, all.standard_deviation()))
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
            evidence::largest_error(detail, FINDING_MIN)
        })
    }

    /// Whether it has its sums, of enough intervals to be taken instead of others.
    fn says_enough(&self) -> bool {
        self.intervals >= INTERVALS_DEEPER && self.sums().is_some()
    }

    /// Whether these intervals surely vary more than those.
    fn is_surely_wider(&self, than: &Spread) -> bool {
        self.says_enough()
            && self
                .spread()
                .is_some_and(|spread| spread.varies_more_than(than))
            && self.error() <= ERROR_SURE
    }

    fn spread(&self) -> Option<Spread> {
        let detail = self.sums()?;
        Some(Spread::of(&detail.sums.blocks))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::Record;

    use super::*;
    use crate::intervals::assembler::reader::Lost;
    use crate::rounds::tests::rounds;
    use crate::sums::vectors::{ProbeCost, Segment, Vectoriser};

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

    /// The same call, in the second round with what it calls, stalls in one interval of 200: all of that round's variance, and of no account.
    #[test]
    fn one_stall_in_a_deeper_round_is_no_answer() {
        let mut rounds = Rounds::default();
        for (intervals, is_open) in [(5_000, false), (200, true)] {
            add_round(&mut rounds, intervals, |number| {
                let drawn = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
                let stalls = if is_open { number == 100 } else { drawn == 0 };
                let ticks = if stalls { 200 } else { 10 };
                let inner = is_open.then(|| Record::new(12, ticks - 4, 2));
                inner
                    .into_iter()
                    .chain([Record::new(10, ticks, 0)])
                    .collect()
            });
        }
        assert_eq!(rounds.best(), Some(0));
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
}
