//! Configurations measured in turn, round after round, and compared within each round.
//!
//! Slow changes of the machine (its temperature, its neighbours) cancel in the ratio of two consecutive runs. In the
//! ratio of two simultaneous runs all changes do. What is left shows in the baseline's two runs of each round: see
//! `paired` for intervals, and for when a configuration is told apart from them.

mod saturations;
mod table;

use evenkeel_report::units;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::paired::{self, Triple};
use crate::report::{Consistency, Report};

pub use table::table;

/// A quantity that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in JSON, that of the same quantity in a report.
    pub name: &'static str,
    /// Name of its ratio in JSON, which has no unit.
    pub ratio_name: &'static str,
    /// Heading in the table.
    pub heading: &'static str,
    /// Whether it says nothing where the queue grows.
    of_latency: bool,
    value: fn(&Report) -> f64,
    show: fn(f64) -> String,
}

/// All of them. Ratios of latencies below one are an improvement, of the throughput above one.
pub(crate) const METRICS: [Metric; 6] = [
    Metric {
        name: "throughput_per_s",
        ratio_name: "throughput",
        heading: "per s",
        of_latency: false,
        value: |r| r.throughput_per_s,
        show: |v| format!("{v:.1}"),
    },
    Metric {
        name: "mean_ns",
        ratio_name: "mean",
        heading: "mean",
        of_latency: true,
        value: |r| r.all().mean_ns,
        show: units::duration,
    },
    Metric {
        name: "sd_ns",
        ratio_name: "sd",
        heading: "sd",
        of_latency: true,
        value: |r| r.all().sd_ns,
        show: units::duration,
    },
    Metric {
        name: "p50_ns",
        ratio_name: "p50",
        heading: "p50",
        of_latency: true,
        value: |r| r.all().p50_ns as f64,
        show: units::duration,
    },
    Metric {
        name: "p99_ns",
        ratio_name: "p99",
        heading: "p99",
        of_latency: true,
        value: |r| r.all().p99_ns as f64,
        show: units::duration,
    },
    Metric {
        name: "p999_ns",
        ratio_name: "p999",
        heading: "p99.9",
        of_latency: true,
        value: |r| r.all().p999_ns as f64,
        show: units::duration,
    },
];

/// A configuration and what its rounds gave, in order.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The difference of this configuration, as the user wrote it.
    pub name: String,
    /// Whether it is the baseline, measured again.
    pub aa: bool,
    /// A report a round, none empty.
    pub rounds: Vec<Report>,
}

/// A ratio to the baseline in the same round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Its median over rounds.
    pub median: f64,
    /// Lower end of the median's 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether it differs from the baseline by more than the baseline from itself, all comparisons of the table considered.
    pub told_apart: bool,
}

/// All configurations of a comparison: the baseline, the baseline again, the others.
#[derive(Clone, Debug)]
pub struct Comparisons(Vec<Compared>);

impl Comparisons {
    /// Compares configurations with equally many rounds, at least one; the first two are the baseline.
    pub fn new(all: Vec<Compared>) -> Comparisons {
        let rounds = all.first().map_or(0, |first| first.rounds.len());
        assert!(
            all.len() >= 2 && all[1].aa && rounds > 0,
            "a baseline, measured twice"
        );
        assert!(all.iter().all(|one| one.rounds.len() == rounds));
        Comparisons(all)
    }

    /// The configurations.
    pub fn all(&self) -> &[Compared] {
        &self.0
    }

    /// Rounds that all of them have.
    pub fn rounds(&self) -> usize {
        self.0[0].rounds.len()
    }

    /// Whether every round left the data as it may be.
    pub fn is_consistent(&self) -> bool {
        self.0.iter().all(Compared::is_consistent)
    }

    /// The ratios of configuration `at` by metric; none where a queue grew or a value is not above zero, and all of the baseline.
    pub fn ratios(&self, at: usize) -> [Option<Ratio>; METRICS.len()] {
        let [baseline, again] = [&self.0[0], &self.0[1]];
        let own = &self.0[at];
        if at == 0 {
            return [None; METRICS.len()];
        }
        let triples = METRICS.each_ref().map(|metric| {
            let (own, first, second) = (
                own.values(metric),
                baseline.values(metric),
                again.values(metric),
            );
            let rounds = own.iter().zip(first).zip(second);
            rounds
                .map(|((&own, first), second)| [own, first, second])
                .collect::<Vec<Triple>>()
        });
        // The baseline's second run cannot be compared with itself, so it has no chances.
        let chances = if own.aa {
            vec![None; METRICS.len()]
        } else {
            paired::chances(&triples, SEED)
        };
        let configurations = (self.0.len() - 2).max(1) as f64;
        std::array::from_fn(|metric| {
            if METRICS[metric].of_latency && (own.grows() || baseline.grows()) {
                return None;
            }
            let mut ratios: Vec<f64> = triples[metric]
                .iter()
                .map(|[own, base, _]| own / base)
                .collect();
            if ratios.iter().any(|ratio| !ratio.is_finite()) {
                return None;
            }
            let [low, high] = paired::median_interval(&ratios, SEED)?;
            Some(Ratio {
                median: paired::median(&mut ratios),
                low,
                high,
                told_apart: chances[metric]
                    .is_some_and(|chance| chance * configurations <= paired::LEVEL),
            })
        })
    }
}

/// Seed of the bootstrap and of the exchanges.
const SEED: u64 = 1;

impl Compared {
    fn values(&self, metric: &Metric) -> Vec<f64> {
        self.rounds.iter().map(metric.value).collect()
    }

    /// Its median over rounds; none where a queue grew.
    fn median(&self, metric: &Metric) -> Option<f64> {
        let grows = metric.of_latency && self.grows();
        (!grows).then(|| paired::median(&mut self.values(metric)))
    }

