//! Configurations measured in turn, round after round, and compared within each round.
//!
//! What the machine does meanwhile (its temperature, its neighbours) falls out of the ratio of two runs that follow each other if
//! it changes slowly, and of two at the same time in any case. The order rotates from round to round, so that no configuration
//! always follows the same one.

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

/// Rounds from which on the quartiles say more of the spread than its ends.
const QUARTILES_FROM: usize = 8;

/// The middle and the ends of some numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// First and third quartile, between neighbours linearly.
    pub quartiles: [f64; 2],
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
        let quantile = |part: f64| {
            let at = part * (sorted.len() - 1) as f64;
            let (below, above) = (at.floor() as usize, at.ceil() as usize);
            sorted[below] + (sorted[above] - sorted[below]) * at.fract()
        };
        Some(Spread {
            median: quantile(0.5),
            min,
            max,
            quartiles: [0.25, 0.75].map(quantile),
            rounds,
        })
    }

    /// The ends of few numbers, the quartiles of many.
    fn around(&self) -> [f64; 2] {
        if self.rounds.len() < QUARTILES_FROM {
            [self.min, self.max]
        } else {
            self.quartiles
        }
    }

    fn json(&self) -> Value {
        json!({
            "median": self.median, "min": self.min, "max": self.max,
            "quartiles": self.quartiles, "rounds": self.rounds,
        })
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
    let (baseline, first) = (&all[0], &all[0].rounds[0]);
    let median = |compared: &Compared, metric: &Metric| {
        let spread = Spread::of(compared.values(metric));
        spread.map(|spread| (metric.show)(spread.median))
    };
    let ratio = |compared: &Compared, metric: &Metric| {
        let ratio = compared.ratio(baseline, metric)?;
        let [low, high] = ratio.around();
        Some(format!("{:.2} ({low:.2}–{high:.2})", ratio.median))
    };
    let around = match baseline.rounds.len() {
        ..QUARTILES_FROM => "least–greatest",
        _ => "quartiles",
    };
    let notes: Vec<String> = all.iter().flat_map(notes).collect();
    format!(
        "{}, {} rounds\n\n{}\n{}\n\
         Ratios are to `{}` in the same round: median ({around}). Below 1 is better for latencies.\n{}\n",
        first.workload,
        baseline.rounds.len(),
        grid("median", all, median),
        grid("ratio", &all[1..], ratio),
        baseline.name,
        notes.join("\n")
    )
}

/// A row a configuration and a column a metric, each as wide as it needs to be.
fn grid(
    title: &str,
    rows: &[Compared],
    cell: impl Fn(&Compared, &Metric) -> Option<String>,
) -> String {
    let headings = METRICS.iter().map(|metric| metric.heading.to_owned());
    let mut lines: Vec<Vec<String>> =
        vec![[title.to_owned()].into_iter().chain(headings).collect()];
    lines.extend(rows.iter().map(|compared| {
        let cells = METRICS
            .iter()
            .map(|metric| cell(compared, metric).unwrap_or_else(|| units::ABSENT.to_owned()));
        [compared.name.clone()].into_iter().chain(cells).collect()
    }));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..=METRICS.len()).filter_map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let (name, cells) = line.split_first().expect("a row begins with its name");
        write!(text, "{name:0$}", widths[0]).expect("a string takes all");
        for (cell, width) in cells.iter().zip(&widths[1..]) {
            write!(text, "  {cell:>width$}").expect("a string takes all");
        }
        text.push('\n');
    }
    text
}

/// Whether the data were right in the end, and what a reader of the numbers must know, once for all rounds.
fn notes(compared: &Compared) -> Vec<String> {
    let name = &compared.name;
    let consistency = match compared.consistency() {
        Value::Null => format!("{name}: consistency not checked"),
        Value::String(ok) => format!("{name}: on {}, consistency {ok}", compared.rounds[0].target),
        wrong => format!("{name}: consistency VIOLATED: {wrong}"),
    };
    let all: Vec<String> = compared.rounds.iter().flat_map(Report::warnings).collect();
    let told = merged(&all, compared.rounds.len());
    [consistency]
        .into_iter()
        .chain(told.iter().map(|note| format!("note: {name}: {note}")))
        .collect()
}

/// Each note once, with the number of rounds it was made in: the same with other numbers in it is the same.
fn merged(all: &[String], rounds: usize) -> Vec<String> {
    let wording = |note: &str| note.replace(|c: char| c.is_ascii_digit(), "");
    let mut told: Vec<(&String, usize)> = Vec::new();
    for note in all {
        match told
            .iter_mut()
            .find(|(one, _)| wording(one) == wording(note))
        {
            Some((_, times)) => *times += 1,
            None => told.push((note, 1)),
        }
    }
    told.into_iter()
        .map(|(note, times)| match times {
            1 => format!("{note} (in 1 round of {rounds})"),
            _ => format!("{note} (in {times} rounds of {rounds}, with other numbers)"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ends() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]).expect("numbers");
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        let spread = Spread::of(vec![1.0, 2.0, 4.0, 8.0]).expect("numbers");
        // At 0.75, 1.5 and 2.25 steps from the first.
        assert_eq!((spread.median, spread.quartiles), (3.0, [1.75, 5.0]));
        assert_eq!(Spread::of(Vec::new()), None);
        // A round in which the baseline did nothing.
        assert_eq!(Spread::of(vec![1.0, 1.0 / 0.0]), None);
    }

    #[test]
    fn cells_stay_apart_however_wide_they_are() {
        let row = |name: &str| Compared {
            name: name.to_owned(),
            rounds: Vec::new(),
        };
        let cell = |compared: &Compared, metric: &Metric| {
            (metric.name == "mean_ns").then(|| format!("{} 1.12 (0.13–233.25)", compared.name))
        };
        let text = grid("ratio", &[row("a"), row("longer")], cell);
        let words = |line: &str| line.split("  ").filter(|word| !word.is_empty()).count();
        assert!(
            text.lines().all(|line| words(line) == 1 + METRICS.len()),
            "{text}"
        );
        let ends: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(ends.iter().all(|&end| end == ends[0]), "{text}");
    }

    #[test]
    fn a_note_is_told_once_whatever_its_numbers() {
        let all = ["12 were late", "7 were late", "stopped"].map(str::to_owned);
        assert_eq!(
            merged(&all, 3),
            [
                "12 were late (in 2 rounds of 3, with other numbers)",
                "stopped (in 1 round of 3)"
            ]
        );
    }
}
