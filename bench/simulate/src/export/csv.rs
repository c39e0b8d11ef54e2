//! Results as comma-separated values.

use super::Report;
use crate::outcome::schedule_name;
use crate::replicated::Replicated;

/// A header and a line a result.
pub fn csv(report: &Report<'_>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let lines: Vec<_> = report.rows().iter().map(record).collect();
    if let Some(first) = lines.first() {
        let names = first.iter().map(|(name, _)| name);
        out.write_record(names).expect("memory takes all");
    }
    for line in &lines {
        let values = line.iter().map(|(_, value)| value);
        out.write_record(values).expect("memory takes all");
    }
    let bytes = out.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("names and numbers are text")
}

/// The columns. Half widths are those of 95 % confidence intervals over the seeds, empty if there is one seed.
fn record(row: &Replicated<'_>) -> [(&'static str, String); 28] {
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
        ("parameter", parameter.to_owned()),
        ("value", value),
        ("schedule", schedule_name(outcome.schedule)),
        ("count", latency.count.to_string()),
        ("mean", latency.mean.to_string()),
        ("sd", latency.sd.to_string()),
        ("p50", latency.p50.to_string()),
        ("p95", latency.p95.to_string()),
        ("p99", latency.p99.to_string()),
        ("p999", latency.p999.to_string()),
        ("max", latency.max.to_string()),
        ("throughput", window.throughput.to_string()),
        ("deadlocks", window.deadlocks.to_string()),
        ("aborts", window.aborts.to_string()),
        ("in_flight_max", window.in_flight_max.to_string()),
        ("in_flight_mean", window.in_flight_mean.to_string()),
        ("queue_mean", window.queue_mean.to_string()),
        ("decisions", window.decisions.to_string()),
        ("grants", window.grants.to_string()),
        ("waits", window.waits.to_string()),
        ("rejected", outcome.rejected.to_string()),
        ("unfinished", outcome.unfinished.to_string()),
        ("seeds", row.outcomes.len().to_string()),
        ("mean_half_width", mean_half),
        ("sd_half_width", sd_half),
        ("p99_half_width", p99_half),
        ("p999_half_width", p999_half),
        ("throughput_half_width", throughput_half),
    ]
}
