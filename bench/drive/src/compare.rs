//! Configurations measured in turn, round after round, and compared within each round.
//!
//! What the machine does meanwhile (its temperature, its neighbours) changes slowly, so it falls out of the ratio of two
//! runs that follow each other. The order rotates from round to round, so that no configuration always follows the same one.

use std::fmt::Write;

use evenkeel_report::units;
use serde_json::{Value, json};

use crate::report::{Consistency, Report};

/// A quantity that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in JSON, that of the same quantity in a report.
    pub name: &'static str,
    /// Heading in the table.
    pub heading: &'static str,
    value: fn(&Report) -> f64,
    show: fn(f64) -> String,
}

/// All of them. Ratios of latencies below one are an improvement, of the throughput above one.
pub const METRICS: [Metric; 6] = [
    Metric {
        name: "throughput_per_s",
        heading: "per s",
        value: |r| r.throughput_per_s,
        show: |v| format!("{v:.1}"),
    },
    Metric {
        name: "mean_ns",
        heading: "mean",
        value: |r| r.all().mean_ns,
        show: units::duration,
    },
    Metric {
        name: "sd_ns",
        heading: "sd",
        value: |r| r.all().sd_ns,
        show: units::duration,
    },
    Metric {
        name: "p50_ns",
        heading: "p50",
        value: |r| r.all().p50_ns as f64,
        show: units::duration,
    },
    Metric {
        name: "p99_ns",
        heading: "p99",
        value: |r| r.all().p99_ns as f64,
        show: units::duration,
    },
    Metric {
        name: "p999_ns",
        heading: "p99.9",
        value: |r| r.all().p999_ns as f64,
        show: units::duration,
    },
];

/// A configuration and what its rounds gave, in order.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What distinguishes it, as the user wrote it.
    pub name: String,
    /// A report a round, none empty.
    pub rounds: Vec<Report>,
}

/// The middle and the ends of some numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// All, in the order of the rounds.
    pub rounds: Vec<f64>,
}

impl Spread {
    /// Of numbers; none of no numbers, or if one of them is not finite.
    #[must_use]
    pub fn of(rounds: Vec<f64>) -> Option<Spread> {
        let mut sorted = rounds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        if !min.is_finite() || !max.is_finite() {
            return None;
        }
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Spread {
            median,
            min,
            max,
            rounds,
        })
    }

    fn json(&self) -> Value {
        json!({"median": self.median, "min": self.min, "max": self.max, "rounds": self.rounds})
    }
}

impl Compared {
    fn values(&self, metric: &Metric) -> Vec<f64> {
        self.rounds.iter().map(metric.value).collect()
    }

    /// The metric in each round divided by the baseline's in the same round.
    #[must_use]
    pub fn ratio(&self, baseline: &Compared, metric: &Metric) -> Option<Spread> {
        let pairs = self.values(metric).into_iter().zip(baseline.values(metric));
        Spread::of(pairs.map(|(own, base)| own / base).collect())
    }

    /// Whether every round left the data as it may be.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.rounds.iter().all(Report::is_consistent)
    }

    fn consistency(&self) -> Value {
        let wrong: Vec<&String> = self
            .rounds
            .iter()
            .filter_map(|round| match &round.consistency {
                Consistency::Checked(wrong) => Some(wrong),
                Consistency::Unchecked => None,
            })
            .flatten()
            .collect();
        let checked = self
            .rounds
            .iter()
            .any(|round| round.consistency != Consistency::Unchecked);
        match (checked, wrong.is_empty()) {
            (false, _) => Value::Null,
            (true, true) => json!("ok"),
            (true, false) => json!(wrong),
        }
    }
}

/// One JSON object a configuration, each on a line; the first is the baseline.
#[must_use]
pub fn json_lines(all: &[Compared]) -> String {
    let mut text = String::new();
    for compared in all {
        let first = &compared.rounds[0];
        let object = |of: &dyn Fn(&Metric) -> Option<Spread>| -> Value {
            let spreads = METRICS.iter().map(|metric| {
                (
                    metric.name.to_owned(),
                    of(metric).map(|spread| spread.json()),
                )
            });
            spreads
                .map(|(name, spread)| (name, spread.unwrap_or(Value::Null)))
                .collect()
        };
        let sum = |count: fn(&Report) -> u64| compared.rounds.iter().map(count).sum::<u64>();
        let line = json!({
            "name": compared.name,
            "baseline": all[0].name,
            "workload": first.workload,
            "target": first.target,
            "config": first.config,
            "rounds": compared.rounds.len(),
            "values": object(&|metric| Spread::of(compared.values(metric))),
            "ratios": object(&|metric| compared.ratio(&all[0], metric)),
            "retries": sum(|round| round.retries),
            "rejected": sum(|round| round.rejected),
            "unfinished": sum(|round| round.unfinished),
            "consistency": compared.consistency(),
        });
        writeln!(text, "{line}").expect("a string takes all");
    }
    text
}

/// The comparison for a person.
#[must_use]
pub fn table(all: &[Compared]) -> String {
    let mut text = String::new();
    let mut put = |line: String| writeln!(text, "{line}").expect("a string takes all");
    let width = all
        .iter()
        .map(|compared| compared.name.chars().count())
        .max()
        .unwrap_or(0)
        .max(8);
    let (baseline, first) = (&all[0], &all[0].rounds[0]);
    put(format!(
        "{}, {} rounds, interleaved",
        first.workload,
        baseline.rounds.len()
    ));
    put(String::new());
    let headings: Vec<String> = METRICS
        .iter()
        .map(|metric| format!("{:>19}", metric.heading))
        .collect();
    put(format!("{:width$}{}", "median", headings.concat()));
    for compared in all {
        let cells = METRICS.iter().map(|metric| {
            let median =
                Spread::of(compared.values(metric)).map(|spread| (metric.show)(spread.median));
            format!("{:>19}", median.unwrap_or_else(|| units::ABSENT.to_owned()))
        });
        put(format!(
            "{:width$}{}",
            compared.name,
            cells.collect::<String>()
        ));
    }
    put(String::new());
    put(format!("{:width$}{}", "ratio", headings.concat()));
    for compared in &all[1..] {
        let cells = METRICS.iter().map(|metric| {
            let ratio = compared.ratio(baseline, metric);
            let cell = ratio
                .map(|ratio| format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max));
            format!("{:>19}", cell.unwrap_or_else(|| units::ABSENT.to_owned()))
        });
        put(format!(
            "{:width$}{}",
            compared.name,
            cells.collect::<String>()
        ));
    }
    put(String::new());
    put(format!(
        "Ratios are to `{}` in the same round: median (least–greatest). Below 1 is better for latencies.",
        baseline.name
    ));
    for compared in all {
        let name = &compared.name;
        match compared.consistency() {
            Value::Null => put(format!("{name}: consistency not checked")),
            Value::String(ok) => put(format!(
                "{name}: on {}, consistency {ok}",
                compared.rounds[0].target
            )),
            wrong => put(format!("{name}: consistency VIOLATED: {wrong}")),
        }
        let mut notes: Vec<String> = compared.rounds.iter().flat_map(Report::warnings).collect();
        notes.dedup();
        notes
            .iter()
            .for_each(|note| put(format!("note: {name}: {note}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ends() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]).expect("numbers");
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!(
            Spread::of(vec![1.0, 2.0, 4.0, 8.0]).map(|spread| spread.median),
            Some(3.0)
        );
        assert_eq!(Spread::of(Vec::new()), None);
        // A round in which the baseline did nothing.
        assert_eq!(Spread::of(vec![1.0, 1.0 / 0.0]), None);
    }
}
