//! Largest dependency-set age first: LDSF for the variance and the tail instead of the mean.
//!
//! LDSF counts the transactions that a grant lets progress. A grant delayed by `dt` delays all of them by `dt`, so
//! counting them minimises the sum of latencies. For a convex cost, the delay costs `cost'(age) dt` for each of them.
//! So the request to grant has the greatest `sum of cost'(age)` over its dependency set. It is the generalized c-mu
//! rule (Van Mieghem, "Dynamic Scheduling with Convex Delay Costs", Annals of Applied Probability 1995) with the
//! dependency set of dissertation section 4.3.2 instead of a single job:
//!
//! | cost | minimises | weight of a transaction |
//! |---|---|---|
//! | `L` | mean latency | 1: LDSF |
//! | `L^2` | variance about the mean | its age: [`AgePower::Linear`] |
//! | `L^3` | third moment, so more of the tail | its age squared: [`AgePower::Square`] |
//! | `L^p`, `p` to infinity | the greatest latency | only the oldest counts: [`super::Edsf`] |
//!
//! Ages are those of whole transactions, as in VATS (VATS paper section 5.2). One nanosecond is added to each, so
//! that newborn transactions weigh the same as in LDSF.
//!
//! No waiter starves in the sense of ageing (section 4.5). A waiter of age `a` is passed over only for dependency
//! sets whose ages add up to more. So it is never passed over for `n` transactions younger than `a / n` (`a /
//! sqrt(n)` with squares).

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// The weight of old transactions relative to young ones.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AgePower {
    /// By their age: for the second moment of latency.
    Linear,
    /// By their age squared: for the third.
    #[default]
    Square,
}

impl AgePower {
    /// The weight of a transaction of this age.
    pub(super) fn weight(self, age_ns: u64) -> f64 {
        let age_ns = age_ns as f64 + 1.0;
        match self {
            AgePower::Linear => age_ns,
            AgePower::Square => age_ns * age_ns,
        }
    }

    /// The power called `1` or `2`.
    pub(super) fn from_name(name: &str) -> Option<AgePower> {
        match name {
            "1" => Some(AgePower::Linear),
            "2" => Some(AgePower::Square),
            _ => None,
        }
    }
}

/// Grants one exclusive request or all shared ones, whichever has the greatest sum of powers of ages over its dependency
/// set. Of equals the shared requests, then the first to arrive.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ldaf {
    power: AgePower,
}

impl Ldaf {
    /// LDAF with this power of the age.
    pub fn new(power: AgePower) -> Ldaf {
        Ldaf { power }
    }
}

impl Schedule for Ldaf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        group::pick_heaviest(
            decision,
            |places| summed_weight(decision, places, self.power),
            picked,
        );
    }
}

/// The weights of the union of the dependency sets of the waiters at `places`, added up.
pub(super) fn summed_weight(decision: &Decision<'_>, places: &[usize], power: AgePower) -> f64 {
    let mut sum = 0.0;
    decision.for_dependent_ages(places, |age_ns| sum += power.weight(age_ns));
    sum
}

/// LDAF for hybrid workloads, per expected remaining time: grants one exclusive request or all shared ones, whichever has the
/// greatest sum of squared ages over its dependency set per expected remaining time. Of equals the shared requests, then the first
/// to arrive.
///
/// This schedule relates to LDAF as hLDSF does to LDSF (dissertation section 4.7.2). Where classes of transactions
/// take different times, granting `t` first delays `u`'s dependency set for the remaining time of `t`. So the request
/// to grant has the greatest weight *per expected remaining time*, the mu of the c-mu rule. Expected times are
/// hLDSF's: the owner's value, or the mean of the class (section 4.7.3). Of requests granted together the longest
/// time counts. With one class it is LDAF.
#[derive(Clone, Copy, Default, Debug)]
pub struct Hldaf;

impl Schedule for Hldaf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let per_remaining_time = |places: &[usize]| {
            let remaining_ns =
                |&place: &usize| decision.expected_remaining_ns(decision.waiter(place).txn);
            let slowest_ns = places.iter().map(remaining_ns).fold(1.0, f64::max);
            summed_weight(decision, places, AgePower::Square) / slowest_ns
        };
        group::pick_heaviest(decision, per_remaining_time, picked);
    }
}
