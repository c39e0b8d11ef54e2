//! Largest dependency set first for hybrid workloads (dissertation section 4.7.2, algorithm 7).
//!
//! Transactions of different classes take different times, so the speed of progress divides by the expected remaining
//! time: `sum |g(t)| / max E(R_t)` over what would be granted together. As in algorithm 7 the sizes are summed, not
//! united, and all shared requests are granted together.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants the exclusive request or all shared requests, whichever lets the most transactions progress per expected time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Hldsf;

impl Schedule for Hldsf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let remaining_ns =
            |place: usize| decision.expected_remaining_ns(decision.waiter(place).txn);
        let groups = group::compatible_groups(decision, |place| {
            decision.size_at(place) / remaining_ns(place)
        });
        let speed = |places: &[usize]| {
            let size: f64 = places.iter().map(|&place| decision.size_at(place)).sum();
            let slowest_ns = places
                .iter()
                .map(|&place| remaining_ns(place))
                .fold(1.0, f64::max);
            size / slowest_ns
        };
        picked.extend_from_slice(&group::best(groups, speed));
    }
}
