//! Which reasons for caution a profile has.

use crate::findings::warnings::{self, Warning};
use crate::inputs::Inputs;
use crate::intervals::assembler::reader::Lost;
use crate::intervals::counts::RunCounts;
use crate::intervals::interval::Reason;
use crate::profile::Profile;
use crate::rounds::combine::LoadPart;
use crate::sums::Sums;
use crate::sums::moments::fraction;
use crate::sums::paths::{PROBES, ROOT};

/// All of them: of the sample first, then of what was left out of it, of what profiling cost, and of what is rough.
pub(super) fn cautions(profile: &Profile, inputs: &Inputs<'_>, total: &Sums) -> Vec<Warning> {
    let sample = sample(profile, total).into_iter();
    let lost_ns = inputs.lost.ticks as f64 / inputs.options.ticks_per_ns;
    let lost = (inputs.lost.intervals, lost_ns);
    sample
        .chain(left_out(inputs.run, inputs.lost))
        .chain(loss_bias(profile.mean_ns, total.intervals, lost))
        .chain(closure_error(inputs))
        .chain(overhead(profile))
        .chain(probe_share(total))
        .chain(few_blocks(profile, inputs))
        .chain(bounded(inputs))
        .chain(loads(inputs))
        .collect()
}

/// Too few intervals, or none that differ.
fn sample(profile: &Profile, total: &Sums) -> Vec<Warning> {
    let intervals = profile.intervals;
    let few = (1..warnings::INTERVALS_FEW).contains(&intervals);
    let found = [
        (intervals == 0).then_some(Warning::NoIntervals),
        few.then_some(Warning::FewIntervals(intervals)),
        (intervals > 1 && total.latency_moment() <= 0.0).then_some(Warning::NoVariance),
    ];
    found.into_iter().flatten().collect()
}

/// Intervals that are not in the sums. What was lost under other plans than those that the profile rests on, which lost
/// `lost`, is not missing in it.
fn left_out(run: &RunCounts, lost: Lost) -> Option<Warning> {
    let elsewhere = run.lost.intervals.saturating_sub(lost.intervals);
    let left_out = |reason: Reason| match reason {
        Reason::RecordsLost => run.discarded[reason as usize].saturating_sub(elsewhere),
        _ => run.discarded[reason as usize],
    };
    let of_all = |intervals: u64| {
        let all = run.represented.saturating_sub(elsewhere);
        fraction(intervals as f64, all as f64)
    };
    let discarded = of_all(Reason::ALL.into_iter().map(left_out).sum());
    let most = Reason::ALL
        .into_iter()
        .max_by_key(|&reason| left_out(reason))
        .unwrap_or(Reason::Malformed);
    let left_early = of_all(left_out(Reason::LeftEarly));
    if discarded > warnings::DISCARDED_HIGH {
        return Some(Warning::Discarded {
            fraction: discarded,
            reason: most,
        });
    }
    (left_early > warnings::LEFT_EARLY_HIGH).then_some(Warning::Discarded {
        fraction: left_early,
        reason: Reason::LeftEarly,
    })
}

/// Which intervals lose records may depend on how long they take: those that fill their ring are the long ones.
/// `kept_ns`: mean latency of the `kept` intervals; those that lost records took `lost_ns` together.
fn loss_bias(kept_ns: f64, kept: u64, (lost, lost_ns): (u64, f64)) -> Option<Warning> {
    let mean_ns = (kept_ns * kept as f64 + lost_ns) / (kept + lost).max(1) as f64;
    let bias = fraction(mean_ns - kept_ns, kept_ns);
    (kept > 0 && bias.abs() > warnings::LOSS_BIAS_HIGH).then(|| Warning::LossDependsOnLatency {
        intervals: lost,
        lost_ns: lost_ns / lost.max(1) as f64,
        kept_ns,
        mean_ns,
    })
}

fn closure_error(inputs: &Inputs<'_>) -> Option<Warning> {
    let ticks = inputs.run.closure_error_max;
    (ticks > 0).then_some(Warning::ClosureError(ticks))
}

/// A measurement that could be chance says less than the estimate.
fn overhead(profile: &Profile) -> Option<Warning> {
    let overhead = &profile.overhead;
    let measured = overhead
        .measured_fraction
        .filter(|&fraction| fraction > 2.0 * overhead.measured_se.unwrap_or(fraction));
    let fraction = measured.unwrap_or(overhead.estimated_fraction);
    let measured = measured.is_some();
    (fraction > warnings::OVERHEAD_HIGH).then_some(Warning::Overhead { fraction, measured })
}

fn probe_share(total: &Sums) -> Option<Warning> {
    let share = fraction(
        total.inclusive_latency_moment(PROBES),
        total.inclusive_latency_moment(ROOT),
    );
    (share > warnings::PROBE_SHARE_HIGH).then_some(Warning::ProbeShare(share))
}

/// Standard errors rest on blocks.
fn few_blocks(profile: &Profile, inputs: &Inputs<'_>) -> Option<Warning> {
    let blocks = inputs.round.sums.blocks.blocks().len();
    let few = profile.intervals > 0 && blocks < warnings::BLOCKS_FEW;
    few.then_some(Warning::FewBlocks(blocks))
}

