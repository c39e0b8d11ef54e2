//! Decides when a step is worth a new round.
//!
//! Each round begins with empty sums. So the value of a step is weighed against the intervals that it discards, and no
//! step is taken for what may be chance:
//!
//! - A contribution must exceed the threshold by `SURE_ERRORS` standard errors. Evidence gathers over the looks of a
//!   round, so that small shares become certain in time. The current load is judged by the last look alone, so a change
//!   is seen however long the round is.
//! - While a round is a small part of the run, a new one costs little.
//! - Later, only a contribution of `MUCH` ends a round at once. All other steps wait until the round is most of the run
//!   (`PART_MOST`). So the search continues at intervals that grow by a factor, and a round always holds a good part of
//!   all intervals. One step leads to the next, so all rounds since the last long one are counted together: they may
//!   use a small part of the run.
//! - A part that explains most of the variance (`MOST`) is followed after a shorter look. A cause may be twenty calls
//!   down, and small shares can wait until it is found.
//! - If the length of the run is known, its last half belongs to one round, unless a new contribution is `MUCH`.

use std::time::Duration;

use super::policy::*;
use super::step::Candidate;

/// Least length of a look after this time of search.
pub(crate) fn look_after(searched: Duration) -> Duration {
    (searched / LOOKS_IN_SEARCH).clamp(LOOK_AT_LEAST, LOOK_AT_MOST)
}

/// Whether this many intervals in the time since the last look suffice for another look.
pub fn is_enough(intervals: u64, age: Duration, searched: Duration) -> bool {
    age >= look_after(searched) && is_sample(intervals, INTERVALS_ENOUGH, age)
}

/// The same if the last look led to a part that explains most of the variance: the next contribution is large, or none.
pub fn is_enough_to_follow(intervals: u64, age: Duration) -> bool {
    age >= FOLLOWED_AFTER && is_sample(intervals, INTERVALS_TO_FOLLOW, age)
}

fn is_sample(intervals: u64, enough: u64, age: Duration) -> bool {
    let are_rare_but_enough = intervals >= INTERVALS_FEW
        && intervals as f64 * age.as_secs_f64() >= INTERVAL_SECONDS_ENOUGH;
    intervals >= enough || are_rare_but_enough
}

/// The cost of a new round at present.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Duration of the search so far, at the present rate of intervals.
    pub searched: Duration,
    /// The round's part of all intervals.
    pub part_of_run: f64,
    /// The part of all rounds since the last long one (`part_since_long`).
    pub part_since_long: f64,
    /// The length of the run is known, and half of it is over.
    pub is_late: bool,
    /// The look was shorter than others, to follow the part that explains most.
    pub is_early_look: bool,
}

/// The part of all intervals in the rounds after the last long one, which had more than `PART_LITTLE` of the run until
/// then. `intervals`: of each round so far, in order; a long one may be the newest.
pub(crate) fn part_since_long(intervals: &[u64]) -> f64 {
    let total: u64 = intervals.iter().sum();
    let mut before = total;
    let mut since = 0;
    for (age, &round) in intervals.iter().rev().enumerate() {
        if age > 0 && round as f64 > PART_LITTLE * before as f64 {
            break;
        }
        since += round;
        before -= round;
    }
    since as f64 / total.max(1) as f64
}

impl Patience {
    /// Whether the search is so young that it looks again soon in any case.
    pub(crate) fn is_early(&self) -> bool {
        self.searched < EARLY
    }

    /// Whether it is worth looking again soon for a step that is not taken yet.
    pub(crate) fn waits_for(&self, step: &Candidate) -> bool {
        let may_be_much = step.contribution >= MUCH && !step.again;
        self.is_early() || (self.searched < UNSURE && may_be_much)
    }

    /// Whether discarding the present rounds costs little.
    pub(crate) fn is_round_cheap(&self) -> bool {
        self.part_since_long <= PART_LITTLE
    }

    /// Whether one of these steps surely explains most of the variance, so that its result is to be seen soon.
    pub(crate) fn is_led_by(steps: &[Candidate]) -> bool {
        steps
            .iter()
            .any(|step| step.contribution - SURE_ERRORS * step.se >= MOST)
    }

