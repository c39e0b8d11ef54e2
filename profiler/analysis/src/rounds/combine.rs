//! Takes rounds of compatible plans together.
//!
//! Each step of refinement begins a round, and most steps open calls that explain little: the rounds have nearly all
//! timed calls in common. A node's inclusive time does not depend on whether the calls below it are timed. So the sums
//! of several rounds add up exactly on the call paths that they share ([`crate::sums::projection`]). The shares then
//! rest on the intervals of all these rounds.
//!
//! **Which paths are shared**: see [`crate::rounds::common_paths`].
//!
//! **Which rounds.** The round that the profile rests on (`rounds/choice.rs`) explains the most. Other rounds are added
//! to it, the largest first, as long as no path with a relevant share is lost. A path may be lost if its share is below
//! the standard error of the round's largest shares, and too small for a finding. Stalls that recur belong to the load,
//! whichever rounds they were in: the profile explains the latency of all intervals of the run.
//!
//! Two rounds **agree** if their mean latency, its variance and the shares of the larger paths differ by no more than
//! their errors. If no round before a point in time agrees with the rounds after it, the load has changed for good. The
//! profile then covers both parts and describes each.

use crate::findings::FINDING_MIN;
use crate::fleet::observed::Basis;
use crate::rounds::common_paths::{Common, NodeShape, Shape};
use crate::rounds::evidence;
use crate::rounds::plans::Plans;
use crate::rounds::policy::*;
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::moments::fraction;
use crate::sums::paths::{PROBES, ROOT};
use crate::sums::round_sums::RoundSums;
use crate::sums::shares::LISTED_MIN;

/// Rounds taken together.
#[derive(Debug)]
pub struct Combined {
    /// Their call paths and sums.
    pub detail: RoundSums,
    /// Which they are.
    pub together: Together,
}

/// Which rounds were taken together, and what that hides.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// Their indices, ascending.
    pub rounds: Vec<usize>,
    /// The load changed once among them, for good.
    pub change: Option<LoadChange>,
    /// Probes of calls that are left out although other calls of the same function are kept. Their time is part of the
    /// function's own time.
    pub hidden: Vec<u32>,
}

/// A single lasting change of the load. Stalls that come and go are not load changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadChange {
    /// What came before.
    pub before: LoadPart,
    /// What came after.
    pub after: LoadPart,
}

/// Intervals before or after a change of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadPart {
    /// How many.
    pub intervals: u64,
    /// Their mean latency, ticks.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

/// A round with its index.
pub type Indexed<'a> = (usize, &'a RoundSums);

/// A round that may be taken together with others.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    index: usize,
    detail: &'a RoundSums,
    shape: &'a Shape,
}

/// Combines the round `base` with all of `others` that fit; `None` if no other fits. `plans`: which probes were planted
/// in them.
pub fn combine(base: Indexed<'_>, others: &[Indexed<'_>], plans: &Plans) -> Option<Combined> {
    let error = evidence::largest_error(base.1, FINDING_MIN);
    let lost_max = error.min(FINDING_MIN);
    let mut order: Vec<Indexed<'_>> = others.to_vec();
    let intervals = |detail: &RoundSums| detail.sums.blocks.kept();
    order.sort_by_key(|(_, detail)| std::cmp::Reverse(intervals(detail)));
    order.insert(0, base);
    let shapes: Vec<Shape> = order.iter().map(|&round| shape(round, plans)).collect();
    let candidates = order.iter().zip(&shapes);
    let mut candidates = candidates.map(|(&(index, detail), shape)| Candidate {
        index,
        detail,
        shape,
    });
    let base = candidates.next()?;
    let mut chosen = vec![base];
    for other in candidates {
        let mut wider = chosen.clone();
        wider.push(other);
        if !is_lost(&common(&wider), base.shape, lost_max) {
            chosen = wider;
        }
    }
    if chosen.len() == 1 {
        return None;
    }
    let detail = together(&mut chosen);
    Some(Combined {
        detail,
        together: Together {
            rounds: chosen.iter().map(|round| round.index).collect(),
            change: change(&chosen, base),
            hidden: hidden(&common(&chosen), base.shape),
        },
    })
}

