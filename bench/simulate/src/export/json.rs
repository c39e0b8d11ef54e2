//! Results as JSON lines.

use evenkeel_locks::{DeadlockPolicy, SetSizes, Starvation};
use serde::Serialize;

use super::Report;
use crate::config::Remaining;
use crate::latency::Latency;
use crate::outcome::{SizeError, Window, schedule_name};
use crate::replicated::{HalfWidths, Relative};
use crate::workload::{Tpcc, Workload};
use crate::{Arrivals, Case};

#[derive(Serialize)]
struct Line<'a> {
    config: ConfigJson,
    schedule: String,
    #[serde(flatten)]
    latency: &'a Latency,
    #[serde(flatten)]
    window: &'a Window,
    rejected: u64,
    unfinished: u32,
    unfinished_age_max: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<ClassJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_error: Option<SizeError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_widths: Option<HalfWidths>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<Relative>,
}

#[derive(Serialize)]
struct ClassJson<'a> {
    class: &'a str,
    #[serde(flatten)]
    latency: &'a Latency,
}

/// A configuration in results. Times are in `unit`, rates per second or per epoch.
#[derive(Serialize)]
struct ConfigJson {
    seed: u64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    arrivals: String,
    clients: Option<u32>,
    rate: Option<f64>,
    cpus: Option<u32>,
    transactions: u64,
    warmup: u64,
    objects: Option<u32>,
    theta: Option<f64>,
    order: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warehouses: Option<u32>,
    classes: Vec<String>,
    deadlocks: &'static str,
    starvation: String,
    sizes: &'static str,
    remaining: &'static str,
    backoff: f64,
    in_flight_limit: u32,
}

/// A JSON object a line. With several seeds `seeds` is their number, and `half_widths` has the half widths of 95 %
/// confidence intervals; with a baseline `relative` has the ratios to it.
pub fn json(report: &Report<'_>) -> String {
    let lines = report.rows().iter().map(|row| {
        let outcome = row.pooled();
        let line = Line {
            config: config_json(row.case),
            schedule: schedule_name(outcome.schedule),
            latency: &outcome.latency,
            window: &outcome.window,
            rejected: outcome.rejected,
            unfinished: outcome.unfinished,
            unfinished_age_max: outcome.unfinished_age_max,
            classes: outcome
                .classes
                .iter()
                .map(|(class, latency)| ClassJson { class, latency })
                .collect(),
            size_error: outcome.size_error,
            seeds: (row.outcomes.len() > 1).then_some(row.outcomes.len()),
            half_widths: row.half_widths(),
            relative: report.relative(row),
        };
        serde_json::to_string(&line).expect("numbers and strings are JSON") + "\n"
    });
    lines.collect()
}

fn config_json(case: &Case) -> ConfigJson {
    let config = &case.config;
    let (clients, rate) = match config.arrivals {
        Arrivals::Closed { clients } => (Some(clients), None),
        Arrivals::Poisson { rate } | Arrivals::Bursty { rate, .. } => (None, Some(rate)),
    };
    let (drawn, tpcc) = match &config.workload {
        Workload::Drawn(drawn) => (Some(drawn), None),
        Workload::Tpcc(tpcc) => (None, Some(tpcc)),
        Workload::Listed(_) => (None, None),
    };
    let load = case
        .point
        .filter(|(parameter, _)| *parameter == crate::axis::Parameter::Load);
    ConfigJson {
        seed: config.seed,
        unit: config.unit.name(),
        load: load.map(|(_, value)| value),
        arrivals: match config.arrivals {
            Arrivals::Closed { .. } => "closed".to_owned(),
            Arrivals::Poisson { .. } => "poisson".to_owned(),
            Arrivals::Bursty { factor, on, .. } => format!("bursty:{factor}:{on}"),
        },
        clients,
        rate,
        cpus: config.cpus,
        transactions: config.transactions,
        warmup: config.warmup,
        objects: drawn.map(|drawn| drawn.objects),
        theta: drawn.map(|drawn| drawn.theta),
        order: drawn.map(|drawn| drawn.order.name()),
        warehouses: tpcc.map(|tpcc| tpcc.warehouses),
        classes: match &config.workload {
            Workload::Drawn(drawn) => drawn.classes.iter().map(describe_class).collect(),
            Workload::Tpcc(tpcc) => Tpcc::CLASSES
                .iter()
                .map(|(name, share)| {
                    let statement = tpcc.statement.describe();
                    format!("{name}: weight {share}, statement {statement}")
                })
                .collect(),
            Workload::Listed(_) => Vec::new(),
        },
        deadlocks: DeadlockPolicy::NAMED
            .into_iter()
            .find(|(_, policy)| *policy == config.deadlocks)
            .map_or("", |(name, _)| name),
        starvation: starvation_name(config.rules(case.schedule).starvation),
        sizes: if config.sizes == SetSizes::Exact {
            "exact"
        } else {
            "approximate"
        },
        remaining: if config.remaining == Remaining::Known {
            "known"
        } else {
            "learned"
        },
        backoff: config.backoff,
        in_flight_limit: config.in_flight_limit,
    }
}

fn describe_class(class: &crate::workload::Class) -> String {
    let last = class
        .last_work
        .as_ref()
        .map_or(String::new(), |work| format!(", last {}", work.describe()));
    format!(
        "{}: weight {}, {} locks, {} exclusive, work {}{last}",
        class.name,
        class.weight,
        class.locks,
        class.exclusive,
        class.work.describe()
    )
}

fn starvation_name(starvation: Starvation) -> String {
    match starvation {
        Starvation::None => "none".to_owned(),
        Starvation::Barrier => "barrier".to_owned(),
        Starvation::Ageing { size_per_ns } => format!("ageing:{size_per_ns}"),
        Starvation::BoundedBypass { overtakes_max } => format!("bypass:{overtakes_max}"),
    }
}
