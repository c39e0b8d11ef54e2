//! From the sums of a round to the profile.

pub(crate) mod attribute_lines;
mod cautions;
mod chains;
mod classes;
mod finish;
mod over_time;
mod sampling;
mod slow;
mod untimed;

use std::collections::BTreeMap;

use crate::critical::breakdown;
use crate::critical::timelines;
use crate::critical::waits;
use crate::findings;
use crate::findings::cohorts;
use crate::findings::factors::{self, Selection};
use crate::findings::not_opened::NotOpened;
use crate::findings::warnings::OVERHEAD_HIGH;
use crate::inputs::Inputs;
use crate::intervals::counts::RunCounts;
use crate::intervals::interval::Reason;
use crate::profile::{Bin, Closure, LeftOut, Overhead, PROFILE_VERSION, Profile, Stops};
use crate::rounds::other_rounds;
use crate::sums::Sums;
use crate::sums::histogram::Histogram;
use crate::sums::moments::{fraction, mean, standard_deviation};
use crate::sums::node_names::NodeNames;
use crate::sums::parts::VarianceTree;
use crate::sums::paths::PROBES;
use crate::sums::self_cost::Measured;
use crate::sums::shares;
use crate::sums::vectors::ProbeCost;

/// Percentiles of the profile, by name.
pub(crate) const PERCENTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
];

/// The profile.
pub fn profile(inputs: &Inputs<'_>) -> Profile {
    let total = inputs.round.sums.blocks.total();
    let mut profile = latency(inputs, &total);
    explain(&mut profile, inputs, &total);
    profile.sampling = sampling::sampling(inputs);
    slow::add(&mut profile, inputs.slow, inputs.options.ticks_per_ns);
    chains::add(&mut profile.findings, inputs);
    profile.warnings = cautions::cautions(&profile, inputs, &total);
    if let Some(facts) = inputs.facts {
        finish::finish(&mut profile, facts);
    }
    profile
}

/// What was profiled and how the latency is distributed, without what explains it.
fn latency(inputs: &Inputs<'_>, total: &Sums) -> Profile {
    let Inputs { run, options, .. } = *inputs;
    let sums = &inputs.round.sums;
    let ticks_per_ns = options.ticks_per_ns;
    let sd_ns = standard_deviation(total.latency_moment(), total.intervals) / ticks_per_ns;
    Profile {
        version: PROFILE_VERSION,
        target: options.target.clone(),
        interval: options.interval.clone(),
        intervals: total.kept,
        discarded: run.discarded.iter().sum(),
        discarded_by_reason: discarded_by_reason(run),
        intervals_seen: run.seen,
        mean_ns: mean(total.latency, total.intervals) / ticks_per_ns,
        sd_ns,
        variance_ns2: sd_ns * sd_ns,
        percentiles_ns: percentiles(
            |quantile| sums.histogram.quantile(quantile),
            sums.histogram.latency_max(),
            ticks_per_ns,
        ),
        histogram: bins(&sums.histogram, ticks_per_ns),
        closure: Closure {
            max_abs_error_ticks: run.closure_error_max,
            intervals: run.closure_checked,
        },
        overhead: overhead(total, inputs.cost, sums.self_cost.measured(), ticks_per_ns),
        round: inputs.round_index + 1,
        rounds: inputs.rounds.clone(),
        rounds_together: rounds_together(inputs),
        ..Profile::default()
    }
}

/// What explains the latency: tree, factors, findings, classes and, where waits are followed, what the time was.
fn explain(profile: &mut Profile, inputs: &Inputs<'_>, total: &Sums) {
    let Inputs { round, options, .. } = *inputs;
    let (blocks, histogram) = (&round.sums.blocks, &round.sums.histogram);
    let ticks_per_ns = options.ticks_per_ns;
    let names = NodeNames::new(&round.paths, inputs.sites).with_classes(inputs.classes);
    let tree = VarianceTree::new(names, total);
    profile.unpatched = untimed::unpatched(inputs, &tree);
    let not_opened = match inputs.facts {
        Some(_) => NotOpened::of(inputs.sites, &profile.unpatched),
        None => NotOpened::default(),
    };
    let tree = tree.with_not_opened(&not_opened);
    let selection = Selection {
        k: options.k,
        threshold: options.threshold,
        exponent: options.specificity,
    };
    let ranked = factors::factors(&tree, blocks, selection);
    let elsewhere =
        other_rounds::seen_elsewhere(&tree, &inputs.elsewhere, inputs.sites, ticks_per_ns);
    let found = findings::findings(
        &tree,
        round,
        inputs.classes,
        &ranked,
        &elsewhere,
        options.threshold,
        ticks_per_ns,
    );
    profile.over_time = over_time::over_time(
        &round.sums.over_time,
        &found.of_node,
        found.findings.len(),
        ticks_per_ns,
    );
    (profile.findings, profile.uncovered) = (found.findings, found.uncovered);
    profile.factors = ranked.into_iter().map(|ranked| ranked.factor).collect();
    profile.trades = factors::trades(&tree, blocks, options.threshold.max(findings::FINDING_MIN));
    profile.cohorts = cohorts::cohorts(&tree, histogram, ticks_per_ns);
    profile.seen_elsewhere = elsewhere.into_iter().map(|found| found.seen).collect();
    profile.classes = classes::classes(&tree, inputs);
    profile.attributes =
        attribute_lines::attributes(total, blocks, inputs.attributes, ticks_per_ns);
    profile.tree = shares::tree(&tree, blocks, histogram, ticks_per_ns);
    if inputs.follows_waits {
        profile.time_spent = breakdown::summary(&tree, ticks_per_ns);
        profile.waits = waits::waits(&tree, &round.waits, ticks_per_ns);
    }
    profile.timelines = timelines::timelines(&tree, inputs);
    profile.slowest = timelines::slowest(inputs);
}

/// Numbers of the rounds that a profile rests on, where they are several.
fn rounds_together(inputs: &Inputs<'_>) -> Vec<usize> {
    let together = inputs.together.filter(|together| together.rounds.len() > 1);
    together.map_or_else(Vec::new, |together| {
        together.rounds.iter().map(|index| index + 1).collect()
    })
}

fn discarded_by_reason(run: &RunCounts) -> BTreeMap<LeftOut, u64> {
    let counted = Reason::ALL
        .iter()
        .zip(run.discarded)
        .filter(|&(_, count)| count > 0);
    counted
        .map(|(&reason, count)| (LeftOut::Known(reason), count))
        .collect()
}

fn percentiles(
    quantile_of: impl Fn(f64) -> f64,
    max_ticks: u64,
    ticks_per_ns: f64,
) -> BTreeMap<String, f64> {
    let named = PERCENTILES
        .iter()
        .map(|&(name, quantile)| (name, quantile_of(quantile)));
    let max = ("max", max_ticks as f64);
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

/// Whether a measured overhead says more than that the profiler could not tell: it is known to within
/// [`OVERHEAD_HIGH`], or it is beyond chance more than the error.
fn is_close(measured: &Measured) -> bool {
    let error = measured.se.map_or(f64::INFINITY, |se| 2.0 * se);
    error <= OVERHEAD_HIGH || measured.fraction >= 2.0 * error
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
        measured_fraction: measured.filter(is_close).map(|it| it.fraction),
        measured_se: measured.and_then(|measured| measured.se),
        // The session knows.
        traps: 0,
        trapping_fraction: 0.0,
        stops: Stops::default(),
    }
}
