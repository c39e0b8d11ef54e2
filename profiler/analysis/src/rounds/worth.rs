//! What a round explains of the variance of all intervals: by which of them a profile rests on it.
//!
//! ```text
//! worth = coverage x (|depth| - 2 se, at least 0)
//! depth = sum over the parts of its variance tree of
//!         share x log2(1 + calls on the way to the part; one half for the interval itself)
//! ```
//!
//! - **Coverage** is the part of the variance of all latencies of the run of which the round has a fair sample, but for chance
//!   ([`Latencies::part_in`]); few intervals count less. A round of a quiet time has no slow intervals, and explains nothing of them.
//! - A **part** is what a call takes beside the calls in it that are timed. Shares add up to 1, so that the depth is a mean. Its error is the
//!   jackknife's of the whole sum: two parts at one depth may be told apart badly, and lie there surely.
//! - A part is worth more the **deeper** it lies. The logarithm lets a round that has split most of the variance by one more call
//!   win against one that is more precise, and not one that has split a little of it by twenty. Waits below a call that was not
//!   opened lie no deeper than the call.

use super::evidence;
use super::policy::{ERRORS_MIN, INTERVALS_FEW, INTERVALS_OF_OCTAVE};
use crate::intervals::assembler::reader::Lost;
use crate::sums::latencies::Latencies;
use crate::sums::paths::Paths;
use crate::sums::round_sums::RoundSums;

/// What the interval's own code counts.
const OF_THE_INTERVAL: f64 = 0.5;

/// What a round is worth, by its sums and the intervals that it lost. 0 where it says nothing surely.
pub(super) fn worth(round: &RoundSums, lost: Lost, all: &Latencies) -> f64 {
    if round.sums.blocks.intervals() < INTERVALS_FEW {
        return 0.0;
    }
    coverage(round, lost, all) * explained(round)
}

/// The part of the variance of all intervals that it stands for.
pub(super) fn coverage(round: &RoundSums, lost: Lost, all: &Latencies) -> f64 {
    let part = match all.intervals() {
        0 => 1.0,
        _ => all.part_in(&round.sums.histogram, ERRORS_MIN, INTERVALS_OF_OCTAVE),
    };
    // Those that fill a ring and lose their records are the long ones.
    let kept = round.sums.blocks.total().latency as f64;
    let all_ticks = kept + lost.ticks as f64;
    part * kept / all_ticks.max(1.0)
}

/// What it surely says of its own variance, the more the deeper.
fn explained(round: &RoundSums) -> f64 {
    let weights: Vec<f64> = call_depths(&round.paths).into_iter().map(weight).collect();
    let [depth, se] = evidence::weighted_own_shares(round, &weights);
    (depth.abs() - ERRORS_MIN * se).max(0.0)
}

/// What a part counts so many calls below the interval.
fn weight(depth: u32) -> f64 {
    (1.0 + f64::from(depth)).log2().max(OF_THE_INTERVAL)
}

/// By node: how many timed calls lead to it.
fn call_depths(paths: &Paths) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(paths.all().len());
    for (node, path) in paths.all().iter().enumerate() {
        // Callers stand before whom they call; the root is its own parent.
        let above = if node == 0 {
            0
        } else {
            depths[path.parent as usize]
        };
        depths.push(above + u32::from(path.probe.is_some()));
    }
    depths
}
