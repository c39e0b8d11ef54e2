//! Largest dependency set first (dissertation section 4.3.2, algorithm 5; VLDB'18 algorithm 1).
//!
//! All shared requests are compared as one, with the size of the union of their dependency sets. Algorithm 5 as
//! printed grants the shared requests when their union is the *smaller* (line 8). The prose above it, the proofs and
//! the equality with bLDSF for `f(k) = 1` say the larger, and so does this code. Of equals the shared requests go
//! first, as in algorithm 6.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants whichever lets the most transactions make progress: one exclusive request or all shared ones.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ldsf;

impl Schedule for Ldsf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let groups = group::compatible_groups(decision, |place| decision.size_at(place));
        let progress =
            |places: &[usize]| decision.union_sizes(places).last().copied().unwrap_or(0.0);
        picked.extend_from_slice(&group::best(groups, progress));
    }
}
