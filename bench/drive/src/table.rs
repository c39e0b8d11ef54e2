//! The result as a table for a person.

use std::fmt::Write as _;

use evenkeel_report::units;
use serde_json::Value;

use crate::metrics::ALL;
use crate::report::{Consistency, Report, TypeReport};
use crate::round_trip::RoundTripReport;

/// Shown instead of a mean over a growing queue.
pub(crate) const GROWS: &str = "grows";

/// The result for a person.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    let mut put =
        |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a string takes all");
    put(format_args!("{} on {}", report.workload, report.target));
    for line in described(report) {
        put(format_args!("  {line}"));
    }
    put(format_args!(""));
    put(format_args!(
        "{:<24} {:>9} {:>9}  {:>8} {:>8} {:>5}  {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "",
        "count",
        "per s",
        "mean",
        "sd",
        "cv",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "p99.99",
        "max"
    ));
    let others = report.types.iter().filter(|(name, _)| *name != ALL);
    for (name, statistics) in others.chain(report.types.get_key_value(ALL)) {
        put(format_args!(
            "{}",
            row(name, statistics, report.queue_grows)
        ));
    }
    put(format_args!(""));
    let (queue, service) = (report.all().queue_mean_ns, report.all().service_mean_ns);
    let offered = report
        .offered_per_s
        .map_or(String::new(), |rate| format!("{rate:.0} offered, "));
    put(format_args!(
        "{offered}{:.0} done per second; of the mean, {} queueing and {} service",
        report.throughput_per_s,
        mean(queue, report.queue_grows),
        units::duration(service)
    ));
    if let Some(trips) = &report.round_trips {
        put(format_args!("{}", round_trips(trips)));
    }
    put(format_args!("{}", counts(report)));
    grants(report)
        .iter()
        .for_each(|line| put(format_args!("{line}")));
    match &report.consistency {
        Consistency::Unchecked => put(format_args!("consistency: not checked")),
        Consistency::Checked(wrong) if wrong.is_empty() => put(format_args!("consistency: ok")),
        Consistency::Checked(wrong) => {
            put(format_args!("consistency: VIOLATED"));
            wrong
                .iter()
                .for_each(|violation| put(format_args!("  {violation}")));
        }
    }
    report
        .warnings()
        .iter()
        .for_each(|warning| put(format_args!("note: {warning}")));
    text
}

/// Precision of the timer.
fn round_trips(trips: &RoundTripReport) -> String {
    format!(
        "round trips: {}, {} asked and {} slept in the mean (sd {} and {})",
        units::count(trips.count),
        units::duration(trips.asked_mean_ns),
        units::duration(trips.slept_mean_ns),
        units::duration(trips.asked_sd_ns),
        units::duration(trips.slept_sd_ns)
    )
}

/// Age and remaining time at lock grants, a line a type, where that was asked for.
fn grants(report: &Report) -> Vec<String> {
    let Some(grants) = &report.grants else {
        return Vec::new();
    };
    let heading = format!(
        "{:<24} {:>9} {:>9} {:>9} {:>12}",
        "locks waited for", "count", "age", "remaining", "correlation"
    );
    let rows = grants.iter().map(|(name, of)| {
        let correlation = of
            .correlation
            .map_or("none".to_owned(), |r| format!("{r:.3}"));
        format!(
            "{name:<24} {:>9} {:>9} {:>9} {correlation:>12}",
            of.count,
            units::duration(of.age_mean_ns),
            units::duration(of.remaining_mean_ns)
        )
    });
    std::iter::once(heading).chain(rows).collect()
}

/// The configuration: the load in one line, the data and the settings in another.
fn described(report: &Report) -> [String; 2] {
    let config = &report.config;
    let number = |name: &str| config.get(name).and_then(Value::as_f64).unwrap_or_default();
    let word = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut load = if word("loop") == "open" {
        let part = match config.get("load").and_then(Value::as_f64) {
            Some(load) => format!(
                " ({:.0} % of the saturation, {:.1} per s)",
                100.0 * load,
                number("saturation_per_s")
            ),
            None => String::new(),
        };
        format!(
            "open loop, {} arrivals, {:.1} per s{part}",
            word("arrivals"),
            number("rate_per_s")
        )
    } else {
        "closed loop".to_owned()
    };
    write!(
        load,
        ", {} clients, {} s after {} s",
        number("clients"),
        number("for_s"),
        number("warmup_s")
    )
    .expect("a string takes all");
    let pairs = |name: &str| {
        config
            .get(name)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    };
    let pairs = pairs("options").chain(pairs("settings"));
    let pairs = pairs.map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or_default()));
    [load, pairs.collect::<Vec<_>>().join(", ")]
}

/// A growing queue has no mean.
fn mean(ns: f64, queue_grows: bool) -> String {
    if queue_grows {
        GROWS.to_owned()
    } else {
        units::duration(ns)
    }
}

fn row(name: &str, statistics: &TypeReport, queue_grows: bool) -> String {
    let time = |ns: f64| units::duration(ns);
    let TypeReport {
        count,
        throughput_per_s,
        mean_ns,
        sd_ns,
        cv,
        ..
    } = *statistics;
    let mut line = format!(
        "{name:<24} {:>9} {throughput_per_s:>9.1}  {:>8} {:>8} {cv:>5.2} ",
        units::count(count),
        mean(mean_ns, queue_grows),
        time(sd_ns)
    );
    for ns in [
        statistics.p50_ns,
        statistics.p90_ns,
        statistics.p95_ns,
        statistics.p99_ns,
        statistics.p999_ns,
        statistics.p9999_ns,
        statistics.max_ns,
    ] {
        write!(line, " {:>8}", time(ns as f64)).expect("a string takes all");
    }
    line
}

fn counts(report: &Report) -> String {
    let aborts: Vec<String> = report
        .aborts
        .iter()
        .map(|(reason, count)| format!("{reason} {}", units::count(*count)))
        .collect();
    let aborts = if aborts.is_empty() {
        "none".to_owned()
    } else {
        aborts.join(", ")
    };
    format!(
        "aborts: {aborts}; {} retries; {} rejected",
        units::count(report.retries),
        units::count(report.rejected)
    )
}