    /// Whether a step is worth a new round.
    pub fn admits(&self, candidate: &Candidate, threshold: f64) -> bool {
        let sure = candidate.contribution - SURE_ERRORS * candidate.se;
        let is_time = self.is_round_cheap() || self.part_of_run >= PART_MOST;
        if is_time && !self.is_late && !self.is_early_look {
            sure >= threshold
        } else {
            // A part that was examined before without result can wait.
            !candidate.again && sure >= threshold.max(MUCH)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;
    use crate::refine::Step;

    fn after(seconds: u64, part_of_run: f64) -> Patience {
        Patience {
            searched: Duration::from_secs(seconds),
            part_of_run,
            part_since_long: part_of_run,
            is_late: false,
            is_early_look: false,
        }
    }

    fn step(contribution: f64, se: f64, again: bool) -> Candidate {
        Candidate {
            step: Step::Open(Location::new(0, 1)),
            name: String::new(),
            within: Vec::new(),
            contribution,
            same_work: contribution,
            se,
            score: 1.0,
            calls: 1.0,
            again,
        }
    }

    fn admits(seconds: u64, part_of_run: f64, contribution: f64, se: f64, again: bool) -> bool {
        admitted_by(after(seconds, part_of_run), contribution, se, again)
    }

    fn admitted_by(patience: Patience, contribution: f64, se: f64, again: bool) -> bool {
        patience.admits(&step(contribution, se, again), 0.01)
    }

    /// In its first half minute, the search looks again soon if a contribution may be large but is not certain. For
    /// small contributions, and for parts examined before, it does so only in the first five seconds.
    #[test]
    fn what_may_be_much_is_waited_for() {
        let waits = |seconds, contribution, again| {
            after(seconds, 1.0).waits_for(&step(contribution, 0.9, again))
        };
        assert!(waits(4, 0.02, false) && waits(4, 0.5, true));
        assert!(waits(10, 0.5, false) && !waits(10, 0.02, false) && !waits(10, 0.5, true));
        assert!(!waits(31, 0.5, false));
    }

    #[test]
    fn looks_lengthen_with_the_search() {
        let after = |seconds| look_after(Duration::from_secs(seconds));
        assert_eq!((after(0), after(6)), (LOOK_AT_LEAST, LOOK_AT_LEAST));
        assert_eq!(after(32), Duration::from_secs(2));
        assert_eq!(after(3600), LOOK_AT_MOST);
    }

    /// 300 intervals after 0.4 s, 40 after 4 s, and between them n in 160 s / n.
    #[test]
    fn rare_intervals_take_longer_to_be_enough() {
        let enough =
            |intervals, millis| is_enough(intervals, Duration::from_millis(millis), Duration::ZERO);
        assert!(enough(300, 400) && !enough(300, 399) && !enough(299, 400));
        assert!(enough(100, 1600) && !enough(100, 1599) && !enough(99, 1600));
        assert!(enough(40, 4000) && !enough(39, 60_000));
        // Later in a search a look takes its sixteenth.
        let searched = Duration::from_secs(32);
        assert!(!is_enough(10_000, Duration::from_millis(1999), searched));
        assert!(is_enough(80, Duration::from_secs(2), searched));
    }

    #[test]
    fn chance_opens_nothing() {
        assert!(admits(1, 1.0, 0.05, 0.01, false));
        assert!(!admits(1, 1.0, 0.05, 0.03, false));
        assert!(!admits(1, 1.0, 0.9, f64::INFINITY, false));
    }

    #[test]
    fn a_long_round_ends_for_much_alone() {
        assert!(!admits(30, 0.5, 0.05, 0.001, false));
        assert!(admits(30, 0.5, 0.15, 0.02, false));
        assert!(!admits(30, 0.5, 0.5, 0.02, true), "it was seen before");
        assert!(admits(30, 0.05, 0.05, 0.001, false), "it has just begun");
        assert!(admits(30, 0.7, 0.05, 0.001, true), "most of the run");
    }

    /// In the last half of a run that lasts eight seconds, however early in the search it is and however short the
    /// round.
    #[test]
    fn the_last_half_is_for_what_explains_much() {
        let late = |part_of_run| Patience {
            searched: Duration::from_secs(4),
            part_of_run,
            part_since_long: part_of_run,
            is_late: true,
            is_early_look: false,
        };
        assert!(!admitted_by(late(0.01), 0.05, 0.001, false));
        assert!(!admitted_by(late(0.9), 0.05, 0.001, false));
        assert!(admitted_by(late(0.01), 0.15, 0.02, false));
    }

    /// 150 intervals after 0.2 s; rare ones take as long as without.
    #[test]
    fn what_explains_most_is_followed_soon() {
        let enough =
            |intervals, millis| is_enough_to_follow(intervals, Duration::from_millis(millis));
        assert!(enough(150, 200) && !enough(150, 199) && !enough(149, 200));
        assert!(enough(40, 4000) && !enough(40, 3999));
    }

    /// As soon after a step as 0.4 s, small shares are not judged.
    #[test]
    fn a_short_look_is_for_what_explains_much() {
        let early_look = Patience {
            searched: Duration::from_secs(20),
            part_of_run: 0.01,
            part_since_long: 0.01,
            is_late: false,
            is_early_look: true,
        };
        assert!(!admitted_by(early_look, 0.05, 0.001, false));
        assert!(admitted_by(early_look, 0.15, 0.02, false));
    }

    /// 500 of 1000 intervals, then rounds of 50 each: two have not more than an eighth of all together, three have.
    /// A long round that is the newest is its own chain.
    #[test]
    fn a_chain_of_short_rounds_is_not_free() {
        let after = |chain: &[u64]| part_since_long(&[&[500, 500], chain].concat());
        assert_eq!(after(&[50]), 50.0 / 1050.0);
        assert!(after(&[50, 50]) <= PART_LITTLE);
        assert!(after(&[50; 3]) > PART_LITTLE);
        assert_eq!(after(&[50, 3000]), 3050.0 / 4050.0);
        assert_eq!(after(&[3000, 0]), 0.0);
        assert_eq!(part_since_long(&[]), 0.0);
    }
}
