//! Compares the slowest 1 % of intervals with the middle half, node by node (`variance.md` section 4).
//!
//! A node's mean time differs by `X_s - X_m`. With N calls of d each, this difference is exactly the sum of two terms:
//! `(N_s - N_m) (d_s + d_m) / 2`, which is *more often*, and `(d_s - d_m) (N_s + N_m) / 2`, which is *longer*. If the
//! middle never calls a function, it has no d_m, and the whole difference is *more often*. The middle half lies between
//! the first and the third quartile. All bounds are bounds of the histogram's buckets, so that sums are of whole
//! buckets.

pub(crate) mod model;

use std::collections::BTreeMap;

use crate::findings::causes::{Causes, TOP};
use crate::findings::headline;
use crate::sites::Kind;
use crate::sums::histogram::{Cohort, Histogram};
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};
use crate::sums::shares::LISTED_MIN;

pub use model::{Cohorts, Difference, Group};

/// The slow intervals begin at this quantile.
pub const SLOW: f64 = 0.99;
/// The middle lies between these quantiles.
pub(crate) const MIDDLE: (f64, f64) = (0.25, 0.75);
/// Nodes listed, at most.
const NODES_MAX: usize = 256;
/// If one child carries this much of a node's difference, or of its change, it explains more than the node.
pub(crate) const CARRIED_MIN: f64 = 0.8;

/// Compares the two; `None` if a group is empty, or if the slow intervals are not slower.
pub fn cohorts(
    tree: &VarianceTree<'_>,
    histogram: &Histogram,
    ticks_per_ns: f64,
) -> Option<Cohorts> {
    let middle = histogram.between(MIDDLE.0, MIDDLE.1)?;
    let slow = histogram.between(SLOW, 1.0)?;
    let mean = |cohort: &Cohort, part| inclusive(tree, cohort, part) / cohort.intervals as f64;
    let root = Part::Call(ROOT);
    let gap = mean(&slow, root) - mean(&middle, root);
    if gap <= 0.0 || slow.threshold <= middle.threshold {
        return None;
    }
    let part_of = |part| (mean(&slow, part) - mean(&middle, part)) / gap;
    let mut nodes = Vec::new();
    for part in tree.all_parts().into_iter().skip(1) {
        let own = part_of(part);
        if own.abs() < LISTED_MIN || part == Part::Call(PROBES) {
            continue;
        }
        let below = match part {
            Part::Call(node) => tree.parts(node),
            Part::Body(_) => Vec::new(),
        };
        let found = [&slow, &middle].map(|cohort| {
            let calls = cohort.calls(part.node()) as f64 / cohort.intervals as f64;
            (mean(cohort, part) / ticks_per_ns, calls)
        });
        nodes.push(Difference {
            path: tree.path(part),
            node: Some(part.id()),
            kind: tree.kind(part),
            passes_on: below
                .iter()
                .any(|&child| part_of(child) / own >= CARRIED_MIN),
            part: own,
            ..difference(found)
        });
    }
    nodes.sort_by(|a, b| b.part.abs().total_cmp(&a.part.abs()));
    nodes.truncate(NODES_MAX);
    let group = |cohort: &Cohort| Group {
        intervals: cohort.intervals,
        from_ns: cohort.threshold as f64 / ticks_per_ns,
        mean_ns: mean(cohort, root) / ticks_per_ns,
    };
    Some(Cohorts {
        slow: group(&slow),
        middle: group(&middle),
        causes: by_cause(tree, [&slow, &middle], gap, ticks_per_ns),
        nodes,
    })
}

/// Sum of a part's time over a cohort, ticks.
fn inclusive(tree: &VarianceTree<'_>, cohort: &Cohort, part: Part) -> f64 {
    let ticks = match part {
        Part::Call(node) => cohort.inclusive(node),
        Part::Body(node) => {
            let calls = tree
                .children(node)
                .iter()
                .map(|&child| cohort.inclusive(child));
            cohort.inclusive(node) - calls.sum::<i128>()
        }
    };
    ticks as f64
}

/// Own times by function and caller.
fn by_cause(
    tree: &VarianceTree<'_>,
    cohorts: [&Cohort; 2],
    gap: f64,
    ticks_per_ns: f64,
) -> Vec<Difference> {
    let causes = Causes::of(tree);
    let mut sums: BTreeMap<[u32; 2], [(f64, f64); 2]> = BTreeMap::new();
    let mut kinds: BTreeMap<[u32; 2], Kind> = BTreeMap::new();
    for node in tree.nodes() {
        let context = causes.of_node[node as usize];
        if context == TOP {
            continue;
        }
        let key = causes.key(context);
        let enters = causes.enters(tree, node);
        for (sum, cohort) in sums.entry(key).or_default().iter_mut().zip(cohorts) {
            sum.0 += inclusive(tree, cohort, Part::Body(node)) / cohort.intervals as f64;
            let calls = cohort.calls(node) as f64 / cohort.intervals as f64;
            sum.1 += if enters { calls } else { 0.0 };
        }
        if enters || node == ROOT {
            let part = match node {
                ROOT => Part::Body(ROOT),
                _ => Part::Call(node),
            };
            kinds.entry(key).or_insert(tree.kind(part));
        }
    }
    let top = causes.contexts[TOP as usize].function;
    let name = |id: u32| causes.names[id as usize].to_string();
    let described = |(key, [slow, middle]): ([u32; 2], [(f64, f64); 2])| {
        let [function, caller] = key;
        let ns = |(ticks, calls): (f64, f64)| (ticks / ticks_per_ns, calls);
        Difference {
            path: headline(
                &name(function),
                (caller != top).then(|| name(caller)).as_deref(),
                false,
            ),
            kind: kinds.get(&key).copied().unwrap_or(Kind::Body),
            part: (slow.0 - middle.0) / gap,
            ..difference([ns(slow), ns(middle)])
        }
    };
    let mut found: Vec<Difference> = sums.into_iter().map(described).collect();
    found.retain(|cause| cause.part.abs() >= LISTED_MIN);
    found.sort_by(|a, b| b.part.abs().total_cmp(&a.part.abs()));
    found
}

/// From time and calls in the slow ones and in the middle.
fn difference([(slow_ns, slow_calls), (middle_ns, middle_calls)]: [(f64, f64); 2]) -> Difference {
    let each = |ns: f64, calls: f64| if calls > 0.0 { ns / calls } else { 0.0 };
    let (slow_each, middle_each) = (each(slow_ns, slow_calls), each(middle_ns, middle_calls));
    let only_slow = middle_calls == 0.0 && slow_calls > 0.0;
    let more_often_ns = if only_slow {
        slow_ns - middle_ns
    } else {
        (slow_calls - middle_calls) * (slow_each + middle_each) / 2.0
    };
    Difference {
        slow_ns,
        middle_ns,
        slow_calls,
        middle_calls,
        more_often_ns,
        longer_ns: slow_ns - middle_ns - more_often_ns,
        only_slow,
        ..Difference::default()
    }
}
