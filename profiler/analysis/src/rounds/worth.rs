//! How much of the variance of all intervals a round explains. The profile rests on the round with the largest value.
//!
//! ```text
//! worth = coverage x (|depth| - 2 se, at least 0)
//! depth = mean over the parts of its variance tree, by share, of
//!         log2(1 + calls on the way to the part; one half for the interval itself)
//! ```
//!
//! - **Coverage** is the part of the variance of all latencies of the run that the round samples fairly
//!   ([`Latencies::part_in`]). A small sample counts less. A round of a quiet time has no slow intervals, so it
//!   explains none of their variance. Latencies that only a few intervals of the run reach are left out: chance puts
//!   them into one round or the other.
//! - A **part** is a call's time outside of its timed calls. A part that evens the latency out has a negative
//!   share: to split it is worth as much. It counts by its magnitude if it is certain.
//! - The **standard error** is the jackknife's error of the whole sum. Two parts at the same depth may be hard to tell
//!   apart although their common share at that depth is certain.
//! - A part is worth more the **deeper** it lies: its weight grows with the logarithm of its depth. A round that splits
//!   most of the variance by one more call is worth more than a more precise round. A round that splits a little of it
//!   by twenty calls is not. Waits below a call that is not opened are at the depth of the call.

use super::evidence;
use super::policy::{ERRORS_MIN, INTERVALS_FEW, INTERVALS_OF_OCTAVE, OWN_CODE_WEIGHT};
use crate::intervals::assembler::reader::Lost;
use crate::sums::latencies::Latencies;
use crate::sums::paths::Paths;
use crate::sums::round_sums::RoundSums;

/// Worth of a round, from its sums and the intervals that it lost; 0 if no share is certain.
pub(super) fn worth(round: &RoundSums, lost: Lost, all: &Latencies) -> f64 {
    if round.sums.blocks.intervals() < INTERVALS_FEW {
        return 0.0;
    }
    coverage(round, lost, all) * explained(round)
}

/// The part of the variance of all intervals that the round samples fairly.
pub(super) fn coverage(round: &RoundSums, lost: Lost, all: &Latencies) -> f64 {
    let part = match all.intervals() {
        0 => 1.0,
        _ => all.part_in(&round.sums.histogram, ERRORS_MIN, INTERVALS_OF_OCTAVE),
    };
    // Long intervals are the likeliest to fill a ring and lose their records.
    let kept = round.sums.blocks.total().latency as f64;
    let all_ticks = kept + lost.ticks as f64;
    part * kept / all_ticks.max(1.0)
}

/// The mean depth to which the round explains its own variance, less [`ERRORS_MIN`] standard errors.
fn explained(round: &RoundSums) -> f64 {
    let weights: Vec<f64> = call_depths(&round.paths).into_iter().map(weight).collect();
    let [depth, se] = evidence::mean_by_own_shares(round, &weights);
    (depth.abs() - ERRORS_MIN * se).max(0.0)
}

/// Weight of a part that lies `depth` timed calls below the interval.
fn weight(depth: u32) -> f64 {
    (1.0 + f64::from(depth)).log2().max(OWN_CODE_WEIGHT)
}

/// By node: how many timed calls lead to it.
fn call_depths(paths: &Paths) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(paths.all().len());
    for (node, path) in paths.all().iter().enumerate() {
        // Callers precede their callees; the root is its own parent.
        let above = if node == 0 {
            0
        } else {
            depths[path.parent as usize]
        };
        depths.push(above + u32::from(path.probe.is_some()));
    }
    depths
}
