//! Batched largest dependency set first (dissertation section 4.4.2, algorithm 6).
//!
//! Instead of progress it maximises the *speed* of progress. An exclusive request lets `|g(t)|` transactions progress
//! for one expected execution time, a batch of `k` shared requests the union of their sets for `f(k)` of them. The
//! batch is found as in section 4.5: sort by size, take the prefix with the greatest union over `f(k)`.

use super::decision::{Decision, Schedule};
use super::delay::DelayFactor;
use super::group;
use crate::rng::Rng;

/// Grants the exclusive request or the batch of shared requests with which the system progresses fastest.
#[derive(Clone, Copy, Debug)]
pub struct Bldsf {
    factor: DelayFactor,
}

impl Bldsf {
    /// bLDSF with this delay factor.
    pub fn new(factor: DelayFactor) -> Bldsf {
        Bldsf { factor }
    }

    /// The length of the prefix with the greatest speed, and that speed. Of equal speeds the longer prefix: it allows
    /// more concurrency.
    fn best_prefix(&self, unions: &[f64]) -> (usize, f64) {
        let mut best = (0, 0.0);
        for (at, union) in unions.iter().enumerate() {
            let speed = union / self.factor.at(at + 1);
            if speed >= best.1 {
                best = (at + 1, speed);
            }
        }
        best
    }
}

impl Schedule for Bldsf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let mut groups = group::compatible_groups(decision, |place| decision.size_at(place));
        for places in &mut groups {
            let mut sized: Vec<(f64, usize)> = places
                .iter()
                .map(|&place| (decision.size_at(place), place))
                .collect();
            sized.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            *places = sized.into_iter().map(|(_, place)| place).collect();
            let (length, _) = self.best_prefix(&decision.union_sizes(places));
            places.truncate(length);
        }
        let speed = |places: &[usize]| self.best_prefix(&decision.union_sizes(places)).1;
        picked.extend_from_slice(&group::best(groups, speed));
    }
}
