//! Weighs the cost of a step against its contribution.
//!
//! A timed call below a loop costs as often as the loop turns. If the budget is spent, further probes there do not make
//! the profile deeper but smaller. Fewer intervals are recorded, to keep their mean within `--max-overhead`. And the
//! loop's time is split into parts that all grow with its turns, so that none explains much. Two rules follow:
//!
//! - Such a step must explain much by the paper's own measure, the variance of the function's time. The covariance is
//!   no measure here, because every part of a loop varies together with the rest.
//! - The step must explain more than how often the loop turns. If the call is timed, its number of calls is known, and
//!   all calls below it grow with that number.
//!
//! A probe that records nothing still costs a nanosecond or two, in every interval. Sampling does not lower this cost,
//! so no step is taken that would spend too much of the budget on it.
//!
//! No step of more than little cost ([`COST_LITTLE`]) may raise the cost above [`EXCEEDED_AT_MOST`] times the budget,
//! however much it explains: fewer than one interval in as many would be recorded. In a chain of calls, each level
//! explains most of the one above and costs as much. The remaining sample would be too small to distinguish variance
//! from chance.

use evenkeel_analysis::profile::Profile;

use super::Limits;
use super::policy::{COST_LITTLE, EXCEEDED_AT_MOST, MEASURED_TIMES_MAX, MUCH, PASSED_MAX};
use super::step::Candidate;

/// What probes cost now, as fractions of the latency.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// All probes.
    pub spent: f64,
    /// They were measured to cost that; it is an estimate otherwise.
    pub is_measured: bool,
    /// One more call per interval.
    pub of_a_call: f64,
    /// All probes, in an interval that is not recorded.
    pub passed: f64,
    /// One more call in an interval that is not recorded.
    pub passed_of_a_call: f64,
}

impl Cost {
    /// The profile's estimate. If a larger cost was `measured` (a fraction of the latency, beyond chance), that cost,
    /// and each call's part of it. A probe costs `passed_ns` in an interval that is not recorded.
    pub fn of(profile: &Profile, measured: Option<f64>, passed_ns: f64) -> Cost {
        let estimated = profile.overhead.estimated_fraction;
        let spent = estimated.max(measured.unwrap_or_default());
        let times = (spent / estimated.max(1e-9)).clamp(1.0, MEASURED_TIMES_MAX);
        let probe_ns = profile.overhead.probe_ns;
        let part = times / profile.mean_ns.max(1.0);
        Cost {
            spent,
            is_measured: measured.is_some_and(|measured| measured >= estimated),
            of_a_call: part * probe_ns,
            passed: spent * passed_ns / probe_ns.max(1e-9),
            passed_of_a_call: part * passed_ns,
        }
    }

    /// Whether a step is worth its minimum cost: one timed call in each call that it looks into.
    pub(super) fn admits(&self, candidate: &Candidate, limits: &Limits) -> bool {
        let more = candidate.calls * self.of_a_call;
        let passes = self.passed + candidate.calls * self.passed_of_a_call;
        if passes > PASSED_MAX * limits.overhead_max && !is_little(more, limits) {
            return false;
        }
        let is_within = self.spent + more <= limits.overhead_max;
        let is_bearable = self.spent + more <= EXCEEDED_AT_MOST * limits.overhead_max;
        is_little(more, limits) || is_within || (is_bearable && candidate.same_work >= MUCH)
    }
}

/// Whether a cost, as a fraction of the latency, is too small to be weighed.
pub(super) fn is_little(cost: f64, limits: &Limits) -> bool {
    cost <= COST_LITTLE * limits.overhead_max
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::step::Step;
    use crate::tests::example::{LIMITS, at};

    /// Whether a step into this many calls per interval is admitted. An interval takes 400 us, a probe 18 ns, the
    /// probes now cost `spent`, and 3 % are allowed.
    fn admits(spent: f64, calls: f64, same_work: f64) -> bool {
        let cost = Cost {
            spent,
            of_a_call: 18.0 / 400e3,
            ..Cost::default()
        };
        let candidate = Candidate {
            step: Step::Open(at(1)),
            name: String::new(),
            within: Vec::new(),
            contribution: 0.3,
            same_work,
            se: 0.01,
            score: 1.0,
            calls,
            again: false,
        };
        cost.admits(&candidate, &LIMITS)
    }

    /// 450 calls cost 2 %. If 9 % or 2 % of a budget of 3 % are spent already, they are admitted only if they explain
    /// much.
    #[test]
    fn the_parts_of_a_loop_are_left_alone_when_the_budget_is_spent() {
        assert!(!admits(0.09, 450.0, 0.08));
        assert!(!admits(0.02, 450.0, 0.08));
        assert!(admits(0.005, 450.0, 0.08));
        assert!(admits(0.09, 450.0, 0.2));
    }

    /// 14 % would be spent: more than four times 3 %.
    #[test]
    fn one_interval_in_four_stays_to_be_recorded() {
        assert!(admits(0.09, 600.0, 0.9));
        assert!(!admits(0.12, 450.0, 0.9));
    }

    /// A call of 20 ns in 1,000 is 2 %, which is also the estimate. With 14 % measured, a call costs seven times as
    /// much. Without probes a measurement says nothing about calls.
    #[test]
    fn what_was_measured_counts_for_more_than_what_is_estimated() {
        let mut profile = Profile {
            mean_ns: 1000.0,
            ..Profile::default()
        };
        profile.overhead.probe_ns = 20.0;
        profile.overhead.estimated_fraction = 0.02;
        let near = |cost: Cost, spent: f64, of_a_call: f64| {
            (cost.spent - spent).abs() < 1e-9 && (cost.of_a_call - of_a_call).abs() < 1e-9
        };
        assert!(near(Cost::of(&profile, None, 0.0), 0.02, 0.02));
        assert!(near(Cost::of(&profile, Some(0.01), 0.0), 0.02, 0.02));
        assert!(near(Cost::of(&profile, Some(0.14), 0.0), 0.14, 0.14));
        let is_measured = |fraction| Cost::of(&profile, fraction, 0.0).is_measured;
        assert_eq!(
            [None, Some(0.01), Some(0.14)].map(is_measured),
            [false, false, true]
        );
        profile.overhead.estimated_fraction = 0.0;
        assert!(near(Cost::of(&profile, Some(0.14), 0.0), 0.14, 0.2));
    }

    /// A call of 2 ns where nothing is recorded, in 400 us: 3,000 calls are the half of 3 %, though recording is free.
    #[test]
    fn what_intervals_cost_that_are_not_recorded_is_bounded() {
        let cost = Cost {
            passed_of_a_call: 2.0 / 400e3,
            of_a_call: 0.01 * 2.0 / 400e3,
            ..Cost::default()
        };
        let candidate = |calls| Candidate {
            step: Step::Open(at(1)),
            name: String::new(),
            within: Vec::new(),
            contribution: 0.9,
            same_work: 0.9,
            se: 0.01,
            score: 1.0,
            calls,
            again: false,
        };
        assert!(cost.admits(&candidate(2900.0), &LIMITS));
        let dear = Cost {
            of_a_call: 0.5 * cost.passed_of_a_call,
            ..cost
        };
        assert!(!dear.admits(&candidate(3100.0), &LIMITS));
        let spent = Cost {
            passed: 0.014,
            ..dear
        };
        assert!(!spent.admits(&candidate(2900.0), &LIMITS));
    }

    #[test]
    fn what_is_called_now_and_then_costs_nothing() {
        assert!(admits(0.09, 10.0, 0.01));
    }
}
