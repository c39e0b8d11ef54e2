//! All intervals of the run beside those that the profile rests on.

use super::percentiles;
use crate::inputs::Inputs;
use crate::profile::{NotSeenInside, Sampling, SamplingRule};

/// Nothing without intervals.
pub fn sampling(inputs: &Inputs<'_>) -> Option<Sampling> {
    let latencies = inputs.latencies;
    if latencies.intervals() == 0 {
        return None;
    }
    let histogram = &inputs.round.sums.histogram;
    let ticks_per_ns = inputs.options.ticks_per_ns;
    let missing = latencies.missing_from(histogram);
    let recorded = latencies.recorded();
    let run = inputs.run;
    Some(Sampling {
        seen: latencies.intervals(),
        kept: inputs.round.sums.blocks.kept(),
        recorded: recorded.intervals,
        slowest: recorded.slowest,
        one_in: recorded.one_in,
        rule: match inputs.facts.and_then(|facts| facts.sampling) {
            Some(rule) => rule,
            None if latencies.intervals() <= run.seen => SamplingRule::All,
            None if run.represented > run.seen => SamplingRule::Latency,
            None => SamplingRule::Uniform,
        },
        mean_ns: latencies.mean() / ticks_per_ns,
        sd_ns: latencies.standard_deviation() / ticks_per_ns,
        percentiles_ns: percentiles(
            |quantile| latencies.quantile(quantile),
            latencies.max_ticks(),
            ticks_per_ns,
        ),
        slow_not_seen_inside: NotSeenInside {
            intervals: missing.intervals,
            share: missing.share,
            slower_than_ns: missing.slower_than_ticks as f64 / ticks_per_ns,
        },
    })
}
