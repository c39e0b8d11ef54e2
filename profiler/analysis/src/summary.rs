//! From the sums of a round to the profile.

use std::collections::BTreeMap;

use crate::attribute_lines;
use crate::breakdown;
use crate::classes::{ClassSums, ClassTable};
use crate::cohorts;
use crate::counts::RunCounts;
use crate::factors::{self, Selection};
use crate::findings;
use crate::histogram::Histogram;
use crate::inputs::Inputs;
use crate::interval::Reason;
use crate::moments::{co_moment, fraction, standard_deviation};
use crate::other_rounds;
use crate::parts::{Part, VarianceTree};
use crate::paths::{PROBES, ROOT};
use crate::profile::{
    Bin, Class, ClassPath, Classes, Closure, Overhead, PROFILE_VERSION, Profile, Unpatched,
};
use crate::self_cost::Measured;
use crate::shares;
use crate::sums::Sums;
use crate::timelines;
use crate::vectors::ProbeCost;
use crate::waits;
use crate::warnings::{self, Warning};

/// Percentiles of the profile, by name.
const PERCENTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
];
/// Paths listed of one class, at most.
const CLASS_PATHS_MAX: usize = 8;

/// The profile.
pub fn profile(inputs: &Inputs<'_>) -> Profile {
    let Inputs {
        round,
        run,
        options,
        ..
    } = *inputs;
    let (blocks, histogram) = (&round.sums.blocks, &round.sums.histogram);
    let total = blocks.total();
    let tree = VarianceTree::new(&round.paths, &total, inputs.sites).with_classes(inputs.classes);
    let sd_ns = standard_deviation(total.latency_moment(), total.intervals) / options.ticks_per_ns;
    let selection = Selection {
        k: options.k,
        threshold: options.threshold,
        exponent: options.specificity,
    };
    let ranked = factors::factors(&tree, blocks, selection);
    let (findings, uncovered) = findings::findings(
        &tree,
        round,
        inputs.classes,
        &ranked,
        options.threshold,
        options.ticks_per_ns,
    );
    let mut profile = Profile {
        version: PROFILE_VERSION,
        target: options.target.clone(),
        interval: options.interval.clone(),
        intervals: total.intervals,
        discarded: run.discarded.iter().sum(),
        discarded_by_reason: discarded_by_reason(run),
        intervals_seen: run.seen,
        sampled_out: 0,
        mean_ns: mean(total.latency, total.intervals) / options.ticks_per_ns,
        sd_ns,
        variance_ns2: sd_ns * sd_ns,
        percentiles_ns: percentiles(histogram, options.ticks_per_ns),
        histogram: bins(histogram, options.ticks_per_ns),
        closure: Closure {
            max_abs_error_ticks: run.closure_error_max,
            intervals: run.closure_checked,
        },
        overhead: overhead(
            &total,
            inputs.cost,
            round.sums.self_cost.measured(),
            options.ticks_per_ns,
        ),
        round: inputs.round_index + 1,
        rounds: inputs.rounds.clone(),
        rounds_together: rounds_together(inputs),
        seen_elsewhere: other_rounds::seen_elsewhere(
            &tree,
            &inputs.elsewhere,
            inputs.sites,
            options.ticks_per_ns,
        ),
        findings,
        uncovered,
        trades: factors::trades(&tree, blocks, options.threshold.max(findings::FINDING_MIN)),
        cohorts: cohorts::cohorts(&tree, histogram, options.ticks_per_ns),
        factors: ranked.into_iter().map(|ranked| ranked.factor).collect(),
        classes: classes(&tree, inputs),
        attributes: attribute_lines::attributes(
            &total,
            blocks,
            inputs.attributes,
            options.ticks_per_ns,
        ),
        tree: shares::tree(&tree, blocks, histogram, options.ticks_per_ns),
        time_spent: Vec::new(),
        waits: Vec::new(),
        timelines: Vec::new(),
        unpatched: hidden(inputs),
        unseen: None,
        names: Vec::new(),
        warnings: Vec::new(),
    };
    if inputs.follows_waits {
        profile.time_spent = breakdown::summary(&tree, options.ticks_per_ns);
        profile.waits = waits::waits(&tree, &round.waits, options.ticks_per_ns);
        profile.timelines = timelines::timelines(&tree, inputs);
    }
    profile.warnings = warnings(&profile, inputs, &total)
        .iter()
        .map(ToString::to_string)
        .collect();
    profile
}

