//! Results as JSON lines, CSV and a table.

use std::fmt::Write;

use evenkeel_locks::{DeadlockPolicy, ScheduleKind, SetSizes, Starvation, Victim};
use serde::Serialize;

use crate::config::{Remaining, Unit};
use crate::latency::Latency;
use crate::outcome::{SizeError, Window, schedule_name};
use crate::workload::Workload;
use crate::{Arrivals, Case, Outcome};

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
}

#[derive(Serialize)]
struct ClassJson<'a> {
    class: &'a str,
    #[serde(flatten)]
    latency: &'a Latency,
}

/// A configuration as it stands in results. Times are in `unit`, rates per second or per epoch.
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
    classes: Vec<String>,
    deadlocks: &'static str,
    starvation: String,
    sizes: &'static str,
    remaining: &'static str,
    backoff: f64,
    in_flight_limit: u32,
}

/// One line of JSON, without the line's end.
pub fn json(case: &Case, outcome: &Outcome) -> String {
    let class = |(name, latency): &'_ (&'static str, Latency)| (*name, *latency);
    let classes: Vec<(&str, Latency)> = outcome.classes.iter().map(class).collect();
    let line = Line {
        config: config_json(case),
        schedule: schedule_name(outcome.schedule),
        latency: &outcome.latency,
        window: &outcome.window,
        rejected: outcome.rejected,
        unfinished: outcome.unfinished,
        unfinished_age_max: outcome.unfinished_age_max,
        classes: classes
            .iter()
            .map(|(class, latency)| ClassJson { class, latency })
            .collect(),
        size_error: outcome.size_error,
    };
    serde_json::to_string(&line).expect("numbers and strings are JSON")
}

fn config_json(case: &Case) -> ConfigJson {
    let config = &case.config;
    let (clients, rate) = match config.arrivals {
        Arrivals::Closed { clients } => (Some(clients), None),
        Arrivals::Poisson { rate } | Arrivals::Bursty { rate, .. } => (None, Some(rate)),
    };
    let drawn = match &config.workload {
        Workload::Drawn(drawn) => Some(drawn),
        Workload::Listed(_) => None,
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
        classes: drawn.map_or(Vec::new(), |drawn| {
            drawn.classes.iter().map(describe_class).collect()
        }),
        deadlocks: deadlocks_name(config.deadlocks),
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

/// The name of a deadlock policy, as the command line takes it.
pub(crate) fn deadlocks_name(policy: DeadlockPolicy) -> &'static str {
    match policy {
        DeadlockPolicy::Detect(Victim::Youngest) => "youngest",
        DeadlockPolicy::Detect(Victim::FewestLocks) => "fewest-locks",
        DeadlockPolicy::Detect(Victim::SmallestDependencySet) => "smallest-set",
        DeadlockPolicy::WaitDie => "wait-die",
        DeadlockPolicy::WoundWait => "wound-wait",
        DeadlockPolicy::NoWait => "no-wait",
    }
}

fn starvation_name(starvation: Starvation) -> String {
    match starvation {
        Starvation::Unprevented => "none".to_owned(),
        Starvation::Barrier => "barrier".to_owned(),
        Starvation::Ageing { size_per_ns } => format!("ageing:{size_per_ns}"),
        Starvation::BoundedBypass { overtakes_max } => format!("bypass:{overtakes_max}"),
    }
}

/// The columns of [`csv`].
pub const CSV_HEADER: &str = "parameter,value,schedule,count,mean,sd,p50,p95,p99,p999,max,throughput,deadlocks,aborts,\
in_flight_max,in_flight_mean,queue_mean,decisions,grants,waits,rejected,unfinished";

/// One line of CSV, without the line's end.
pub fn csv(case: &Case, outcome: &Outcome) -> String {
    let (latency, window) = (&outcome.latency, &outcome.window);
    let (parameter, value) = case.point.map_or(("", String::new()), |(p, value)| {
        (p.name(), value.to_string())
    });
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
    ]
    .join(",")
}

/// A time in ticks as a person reads it.
pub(crate) fn time(ticks: f64, unit: Unit) -> String {
    if unit == Unit::Epoch {
        return number(ticks);
    }
    let (scaled, unit) = match ticks {
        t if t >= 1e9 => (t / 1e9, "s"),
        t if t >= 1e6 => (t / 1e6, "ms"),
        t if t >= 1e3 => (t / 1e3, "us"),
        t => (t, "ns"),
    };
    format!("{} {unit}", number(scaled))
}

/// Three or four significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// All results as text, a block of lines for each value of the parameter. `gain` is FIFO's mean latency over the
/// schedule's, if FIFO is there.
pub fn table(cases: &[Case], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut blocks = cases.iter().zip(outcomes).peekable();
    while let Some((first, _)) = blocks.peek() {
        let (point, unit) = (first.point, first.config.unit);
        let mut block = Vec::new();
        while let Some((_, outcome)) = blocks.next_if(|(case, _)| case.point == point) {
            block.push(outcome);
        }
        if let Some((parameter, value)) = point {
            writeln!(text, "{} = {value}", parameter.name()).expect("a string takes all");
        }
        text += &block_table(&block, unit);
        text.push('\n');
    }
    text
}

fn block_table(outcomes: &[&Outcome], unit: Unit) -> String {
    let fifo = outcomes
        .iter()
        .find(|outcome| outcome.schedule == ScheduleKind::Fifo);
    let per = if unit == Unit::Epoch {
        "commits/epoch"
    } else {
        "commits/s"
    };
    let header = [
        "schedule",
        "mean",
        "gain",
        "sd",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "max",
        per,
        "queue",
        "deadlocks",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for outcome in outcomes {
        let (latency, window) = (&outcome.latency, &outcome.window);
        let gain = fifo
            .filter(|_| latency.mean > 0.0)
            .map(|fifo| fifo.latency.mean / latency.mean);
        rows.push([
            schedule_name(outcome.schedule),
            time(latency.mean, unit),
            gain.map_or("-".to_owned(), |gain| format!("{gain:.2}x")),
            time(latency.sd, unit),
            time(latency.p50 as f64, unit),
            time(latency.p95 as f64, unit),
            time(latency.p99 as f64, unit),
            time(latency.p999 as f64, unit),
            time(latency.max as f64, unit),
            number(window.throughput),
            number(window.queue_mean),
            window.deadlocks.to_string(),
        ]);
    }
    let mut text = align(&rows);
    for outcome in outcomes.iter().filter(|outcome| outcome.rejected > 0) {
        let name = schedule_name(outcome.schedule);
        writeln!(
            text,
            "{name}: {} arrivals rejected at the limit in flight",
            outcome.rejected
        )
        .expect("a string takes all");
    }
    text
}

/// The first column to the left, the others to the right.
fn align<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(at, (cell, width))| {
                if at == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("  {cell:>width$}")
                }
            });
        text += cells.collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(time(12_345_678.0, Unit::Nanosecond), "12.3 ms");
        assert_eq!(time(950.0, Unit::Nanosecond), "950 ns");
        assert_eq!(time(12.0, Unit::Epoch), "12.0");
    }

    #[test]
    fn every_csv_line_has_as_many_fields_as_the_header() {
        let config = crate::Config {
            transactions: 10,
            warmup: 0,
            ..crate::Config::micro()
        };
        let outcome = crate::run(&config, ScheduleKind::Fifo).expect("a sound setting");
        let case = Case {
            config,
            schedule: ScheduleKind::Fifo,
            point: None,
        };
        assert_eq!(
            csv(&case, &outcome).split(',').count(),
            CSV_HEADER.split(',').count()
        );
    }
}
