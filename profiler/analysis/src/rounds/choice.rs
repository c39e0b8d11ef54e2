//! Which round a profile rests on: the one that surely explains most of the variance of all intervals, and deepest
//! ([`crate::rounds::worth`]). Where none says anything surely, it is the one with most intervals, the newest of several.
//!
//! Others are taken together with it as far as they fit (`rounds/combine.rs`).

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
    /// What it explains; nothing where it has no sums.
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
    use crate::sums::vectors::{ProbeCost, Segment, Vectoriser};

    /// A run: its rounds, and the latencies of all of its intervals.
    #[derive(Default)]
    struct Run {
        rounds: Rounds,
        all: Latencies,
    }

    impl Run {
        /// A round with intervals each of which makes these calls, by its number.
        fn add(&mut self, intervals: u64, calls: impl Fn(u64) -> Vec<Record>) -> usize {
            let mut vectoriser = Vectoriser::default();
            let at = self.rounds.begin(2, true);
            for number in 0..intervals {
                let detail = self.rounds.detail_mut(at).unwrap();
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

    /// A number that looks drawn.
    fn drawn(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
    }

    /// Calls of these probes, each inside of the one before, the outermost for so many ticks.
    fn nested(probes: &[u32], ticks: u64) -> Vec<Record> {
        let at = |(depth, &probe): (u64, &u32)| Record::new(10 + depth, ticks - 2 * depth, probe);
        let mut calls: Vec<Record> = (0..).zip(probes).map(at).collect();
        calls.reverse();
        calls
    }

    /// A request of 100 ticks, or of 10,000 in one of twenty.
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

    /// The same probes: the larger is the surer.
    #[test]
    fn of_equal_rounds_the_larger_is_chosen() {
        let mut run = Run::default();
        for intervals in [300, 5_000, 400] {
            run.add(intervals, |number| nested(&[0, 1], stalls(number)));
        }
        assert_eq!(run.best(), Some(1));
    }

    /// 300 intervals in which the stall is known nine calls down, beside 50,000 in which it is known three calls down.
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

    /// In the deeper round one interval of 200 stalls: it is all of that round's variance, and of no account.
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

    /// A shallow round with so many stalls at its beginning, and a deeper one without, which says more of all else.
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

    /// Of four slow intervals, half of a run has none by chance once in sixteen times.
    #[test]
    fn a_few_slow_intervals_do_not_choose_the_round() {
        assert_eq!(stalls_in_the_shallow_round(1).best(), Some(1));
        assert_eq!(stalls_in_the_shallow_round(4).best(), Some(1));
        assert_eq!(stalls_in_the_shallow_round(5).best(), Some(0));
    }

    /// Half of the variance is a's, half b's. One round has opened a by one call, the other b, which is a twentieth here, by twenty.
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

    /// The newest round is of a quiet time, and looked deeper: it has none of what varies.
    #[test]
    fn the_calm_after_a_storm_explains_nothing() {
        let mut run = Run::default();
        run.add(3_000, |number| nested(&[0, 1], stalls(number)));
        run.add(30_000, |number| nested(&[0, 1, 2, 3], 100 + number % 7));
        assert_eq!(run.best(), Some(0));
    }

    /// Stalls that come in every third round, as ones that recur do: the rounds without them are not the load.
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

    /// Of a round that says the same some intervals lost their records, all of what is known of their time.
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

    /// A few intervals say nothing, however deep; where no round has more, the largest is shown.
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