/// Numbers of the rounds that a profile rests on, where they are several.
fn rounds_together(inputs: &Inputs<'_>) -> Vec<usize> {
    let together = inputs.together.filter(|together| together.rounds.len() > 1);
    together.map_or_else(Vec::new, |together| {
        together.rounds.iter().map(|index| index + 1).collect()
    })
}

/// Calls that not all rounds taken together have timed, and whose time stands as their callers' own.
fn hidden(inputs: &Inputs<'_>) -> Vec<Unpatched> {
    let reason = match rounds_together(inputs)[..] {
        // Several recordings: their rounds are not listed.
        [] => "not timed in all rounds of the recordings taken together: look at each recording by itself".to_owned(),
        _ => format!(
            "not timed in all of the rounds taken together; by itself, round {} shows it (FOUND IN OTHER ROUNDS)",
            inputs.round_index + 1
        ),
    };
    let probes = inputs.together.iter().flat_map(|together| &together.hidden);
    let sites = probes.filter_map(|&probe| inputs.sites.sites.get(probe as usize));
    let unpatched = sites.map(|site| Unpatched {
        site: format!("{} at {}", site.callee, site.site),
        reason: reason.clone(),
        hides_time: true,
    });
    unpatched.collect()
}

/// Which intervals lose records may depend on how long they take: those that fill their ring are the long ones.
fn loss_bias(profile: &Profile, inputs: &Inputs<'_>) -> Option<Warning> {
    let ticks_per_ns = inputs.options.ticks_per_ns;
    let (lost, kept) = (inputs.lost.intervals, profile.intervals);
    let lost_ns = inputs.lost.ticks as f64 / ticks_per_ns;
    let mean_ns = (profile.mean_ns * kept as f64 + lost_ns) / (kept + lost).max(1) as f64;
    let bias = fraction(mean_ns - profile.mean_ns, profile.mean_ns);
    (kept > 0 && bias.abs() > warnings::LOSS_BIAS_HIGH).then(|| Warning::LossDependsOnLatency {
        intervals: lost,
        lost_ns: lost_ns / lost.max(1) as f64,
        kept_ns: profile.mean_ns,
        mean_ns,
    })
}

fn mean(sum: i128, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}

fn discarded_by_reason(run: &RunCounts) -> BTreeMap<String, u64> {
    let counted = Reason::ALL
        .iter()
        .zip(run.discarded)
        .filter(|&(_, count)| count > 0);
    counted
        .map(|(reason, count)| (reason.text().to_owned(), count))
        .collect()
}

fn percentiles(histogram: &Histogram, ticks_per_ns: f64) -> BTreeMap<String, f64> {
    let named = PERCENTILES
        .iter()
        .map(|&(name, quantile)| (name, histogram.quantile(quantile)));
    let max = ("max", histogram.latency_max() as f64);
    named
        .chain([max])
        .map(|(name, ticks)| (name.to_owned(), ticks / ticks_per_ns))
        .collect()
}

fn bins(histogram: &Histogram, ticks_per_ns: f64) -> Vec<Bin> {
    let ns = |ticks: u64| ticks as f64 / ticks_per_ns;
    histogram
        .bins()
        .map(|(from, to, count)| Bin {
            from_ns: ns(from),
            to_ns: ns(to),
            count,
        })
        .collect()
}

