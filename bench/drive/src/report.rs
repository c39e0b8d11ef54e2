//! The result of a benchmark as the design's JSON. Fields may be added, not renamed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::client::Reason;
use crate::grants::GrantReport;
use crate::metrics::{ALL, Latencies, Slice};
use crate::round_trip::RoundTripReport;
use crate::run::Measured;

/// Offered and done rates further apart than this mean that the target did not keep up.
const KEPT_UP: f64 = 0.97;

/// A benchmark's result. Durations in nanoseconds, from the scheduled start unless their name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the workload.
    pub workload: String,
    /// Name of the target, with its version.
    pub target: String,
    /// All that was chosen: clients, load, seed, scale, settings.
    pub config: Map<String, Value>,
    /// Arrivals per second; null in a closed loop, which offers what it gets done.
    pub offered_per_s: Option<f64>,
    /// Transactions done in the window per second.
    pub throughput_per_s: f64,
    /// By name of the type, and `all`.
    pub types: BTreeMap<String, TypeReport>,
    /// Attempts that were undone, by reason, those that the workload asks for among them.
    pub aborts: BTreeMap<String, u64>,
    /// Attempts after the first.
    pub retries: u64,
    /// Transactions that were undone as often as they were allowed to; they are not among the latencies.
    pub given_up: u64,
    /// Arrivals that found too many in flight.
    pub rejected: u64,
    /// Arrivals that were not served when the run gave up waiting or was stopped.
    pub unfinished: u64,
    /// Arrivals of the warm-up that had not started when the window began.
    pub backlog: u64,
    /// Whether the number in flight still grew when the window ended: then latencies say how long the run was, no more.
    pub queue_grows: bool,
    /// Length of the window.
    pub measured_s: f64,
    /// Whether the user stopped the run.
    pub interrupted: bool,
    /// `"ok"`, or what is wrong with the data after the run; null where it was not checked.
    pub consistency: Consistency,
    /// By name of the type, and `all`: age and remaining time at lock grants, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<BTreeMap<String, GrantReport>>,
    /// Round trips within transactions, where there were any: what was asked of the timer and what was slept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTripReport>,
    /// The course of the run.
    #[serde(skip)]
    pub slices: Vec<Slice>,
    /// Response times of all types by size: upper end of a bucket and count.
    #[serde(skip)]
    pub buckets: Vec<(u64, u64)>,
}

/// Result of the check at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Not checked, as the user wished or the workload has no conditions.
    Unchecked,
    /// Checked; what is wrong, if anything.
    Checked(Vec<String>),
}

impl Serialize for Consistency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Consistency::Unchecked => serializer.serialize_none(),
            Consistency::Checked(wrong) if wrong.is_empty() => serializer.serialize_str("ok"),
            Consistency::Checked(wrong) => wrong.serialize(serializer),
        }
    }
}

/// Statistics of one type of transactions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TypeReport {
    /// Transactions scheduled in the window and completed.
    pub count: u64,
    /// Transactions per second of the window.
    pub throughput_per_s: f64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Coefficient of variation: `sd_ns / mean_ns`.
    pub cv: f64,
    /// Percentile.
    pub p50_ns: u64,
    /// Percentile.
    pub p90_ns: u64,
    /// Percentile.
    pub p95_ns: u64,
    /// Percentile.
    pub p99_ns: u64,
    /// Percentile 99.9.
    pub p999_ns: u64,
    /// Percentile 99.99.
    pub p9999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Mean time from the schedule to the start.
    pub queue_mean_ns: f64,
    /// Mean time from the start to the end, retries included.
    pub service_mean_ns: f64,
}

impl TypeReport {
    fn of(latencies: &Latencies, length_s: f64) -> TypeReport {
        let (response, at) = (&latencies.response, |p| latencies.percentile_ns(p));
        let (mean_ns, sd_ns) = (response.mean_ns(), response.sd_ns());
        TypeReport {
            count: response.count,
            throughput_per_s: if length_s > 0.0 {
                response.count as f64 / length_s
            } else {
                0.0
            },
            mean_ns,
            sd_ns,
            cv: if mean_ns > 0.0 { sd_ns / mean_ns } else { 0.0 },
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            p9999_ns: at(0.9999),
            max_ns: response.max_ns,
            queue_mean_ns: latencies.queue.mean_ns(),
            service_mean_ns: latencies.service.mean_ns(),
        }
    }
}

