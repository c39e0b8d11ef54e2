//! Chooses the round that the profile rests on: the one that explains most of the variance of all intervals, most
//! deeply and with certainty ([`crate::rounds::worth`]). If no round explains anything, the one with the most intervals
//! is chosen, and the newest among equals.
//!
//! Other rounds are taken together with it as far as they fit (`rounds/combine.rs`).

use super::worth::worth;
use super::{Round, Rounds};
use crate::sums::latencies::Latencies;

impl Rounds {
    /// The round a profile rests on. `all`: latencies of all intervals of the run.
    pub(super) fn best(&self, all: &Latencies) -> Option<usize> {
        let rounds = self.rounds.iter().enumerate();
        let rated = rounds.filter_map(|(at, round)| Some((at, round.worth(all)?)));
        let best = rated.max_by(|(a, one), (b, other)| {
            let intervals = |at: &usize| self.rounds[*at].intervals;
            let by_intervals = || intervals(a).cmp(&intervals(b));
            one.total_cmp(other).then_with(by_intervals)
        });
        best.map(|(at, _)| at)
    }
}

impl Round {
    /// What it explains; `None` if it has no sums.
    fn worth(&self, all: &Latencies) -> Option<f64> {
        let sums = self.sums()?;
        Some(worth(sums, self.lost, all))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::Record;

    use super::*;
    use crate::intervals::assembler::reader::Lost;
    use crate::sums::vectors::Vectoriser;

    /// A run: its rounds, and the latencies of all of its intervals.
    #[derive(Default)]
    struct Run {
        rounds: Rounds,
        all: Latencies,
    }

    impl Run {
        /// Adds a round of intervals. `calls`: the calls of an interval, by its number.
        fn add(&mut self, intervals: u64, calls: impl Fn(u64) -> Vec<Record>) -> usize {
            let mut vectoriser = Vectoriser::default();
            let at = self.rounds.begin(2, true);
            for number in 0..intervals {
                let detail = self.rounds.detail_mut(at).unwrap();
                let calls = calls(number);
                let end = calls.iter().map(|call| call.end()).max().unwrap();
                let vector = vectoriser.of_calls([0, end], &calls, &mut detail.paths);
                detail.sums.add(&vector, 0, &detail.paths);
                self.rounds.count(at);
                self.all.add(end);
            }
            at
        }

        fn best(&self) -> Option<usize> {
            self.rounds.best(&self.all)
        }
    }

    /// A pseudorandom number.
    fn drawn(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
    }

    /// Nested calls of these probes; the outermost takes this many ticks.
    fn nested(probes: &[u32], ticks: u64) -> Vec<Record> {
        let at = |(depth, &probe): (u64, &u32)| Record::new(10 + depth, ticks - 2 * depth, probe);
        let mut calls: Vec<Record> = (0..).zip(probes).map(at).collect();
        calls.reverse();
        calls
    }

    /// Latency of a request: 10,000 ticks for one of twenty, else 100.
    fn stalls(number: u64) -> u64 {
        if drawn(number).is_multiple_of(20) {
            10_000
        } else {
            100
        }
    }

    #[test]
    fn nothing_is_chosen_of_nothing() {
        assert_eq!(Run::default().best(), None);
    }

    /// The rounds have the same probes, so the largest has the smallest error.
    #[test]
    fn of_equal_rounds_the_larger_is_chosen() {
        let mut run = Run::default();
        for intervals in [300, 5_000, 400] {
            run.add(intervals, |number| nested(&[0, 1], stalls(number)));
        }
        assert_eq!(run.best(), Some(1));
    }

    /// 300 intervals with the stall nine calls down against 50,000 intervals with the stall three calls down.
    #[test]
    fn the_deepest_sure_answer_wins() {
        let mut run = Run::default();
        run.add(50_000, |number| nested(&[0, 1, 2], stalls(number)));
        run.add(300, |number| {
            nested(&[0, 1, 2, 3, 4, 5, 6, 7, 8], stalls(number))
        });
        run.add(300, |number| nested(&[0, 1], stalls(number)));
        assert_eq!(run.best(), Some(1));
    }

    /// One interval of 200 stalls in the deeper round: it causes all of that round's variance, which is no evidence.
    #[test]
    fn one_stall_in_a_deeper_round_is_no_answer() {
        let mut run = Run::default();
        run.add(5_000, |number| nested(&[0], stalls(number)));
        run.add(200, |number| {
            nested(
                &[0, 1, 2],
                if number == 100 {
                    10_000
                } else {
                    100 + number % 3
                },
            )
        });
        assert_eq!(run.best(), Some(0));
    }

    /// An eighth of the stalls is deep. In a small round, that may be chance.
    #[test]
    fn an_uncertain_deeper_answer_waits() {
        let mut run = Run::default();
        run.add(20_000, |number| nested(&[0], stalls(number)));
        let deep: Vec<u32> = (0..15).collect();
        let some_are_deep = |number| {
            let is_deep = (drawn(number) >> 8).is_multiple_of(8);
            nested(if is_deep { &deep } else { &[0] }, stalls(number))
        };
        run.add(150, some_are_deep);
        assert_eq!(run.best(), Some(0));
        run.add(20_000, some_are_deep);
        assert_eq!(run.best(), Some(2));
    }

    /// A shallow round that begins with this many stalls, and a deeper round without stalls that explains all other
    /// intervals better.
    fn stalls_in_the_shallow_round(stalls: u64) -> Run {
        let mut run = Run::default();
        let varies = |number: u64| 100 + drawn(number) % 23;
        run.add(3_000, |number| {
            let stands_still = number < stalls;
            let ticks = if stands_still { 10_000 } else { varies(number) };
            nested(&[0], ticks)
        });
        run.add(3_000, |number| nested(&[0, 1, 2], varies(number)));
        run
    }

    /// Half of a run contains none of four slow intervals by chance once in sixteen runs.
    #[test]
    fn a_few_slow_intervals_do_not_choose_the_round() {
        assert_eq!(stalls_in_the_shallow_round(1).best(), Some(1));
        assert_eq!(stalls_in_the_shallow_round(4).best(), Some(1));
        assert_eq!(stalls_in_the_shallow_round(5).best(), Some(0));
    }

    /// a and b explain half of the variance each. One round has opened a by one call. The other has opened b, a
    /// twentieth here, by twenty calls.
    #[test]
    fn much_that_is_split_counts_more_than_a_little_split_often() {
        let both = |number: u64, a: &[u32], b: &[u32]| {
            let ticks = if drawn(number).is_multiple_of(20) {
                10_000
            } else {
                100
            };
            let small = if drawn(number) >> 8 & 15 == 0 {
                2_300
            } else {
                100
            };
            let mut calls = nested(a, ticks);
            let later = nested(b, small).into_iter();
            let shifted =
                later.map(|call| Record::new(call.start + ticks, call.duration(), call.id()));
            calls.extend(shifted);
            calls
        };
        let deep: Vec<u32> = (20..40).collect();
        let mut run = Run::default();
        run.add(3_000, |number| both(number, &[0, 1, 2], &[20]));
        run.add(3_000, |number| both(number, &[0, 1], &deep));
        assert_eq!(run.best(), Some(0));
    }

    /// One of two functions runs in each interval, and the one that takes less has a share of -0.25. To split it is an
    /// answer.
    #[test]
    fn a_negative_share_that_is_split_counts_as_much() {
        let mut run = Run::default();
        for quick in [&[0, 10][..], &[0, 10, 11]] {
            run.add(3_000, |number| match drawn(number) & 1 {
                0 => nested(&[0, 1, 2], 45_000 + drawn(number) % 62_000),
                _ => nested(quick, 15_000),
            });
        }
        assert_eq!(run.best(), Some(1));
    }

    /// The newest round is deeper, but of a quiet time: it has no stalls.
    #[test]
    fn the_calm_after_a_storm_explains_nothing() {
        let mut run = Run::default();
        run.add(3_000, |number| nested(&[0, 1], stalls(number)));
        run.add(30_000, |number| nested(&[0, 1, 2, 3], 100 + number % 7));
        assert_eq!(run.best(), Some(0));
    }

    /// Stalls recur in every third round: the rounds without them are not representative of the load.
    #[test]
    fn stalls_that_recur_are_the_load() {
        let mut run = Run::default();
        for at in 0..9 {
            let has_stalls = at % 3 == 1;
            run.add(2_000, |number| {
                nested(
                    &[0, 1, 2],
                    if has_stalls {
                        stalls(number)
                    } else {
                        100 + number % 7
                    },
                )
            });
        }
        let best = run.best().unwrap();
        assert_eq!(best % 3, 1, "{best}");
    }

    /// Two rounds are the same, but one has lost the records of its slowest intervals, which took most of the time.
    #[test]
    fn a_round_that_lost_its_slow_intervals_is_passed_over() {
        let mut run = Run::default();
        for _ in 0..2 {
            run.add(1_000, |number| nested(&[0, 1], stalls(number)));
        }
        for lost_in in [1, 0] {
            let mut lost = [Lost::default(); 2];
            lost[lost_in] = Lost {
                intervals: 30,
                ticks: 1 << 30,
            };
            (0..2).for_each(|at| run.rounds.set_lost(at, lost[at]));
            assert_eq!(run.best(), Some(1 - lost_in));
        }
    }

    /// All is the interval's own code, for sure, but for a tenth that one round has timed. That round has lost most of
    /// its slow intervals.
    #[test]
    fn what_is_surely_own_code_is_an_answer() {
        let mut run = Run::default();
        for part in [100, 10] {
            run.add(1_000, |number| {
                let ticks = stalls(number);
                vec![Record::new(ticks - ticks / part, ticks / part, 0)]
            });
        }
        assert_eq!(run.best(), Some(1));
        let lost = Lost {
            intervals: 100,
            ticks: 2_000_000,
        };
        run.rounds.set_lost(1, lost);
        assert_eq!(run.best(), Some(0));
    }

    /// A few intervals explain nothing, however deep. If no round has more, the largest is shown.
    #[test]
    fn few_intervals_are_shown_if_there_are_no_others() {
        let mut run = Run::default();
        run.add(30, |number| nested(&[0, 1, 2], 100 + number));
        run.add(20, |number| nested(&[0, 1, 2, 3], 100 + number));
        assert_eq!(run.best(), Some(0));
        run.add(200, |number| nested(&[0], 100 + number));
        assert_eq!(run.best(), Some(2));
    }
}
