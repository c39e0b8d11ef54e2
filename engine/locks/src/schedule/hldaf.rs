//! Largest dependency-set age first for hybrid workloads: LDAF per expected remaining time.
//!
//! This schedule relates to LDAF as hLDSF does to LDSF (dissertation section 4.7.2). Where classes of transactions
//! take different times, granting `t` first delays `u`'s dependency set for the remaining time of `t`. So the request
//! to grant has the greatest weight *per expected remaining time*, the mu of the c-mu rule. Expected times are
//! hLDSF's: the owner's value, or the mean of the class (section 4.7.3). Of requests granted together the longest
//! time counts. With one class it is LDAF.

use super::decision::{Decision, Schedule};
use super::group;
use super::ldaf::{AgePower, summed_weight};
use crate::rng::Rng;

/// Grants one exclusive request or all shared ones, whichever has the greatest sum of squared ages over its dependency
/// set per expected remaining time. Of equals the shared requests, then the first to arrive.
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
