//! When a step is worth a new round.
//!
//! Each round begins from nothing, so what a step may show is weighed against what it throws away, and no step is taken for what
//! may be chance:
//!
//! - A contribution has to be larger than the threshold by [`SURE_ERRORS`] standard errors. Evidence gathers over the looks of a round, so
//!   that small shares are told apart in time, and what happens now is judged by the last look alone, so that a load that changes
//!   is seen however long the round has gone on.
//! - Early, and as long as a round is a small part of the run, it costs little to begin another.
//! - Later only what explains much (`MUCH`) ends a round at once. The rest waits until the round is most of the run
//!   (`PART_MOST`): so the search goes on, but its steps come at times that grow by a factor, and at any time a round
//!   holds a good part of all intervals. One step leads to the next, so rounds that have just begun are counted together: what follows a
//!   long round has a small part of the run for all its steps.
//! - Where the length of the run is known, its last half belongs to one round, unless something turns up that explains much.

use std::time::Duration;

use super::Candidate;

/// How many standard errors a contribution has to lie above what is asked of it.
pub const SURE_ERRORS: f64 = 2.0;
/// As long as the search is not older, everything is opened.
const EARLY: Duration = Duration::from_secs(5);
/// A contribution for which a round is ended at any time.
const MUCH: f64 = 0.1;
/// Rounds that have no larger part of the run together are not missed.
const PART_LITTLE: f64 = 0.125;
/// A round that has this part has said what it can.
const PART_MOST: f64 = 2.0 / 3.0;

/// What one look rests on takes so long, ...
const LOOK_AT_LEAST: Duration = Duration::from_millis(400);
/// ... which grows with the search, to a sixteenth of its time: the first looks find what varies most and need little, those after
/// decide on small shares, which a short look cannot tell from noise.
const LOOKS_IN_SEARCH: u32 = 16;
const LOOK_AT_MOST: Duration = Duration::from_millis(2500);

/// How long a look takes at the least when the search has gone on for so long.
pub fn look_after(searched: Duration) -> Duration {
    (searched / LOOKS_IN_SEARCH).clamp(LOOK_AT_LEAST, LOOK_AT_MOST)
}

/// What a new round would cost now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// How long the search has gone on, at the rate at which intervals come now.
    pub searched: Duration,
    /// The part of all intervals that the round has.
    pub part_of_run: f64,
    /// The part that all rounds have since the last long one ([`part_since_long`]).
    pub part_since_long: f64,
    /// The length of the run is known, and half of it is over.
    pub is_late: bool,
}

/// The part of all intervals in the rounds that came after the last long one, which had more than `PART_LITTLE` of the run until
/// then. `intervals`: of each round so far, in order; a long one may be the newest.
pub fn part_since_long(intervals: &[u64]) -> f64 {
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
    /// Whether what is not known yet is worth being looked at again soon.
    pub fn is_early(&self) -> bool {
        self.searched < EARLY
    }

    /// Whether the round is not missed.
    pub fn is_round_cheap(&self) -> bool {
        !self.is_late && (self.is_early() || self.part_since_long <= PART_LITTLE)
    }

    /// Whether a step is worth a new round.
    pub fn admits(&self, candidate: &Candidate, threshold: f64) -> bool {
        let sure = candidate.contribution - SURE_ERRORS * candidate.se;
        let is_time = self.is_round_cheap() || self.part_of_run >= PART_MOST;
        if is_time && !self.is_late {
            sure >= threshold
        } else {
            // What was looked at before and showed nothing can wait.
            !candidate.again && sure >= threshold.max(MUCH)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;
    use crate::refine::Step;

    fn admits(seconds: u64, part_of_run: f64, contribution: f64, se: f64, again: bool) -> bool {
        let patience = Patience {
            searched: Duration::from_secs(seconds),
            part_of_run,
            part_since_long: part_of_run,
            is_late: false,
        };
        admitted_by(patience, contribution, se, again)
    }

    fn admitted_by(patience: Patience, contribution: f64, se: f64, again: bool) -> bool {
        let candidate = Candidate {
            step: Step::Open(Location::new(0, 1)),
            name: String::new(),
            contribution,
            se,
            score: 1.0,
            again,
        };
        patience.admits(&candidate, 0.01)
    }

    #[test]
    fn looks_lengthen_with_the_search() {
        let after = |seconds| look_after(Duration::from_secs(seconds));
        assert_eq!((after(0), after(6)), (LOOK_AT_LEAST, LOOK_AT_LEAST));
        assert_eq!(after(32), Duration::from_secs(2));
        assert_eq!(after(3600), LOOK_AT_MOST);
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

    /// In the last half of a run that lasts eight seconds, however early in the search it is and however short the round.
    #[test]
    fn the_last_half_is_for_what_explains_much() {
        let late = |part_of_run| Patience {
            searched: Duration::from_secs(4),
            part_of_run,
            part_since_long: part_of_run,
            is_late: true,
        };
        assert!(!admitted_by(late(0.01), 0.05, 0.001, false));
        assert!(!admitted_by(late(0.9), 0.05, 0.001, false));
        assert!(admitted_by(late(0.01), 0.15, 0.02, false));
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
