//! Results as comma-separated values.

use super::Report;
use crate::outcome::schedule_name;
use crate::replicated::Replicated;

/// The names of the columns. Half widths are those of 95 % confidence intervals over the seeds, empty if there is one seed.
const HEADER: [&str; 28] = [
    "parameter",
    "value",
    "schedule",
    "count",
    "mean",
    "sd",
    "p50",
    "p95",
    "p99",
    "p999",
    "max",
    "throughput",
    "deadlocks",
    "aborts",
    "in_flight_max",
    "in_flight_mean",
    "queue_mean",
    "decisions",
    "grants",
    "waits",
    "rejected",
    "unfinished",
    "seeds",
    "mean_half_width",
    "sd_half_width",
    "p99_half_width",
    "p999_half_width",
    "throughput_half_width",
];

/// A header and a line a result.
pub fn csv(report: &Report<'_>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let lines = report.rows().iter().map(record);
    out.write_record(HEADER).expect("memory takes all");
    lines.for_each(|line| out.write_record(line).expect("memory takes all"));
    let bytes = out.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("names and numbers are text")
}

fn record(row: &Replicated<'_>) -> [String; HEADER.len()] {
    let outcome = row.pooled();
    let (latency, window) = (&outcome.latency, &outcome.window);
    let (parameter, value) = row.case.point.map_or(("", String::new()), |(p, value)| {
        (p.name(), value.to_string())
    });
    let half_widths = row
        .half_widths()
        .map_or([const { String::new() }; 5], |half| {
            [half.mean, half.sd, half.p99, half.p999, half.throughput]
                .map(|width| width.to_string())
        });
    let [mean_half, sd_half, p99_half, p999_half, throughput_half] = half_widths;
    [
        parameter.to_owned(),
        value,
        schedule_name(outcome.schedule),
        latency.count.to_string(),
        latency.mean.to_string(),
        latency.sd.to_string(),
        latency.p50.to_string(),
        latency.p95.to_string(),
        latency.p99.to_string(),
        latency.p999.to_string(),
        latency.max.to_string(),
        window.throughput.to_string(),
        window.deadlocks.to_string(),
        window.aborts.to_string(),
        window.in_flight_max.to_string(),
        window.in_flight_mean.to_string(),
        window.queue_mean.to_string(),
        window.decisions.to_string(),
        window.grants.to_string(),
        window.waits.to_string(),
        outcome.rejected.to_string(),
        outcome.unfinished.to_string(),
        row.outcomes.len().to_string(),
        mean_half,
        sd_half,
        p99_half,
        p999_half,
        throughput_half,
    ]
}
