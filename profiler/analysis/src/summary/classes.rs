//! Classes of intervals: what of the variance lies between them and within each.

use crate::findings::factors::PATHS_MAX;
use crate::inputs::Inputs;
use crate::intervals::classes::{ClassSums, ClassTable};
use crate::profile::{Class, ClassPath, Classes};
use crate::sums::moments::{co_moment, fraction, mean, standard_deviation};
use crate::sums::parts::{Part, VarianceTree};

/// Var(L) = Var(E[L|c]) + E[Var(L|c)] (`variance.md` section 4a), with the same denominator throughout. Without labels
/// there are no classes and everything varies within.
pub(super) fn classes(tree: &VarianceTree<'_>, inputs: &Inputs<'_>) -> Classes {
    let sums = &inputs.round.sums.classes;
    let present = || {
        sums.iter()
            .enumerate()
            .filter(|(_, class)| class.intervals > 0)
    };
    if present().all(|(id, _)| ClassTable::is_unlabelled(id)) {
        return Classes {
            between_fraction: 0.0,
            within_fraction: 1.0,
            classes: Vec::new(),
        };
    }
    let mut classes: Vec<Class> = present()
        .map(|(id, sums)| {
            class(
                tree,
                inputs.classes.name(id),
                sums,
                inputs.options.ticks_per_ns,
            )
        })
        .collect();
    classes.sort_by(|a, b| {
        b.intervals
            .cmp(&a.intervals)
            .then_with(|| a.name.cmp(&b.name))
    });
    Classes {
        between_fraction: classes.iter().map(|class| class.between_fraction).sum(),
        within_fraction: classes.iter().map(|class| class.within_fraction).sum(),
        classes,
    }
}

fn class(tree: &VarianceTree<'_>, name: &str, sums: &ClassSums, ticks_per_ns: f64) -> Class {
    let whole = tree.total.latency_moment();
    let moment = co_moment(
        sums.intervals,
        sums.latency_squared,
        sums.latency,
        sums.latency,
    );
    let distance =
        mean(sums.latency, sums.intervals) - mean(tree.total.latency, tree.total.intervals);
    Class {
        name: name.to_owned(),
        intervals: sums.intervals,
        mean_ns: mean(sums.latency, sums.intervals) / ticks_per_ns,
        sd_ns: standard_deviation(moment, sums.intervals) / ticks_per_ns,
        within_fraction: fraction(moment, whole),
        between_fraction: fraction(sums.intervals as f64 * distance * distance, whole),
        top: class_paths(tree, sums, moment, ticks_per_ns),
    }
}

fn class_paths(
    tree: &VarianceTree<'_>,
    sums: &ClassSums,
    moment: f64,
    ticks_per_ns: f64,
) -> Vec<ClassPath> {
    let share = |(node, &(exclusive, with_latency)): (usize, &(i128, i128))| {
        let covaries = co_moment(sums.intervals, with_latency, exclusive, sums.latency);
        (node as u32, fraction(covaries, moment), exclusive)
    };
    let mut shares: Vec<_> = sums
        .nodes
        .iter()
        .enumerate()
        .map(share)
        .filter(|&(_, share, _)| share > 0.0)
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let path = |(node, share, exclusive)| {
        let timed = !tree.children(node).is_empty();
        let part = if timed {
            Part::Body(node)
        } else {
            Part::Call(node)
        };
        ClassPath {
            path: tree.path(part),
            node: part.id(),
            share,
            mean_ns: mean(exclusive, sums.intervals) / ticks_per_ns,
        }
    };
    shares.into_iter().take(PATHS_MAX).map(path).collect()
}