/// Warnings about records beyond the bounds of the tree, and of memory.
fn bounded(inputs: &Inputs<'_>) -> Vec<Warning> {
    let (folded, dropped) = (inputs.round.paths.folded(), inputs.run.dropped);
    let found = [
        (folded > 0).then_some(Warning::Folded(folded)),
        (dropped > 0).then_some(Warning::Dropped(dropped)),
    ];
    found.into_iter().flatten().collect()
}

/// A change of the load that lasted.
fn loads(inputs: &Inputs<'_>) -> Option<Warning> {
    let change = inputs.together?.change?;
    let part = |part: LoadPart| warnings::LoadPart {
        intervals: part.intervals,
        mean_ns: part.mean / inputs.options.ticks_per_ns,
        sd_ns: part.deviation / inputs.options.ticks_per_ns,
    };
    let (before, after) = (part(change.before), part(change.after));
    let all = before.intervals + after.intervals;
    let least = before.intervals.min(after.intervals);
    let is_much = fraction(least as f64, all as f64) >= warnings::CHANGED_HIGH;
    is_much.then_some(Warning::LoadChanged { before, after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Overhead;
    use crate::sums::NodeSums;

    /// More than 3 % is pointed out: as measured where that is beyond chance, otherwise as estimated.
    #[test]
    fn what_probes_cost_is_pointed_out() {
        let of = |estimated_fraction, measured: Option<(f64, f64)>| {
            let profile = Profile {
                overhead: Overhead {
                    estimated_fraction,
                    measured_fraction: measured.map(|(fraction, _)| fraction),
                    measured_se: measured.map(|(_, se)| se),
                    ..Overhead::default()
                },
                ..Profile::default()
            };
            overhead(&profile)
        };
        let warning = |fraction, measured| Some(Warning::Overhead { fraction, measured });
        assert_eq!(of(0.02, None), None);
        assert_eq!(of(0.04, None), warning(0.04, false));
        assert_eq!(of(0.02, Some((0.1, 0.01))), warning(0.1, true));
        assert_eq!(of(0.02, Some((0.1, 0.08))), None, "it may be chance");
        assert_eq!(of(0.04, Some((0.02, 0.001))), None, "measured");
    }

    /// Of a thousand intervals more than ten. Those that were lost in rounds that the profile does not rest on do not
    /// count.
    #[test]
    fn what_was_left_out_is_pointed_out() {
        let of = |malformed, lost, lost_here| {
            let mut run = RunCounts {
                represented: 1000,
                ..RunCounts::default()
            };
            run.discarded[Reason::Malformed as usize] = malformed;
            run.discarded[Reason::RecordsLost as usize] = lost;
            run.lost.intervals = lost;
            let lost = Lost {
                intervals: lost_here,
                ..Lost::default()
            };
            left_out(&run, lost)
        };
        assert_eq!(of(10, 0, 0), None);
        let (fraction, reason) = (0.011, Reason::Malformed);
        assert_eq!(of(11, 0, 0), Some(Warning::Discarded { fraction, reason }));
        let reason = Reason::RecordsLost;
        assert_eq!(of(0, 11, 11), Some(Warning::Discarded { fraction, reason }));
        assert_eq!(of(0, 11, 0), None);
    }

    /// Of a thousand intervals two that were left early, where one more than 1 % would be too much of any other reason.
    #[test]
    fn intervals_that_were_left_early_are_pointed_out_sooner() {
        let of = |early, malformed| {
            let mut run = RunCounts {
                represented: 1000,
                ..RunCounts::default()
            };
            run.discarded[Reason::LeftEarly as usize] = early;
            run.discarded[Reason::Malformed as usize] = malformed;
            left_out(&run, Lost::default())
        };
        let warning = |fraction, reason| Some(Warning::Discarded { fraction, reason });
        assert_eq!(of(1, 0), None);
        assert_eq!(of(2, 0), warning(0.002, Reason::LeftEarly));
        assert_eq!(of(2, 8), warning(0.002, Reason::LeftEarly));
        assert_eq!(of(2, 9), warning(0.011, Reason::Malformed));
    }

    /// A thousand intervals of 100 ns are kept. Twenty others make the mean of all 102 ns, or leave it.
    #[test]
    fn a_mean_that_the_lost_would_change_is_pointed_out() {
        let mean_ns = |lost| match loss_bias(100.0, 1000, lost) {
            Some(Warning::LossDependsOnLatency { mean_ns, .. }) => Some(mean_ns),
            _ => None,
        };
        assert_eq!(mean_ns((20, 4040.0)), Some(102.0));
        assert_eq!(mean_ns((20, 2500.0)), None);
        assert_eq!(loss_bias(0.0, 0, (20, 4040.0)), None);
    }

    /// All of the variance is the interval's, and a fiftieth or a two-hundredth of it lies in probes.
    #[test]
    fn a_variance_of_probes_is_pointed_out() {
        let of = |in_probes: i128| {
            let mut total = Sums {
                intervals: 2,
                latency: 200,
                nodes: vec![NodeSums::default(); 2],
                ..Sums::default()
            };
            // Latencies of 0 and 200.
            total.nodes[ROOT as usize].inclusive = 200;
            total.nodes[ROOT as usize].inclusive_latency = 40_000;
            total.nodes[PROBES as usize].inclusive = in_probes;
            total.nodes[PROBES as usize].inclusive_latency = 200 * in_probes;
            probe_share(&total)
        };
        assert_eq!(of(1), None);
        assert_eq!(of(4), Some(Warning::ProbeShare(0.02)));
    }
}