    /// Whether the queue of any round still grew at its end.
    pub fn grows(&self) -> bool {
        self.rounds.iter().any(|round| round.queue_grows)
    }

    fn sum(&self, count: fn(&Report) -> u64) -> u64 {
        self.rounds.iter().map(count).sum()
    }

    /// Whether every round left the data as it may be.
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

/// The comparison as the design's JSON, on one line.
pub fn json(comparisons: &Comparisons) -> String {
    let configurations: Vec<Value> = (0..comparisons.all().len())
        .map(|at| configuration(comparisons, at))
        .collect();
    let object = json!({
        "rounds": comparisons.rounds(),
        "saturations_per_s": saturations::by_round(comparisons),
        "configurations": configurations,
    });
    format!("{object}\n")
}

fn configuration(comparisons: &Comparisons, at: usize) -> Value {
    let (compared, ratios) = (&comparisons.all()[at], comparisons.ratios(at));
    let first = &compared.rounds[0];
    let named = |metric: &Metric| (metric.name.to_owned(), json!(compared.median(metric)));
    let values = |metric: &Metric| (metric.name.to_owned(), json!(compared.values(metric)));
    let ratio: Map<String, Value> = METRICS
        .iter()
        .zip(ratios)
        .map(|(metric, ratio)| (metric.ratio_name.to_owned(), json!(ratio)))
        .collect();
    json!({
        "name": compared.name,
        "baseline": at == 0,
        "aa": compared.aa,
        "workload": first.workload,
        "target": first.target,
        "config": first.config,
        "median": METRICS.iter().map(named).collect::<Map<_, _>>(),
        "values": METRICS.iter().map(values).collect::<Map<_, _>>(),
        "ratio": if at == 0 { Value::Null } else { Value::Object(ratio) },
        "queue_grows": compared.grows(),
        "retries": compared.sum(|round| round.retries),
        "unfinished": compared.sum(|round| round.unfinished),
        "rejected": compared.sum(|round| round.rejected),
        "given_up": compared.sum(|round| round.given_up),
        "consistency": compared.consistency(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Reason;
    use crate::metrics::Metrics;
    use crate::run::Measured;
    use crate::sample::{Ending, Sample};
    use crate::window::Window;

    /// Rounds whose mean latencies are these, all else equal.
    fn compared(name: &str, aa: bool, means_ns: &[u64]) -> Compared {
        let report = |&ns: &u64| {
            let window = Window::after(Duration::ZERO, Duration::from_secs(1));
            let mut metrics = Metrics::new(window, 1);
            metrics.add(&Sample {
                kind: 0,
                scheduled_ns: 0,
                started_ns: 0,
                ended_ns: ns,
                ending: Ending::Committed,
                aborts: [0; Reason::COUNT],
                retries: 0,
            });
            let measured = Measured {
                metrics,
                rejected: 2,
                unfinished: 1,
                interrupted: false,
                offered_per_s: Some(1.0),
                round_trips: None,
            };
            let unchecked = Consistency::Unchecked;
            Report::new("w", "t", Map::new(), &["all"], &measured, unchecked)
        };
        Compared {
            name: name.to_owned(),
            aa,
            rounds: means_ns.iter().map(report).collect(),
        }
    }

    fn three(others: &[u64]) -> Comparisons {
        Comparisons::new(vec![
            compared("a", false, &[1000, 1100, 900, 1000]),
            compared("a (again)", true, &[1010, 1080, 920, 990]),
            compared("b", false, others),
        ])
    }

    const MEAN: usize = 1;

    #[test]
    fn a_clear_effect_is_told_apart_and_the_baseline_is_not() {
        let clear = three(&[500, 550, 450, 480]);
        let ratio = clear.ratios(2)[MEAN].expect("a ratio");
        assert_eq!((ratio.median, ratio.low, ratio.high), (0.5, 0.48, 0.5));
        assert!(ratio.told_apart);
        assert!(!clear.ratios(1)[MEAN].expect("a ratio").told_apart);
        assert_eq!(clear.ratios(0)[MEAN], None);
        let unclear = three(&[1005, 1090, 910, 1000]);
        assert!(!unclear.ratios(2)[MEAN].expect("a ratio").told_apart);
        let text = table(&unclear);
        assert!(text.contains("Nothing is proven to differ"), "{text}");
        assert!(
            table(&clear).contains("0.50 (0.48–0.50)*"),
            "{}",
            table(&clear)
        );
    }

    #[test]
    fn too_few_rounds_are_reported() {
        let of = |aa, mean| compared("x", aa, &[mean]);
        let one = Comparisons::new(vec![of(false, 9), of(true, 9), of(false, 1)]);
        assert!(
            table(&one).contains("give --rounds 3 or more"),
            "{}",
            table(&one)
        );
    }

    #[test]
    fn json_has_the_fields_of_the_design() {
        let value: Value =
            serde_json::from_str(&json(&three(&[500, 550, 450, 480]))).expect("JSON");
        assert_eq!(value["rounds"], 4);
        let [base, again, other] = [0, 1, 2].map(|at| &value["configurations"][at]);
        assert_eq!(
            (&base["baseline"], &again["aa"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(
            (&base["ratio"], &other["aa"]),
            (&Value::Null, &json!(false))
        );
        assert_eq!(other["ratio"]["mean"]["told_apart"], true);
        assert_eq!(other["median"]["mean_ns"], 490.0);
        // 1 and 2 in each of four rounds.
        assert_eq!(
            (&other["unfinished"], &other["rejected"]),
            (&json!(4), &json!(8))
        );
        assert_eq!(other["given_up"], 0);
    }
}