impl Report {
    /// A report of the measurement. `types` are the names of the types, in the order of their indices.
    pub fn new(
        workload: &str,
        target: &str,
        config: Map<String, Value>,
        types: &[&str],
        measured: &Measured,
        consistency: Consistency,
    ) -> Report {
        let metrics = &measured.metrics;
        let length_s = metrics.window().length_s();
        let named = types.iter().zip(&metrics.kinds);
        let mut by_type: BTreeMap<String, TypeReport> = named
            .filter(|(_, latencies)| latencies.response.count > 0)
            .map(|(name, latencies)| ((*name).to_owned(), TypeReport::of(latencies, length_s)))
            .collect();
        by_type.insert(ALL.to_owned(), TypeReport::of(&metrics.all, length_s));
        let reasons = Reason::ALL.iter().map(|reason| reason.name());
        let aborts = reasons
            .zip(metrics.aborts)
            .chain(
                metrics
                    .rolled_back
                    .iter()
                    .map(|(&reason, &count)| (reason, count)),
            )
            .filter(|&(_, count)| count > 0)
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        let histogram = &metrics.all.histogram;
        Report {
            workload: workload.to_owned(),
            target: target.to_owned(),
            config,
            offered_per_s: measured.offered_per_s,
            throughput_per_s: metrics.throughput_per_s(),
            types: by_type,
            aborts,
            retries: metrics.retries,
            given_up: metrics.given_up,
            rejected: measured.rejected,
            unfinished: measured.unfinished,
            backlog: metrics.backlog,
            queue_grows: measured.offered_per_s.is_some()
                && !measured.interrupted
                && metrics.in_flight.grows(measured.unfinished),
            measured_s: length_s,
            interrupted: measured.interrupted,
            consistency,
            grants: None,
            round_trips: measured.round_trips,
            slices: metrics.slices.clone(),
            buckets: histogram
                .iter_recorded()
                .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
                .collect(),
        }
    }

    /// Statistics of all types together.
    pub fn all(&self) -> &TypeReport {
        &self.types[ALL]
    }

    /// Whether the data after the run is what the workload allows, or was not checked.
    pub fn is_consistent(&self) -> bool {
        !matches!(&self.consistency, Consistency::Checked(wrong) if !wrong.is_empty())
    }

    /// Warnings for a reader of the numbers, each with what to do.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.interrupted {
            warnings.push(format!(
                "stopped after {:.1} s of measuring",
                self.measured_s
            ));
        }
        if let Some(offered) = self.offered_per_s
            && self.throughput_per_s < KEPT_UP * offered
        {
            warnings.push(format!(
                "the target did not keep up: {offered:.0} transactions/s offered, {:.0} done; latencies grow with the \
                 length of such a run, so lower --rate or --load",
                self.throughput_per_s
            ));
        }
        if self.queue_grows {
            warnings.push(
                "the queue still grew when measuring ended: latencies grow with the length of the run, so means are not \
                 shown; lower --rate or --load"
                    .to_owned(),
            );
        }
        if self.backlog > 0 {
            warnings.push(format!(
                "{} arrivals of the warm-up were still queueing when measuring began; lengthen --warmup if the queue was \
                 that of a cold target",
                self.backlog
            ));
        }
        if self.rejected > 0 {
            warnings.push(format!(
                "{} arrivals were rejected because --in-flight were queueing or running; they are in no latency",
                self.rejected
            ));
        }
        if self.unfinished > 0 {
            warnings.push(format!(
                "{} arrivals were not served before the run ended; they are in no latency, so percentiles are too low",
                self.unfinished
            ));
        }
        if self.given_up > 0 {
            warnings.push(format!(
                "{} transactions were given up after --retries attempts; they are in no latency",
                self.given_up
            ));
        }
        if self.all().count == 0 {
            warnings.push("no transaction was completed; lengthen --for".to_owned());
        }
        warnings
    }
}