fn overhead(
    total: &Sums,
    cost: ProbeCost,
    measured: Option<Measured>,
    ticks_per_ns: f64,
) -> Overhead {
    Overhead {
        probe_ns: cost.ticks() / ticks_per_ns,
        estimated_fraction: fraction(total.node(PROBES).inclusive as f64, total.latency as f64),
        measured_fraction: measured.map(|measured| measured.fraction),
        measured_se: measured.and_then(|measured| measured.se),
    }
}

/// Var(L) = Var(E[L|c]) + E[Var(L|c)] (`variance.md` section 4a), with the same denominator throughout. Without labels
/// there are no classes and everything varies within.
fn classes(tree: &VarianceTree<'_>, inputs: &Inputs<'_>) -> Classes {
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
            share,
            mean_ns: mean(exclusive, sums.intervals) / ticks_per_ns,
        }
    };
    shares.into_iter().take(CLASS_PATHS_MAX).map(path).collect()
}

fn warnings(profile: &Profile, inputs: &Inputs<'_>, total: &Sums) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |condition: bool, warning: Warning| {
        if condition {
            found.push(warning);
        }
    };
    let run = inputs.run;
    let intervals = profile.intervals;
    warn(intervals == 0, Warning::NoIntervals);
    warn(
        (1..warnings::INTERVALS_FEW).contains(&intervals),
        Warning::FewIntervals(intervals),
    );
    warn(
        intervals > 1 && total.latency_moment() <= 0.0,
        Warning::NoVariance,
    );

    // What was lost under other plans than those that the profile rests on is not missing in it.
    let elsewhere = run.lost.intervals.saturating_sub(inputs.lost.intervals);
    let left_out = |reason: Reason| match reason {
        Reason::RecordsLost => run.discarded[reason as usize].saturating_sub(elsewhere),
        _ => run.discarded[reason as usize],
    };
    let discarded = fraction(
        Reason::ALL.into_iter().map(left_out).sum::<u64>() as f64,
        profile.intervals_seen.saturating_sub(elsewhere) as f64,
    );
    let most = Reason::ALL
        .into_iter()
        .max_by_key(|&reason| left_out(reason))
        .unwrap_or(Reason::Malformed);
    warn(
        discarded > warnings::DISCARDED_HIGH,
        Warning::Discarded {
            fraction: discarded,
            reason: most.text(),
        },
    );
    let bias = loss_bias(profile, inputs);
    if let Some(bias) = bias {
        warn(true, bias);
    }
    warn(
        run.closure_error_max > 0,
        Warning::ClosureError(run.closure_error_max),
    );

    let overhead = &profile.overhead;
    // A measurement that could be chance says less than the estimate.
    let measured = overhead
        .measured_fraction
        .filter(|&fraction| fraction > 2.0 * overhead.measured_se.unwrap_or(fraction));
    let slowed = measured.unwrap_or(overhead.estimated_fraction);
    let measured = measured.is_some();
    warn(
        slowed > warnings::OVERHEAD_HIGH,
        Warning::Overhead {
            fraction: slowed,
            measured,
        },
    );
    let probes = fraction(
        total.inclusive_latency_moment(PROBES),
        total.inclusive_latency_moment(ROOT),
    );
    warn(
        probes > warnings::PROBE_SHARE_HIGH,
        Warning::ProbeShare(probes),
    );

    let blocks = inputs.round.sums.blocks.blocks().len();
    warn(
        intervals > 0 && blocks < warnings::BLOCKS_FEW,
        Warning::FewBlocks(blocks),
    );
    warn(
        inputs.round.paths.folded() > 0,
        Warning::Folded(inputs.round.paths.folded()),
    );
    warn(run.dropped > 0, Warning::Dropped(run.dropped));
    let kept = inputs.kept;
    let disagreeing = inputs.together.map_or(0, |together| {
        let rounds = together.disagreeing.iter();
        rounds.map(|&(_, intervals)| intervals).sum()
    });
    warn(
        fraction(disagreeing as f64, kept as f64) >= warnings::DISAGREEING_HIGH,
        Warning::RoundsDisagree {
            intervals: disagreeing,
            kept,
        },
    );
    found
}