/// The load change among these rounds, in order of time, if there was exactly one. The rounds that differ from `base`
/// must all precede those that agree with it, or all follow them.
fn change(rounds: &[Candidate<'_>], base: Candidate<'_>) -> Option<LoadChange> {
    let is_like_base: Vec<bool> = rounds
        .iter()
        .map(|&round| round.index == base.index || agree(base, round))
        .collect();
    let first = is_like_base[0];
    let at = is_like_base.iter().position(|&like| like != first)?;
    let lasts = is_like_base[at..].iter().all(|&like| like != first);
    lasts.then(|| LoadChange {
        before: part(&rounds[..at]),
        after: part(&rounds[at..]),
    })
}

/// Intervals of these rounds.
fn part(rounds: &[Candidate<'_>]) -> LoadPart {
    let (mut intervals, mut latency, mut squares) = (0, 0.0, 0.0);
    for round in rounds {
        let total = round.detail.sums.blocks.total();
        intervals += total.intervals;
        latency += total.latency as f64;
        squares += total.latency_squared as f64;
    }
    let mean = latency / intervals.max(1) as f64;
    LoadPart {
        intervals,
        mean,
        deviation: (squares / intervals.max(1) as f64 - mean * mean)
            .max(0.0)
            .sqrt(),
    }
}

fn shape((index, detail): Indexed<'_>, plans: &Plans) -> Shape {
    Shape::of(detail).planted(plans.planted_throughout(&[index]))
}

/// The sums of these rounds, in order of time.
fn together(rounds: &mut [Candidate<'_>]) -> RoundSums {
    rounds.sort_by_key(|round| round.index);
    let common = common(rounds);
    let mut detail = common.detail();
    common.add(rounds.iter().map(|round| round.detail), &mut detail);
    detail
}

/// The intervals of these rounds, and the paths of their [`Combined::detail`], which they count on.
pub(crate) fn basis(rounds: &[Indexed<'_>], plans: &Plans) -> Basis {
    let shapes: Vec<Shape> = rounds.iter().map(|&round| shape(round, plans)).collect();
    let shapes: Vec<&Shape> = shapes.iter().collect();
    let common = Common::of(&shapes);
    let mut paths = common.paths();
    let placed: Vec<_> = rounds
        .iter()
        .map(|&(index, detail)| (index, common.projection(&detail.paths, &mut paths)))
        .collect();
    Basis::of_rounds(paths, &placed)
}

fn common(rounds: &[Candidate<'_>]) -> Common {
    let shapes: Vec<&Shape> = rounds.iter().map(|round| round.shape).collect();
    Common::of(&shapes)
}

/// The paths that are left out below a path that is kept, and by node whether a call below it is kept.
fn first_left_out(common: &Common, shape: &Shape) -> (Vec<u32>, Vec<bool>) {
    let paths = &shape.paths;
    let mut onto = common.paths();
    let projection = common.projection(paths, &mut onto);
    let nodes = (ROOT + 1..).zip(paths.all().iter().skip(1));
    let first = nodes.filter(|&(node, path)| {
        projection.node(node).is_none() && projection.node(path.parent).is_some()
    });
    let mut has_calls = vec![false; paths.all().len()];
    for (node, path) in (0..).zip(paths.all()).skip(1) {
        let is_kept = projection.node(node).is_some() && node != PROBES;
        has_calls[path.parent as usize] |= is_kept;
    }
    (first.map(|(node, _)| node).collect(), has_calls)
}

/// Whether a path with a share or variance above `lost_max` is left out.
fn is_lost(common: &Common, base: &Shape, lost_max: f64) -> bool {
    let mut left_out = first_left_out(common, base).0.into_iter();
    left_out.any(|node| {
        let NodeShape {
            share, variance, ..
        } = base.nodes[node as usize];
        share.abs().max(variance) > lost_max
    })
}

/// As [`Together::hidden`].
pub(crate) fn hidden(common: &Common, base: &Shape) -> Vec<u32> {
    let (left_out, has_calls) = first_left_out(common, base);
    let paths = &base.paths;
    let shown = left_out
        .into_iter()
        .filter(|&node| has_calls[paths.get(node).parent as usize])
        .filter(|&node| base.nodes[node as usize].share.abs() >= LISTED_MIN);
    let mut probes: Vec<u32> = shown.filter_map(|node| paths.get(node).probe).collect();
    probes.sort_unstable();
    probes.dedup();
    probes
}

/// Whether two rounds may be of the same program under the same load.
fn agree(a: Candidate<'_>, b: Candidate<'_>) -> bool {
    let common = common(&[a, b]);
    let mut paths = common.paths();
    let [a, b] = [a, b].map(|round| {
        let projection = common.projection(&round.detail.paths, &mut paths);
        let parts = round.detail.sums.blocks.blocks().iter();
        Blocks::in_order(parts.map(|sums| projection.sums(sums, &paths)))
    });
    let (total_a, total_b) = (a.total(), b.total());
    let share = |sums: &Sums, node| {
        let moment = sums.inclusive_latency_moment(node);
        fraction(moment, sums.latency_moment())
    };
    let larger = |node: u32| {
        let shares = [&total_a, &total_b].map(|sums| share(sums, node).abs());
        shares[0].max(shares[1])
    };
    let nodes: Vec<u32> = (ROOT + 1..paths.all().len() as u32)
        .filter(|&node| node != PROBES && larger(node) >= COMPARED_MIN)
        .collect();
    let statistics = |sums: &Sums| {
        let count = sums.intervals.max(1) as f64;
        let variance = (sums.latency_moment() / count).max(f64::MIN_POSITIVE);
        let latency = [sums.latency as f64 / count, variance.ln()];
        let shares = nodes.iter().map(|&node| share(sums, node));
        latency.into_iter().chain(shares).collect()
    };
    let (a, b) = (
        a.jackknife(&total_a, statistics),
        b.jackknife(&total_b, statistics),
    );
    (0..a.whole.len()).all(|at| {
        let error = a.standard_error(at).hypot(b.standard_error(at));
        // Differences within the rounding error of the sums are ignored.
        let rounding = 1e-9 * a.whole[at].abs();
        (a.whole[at] - b.whole[at]).abs() <= ERRORS_MAX * error + rounding
    })
}
