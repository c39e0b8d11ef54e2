//! A schedule at one point, simulated with several seeds.

use evenkeel_locks::ScheduleKind;
use serde::Serialize;

use crate::estimate::{Estimate, Ratio};
use crate::latency::Latency;
use crate::outcome::{SizeError, Window};
use crate::{Case, Outcome};

/// The outcomes of one case with consecutive seeds, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Replicated<'a> {
    /// The case with the first seed.
    pub case: &'a Case,
    /// An outcome for each seed; at least one.
    pub outcomes: &'a [Outcome],
}

/// Statistics over replications: means over the seeds, but sums of counts and maxima of maxima.
impl<'a> Replicated<'a> {
    /// Groups what [`crate::cases`] and [`crate::sweep()`] returned.
    pub fn group(cases: &'a [Case], outcomes: &'a [Outcome], seeds: usize) -> Vec<Replicated<'a>> {
        cases
            .chunks(seeds)
            .zip(outcomes.chunks(seeds))
            .map(|(cases, outcomes)| Replicated {
                case: &cases[0],
                outcomes,
            })
            .collect()
    }

    /// Under which schedule.
    pub fn schedule(&self) -> ScheduleKind {
        self.case.schedule
    }

    /// An estimate from one number a replication.
    pub fn estimate(&self, measure: impl Fn(&Outcome) -> f64) -> Estimate {
        Estimate::of(self.outcomes.iter().map(measure))
    }

    /// All of them as one outcome.
    pub(crate) fn pooled(&self) -> Outcome {
        if let [only] = self.outcomes {
            return only.clone();
        }
        let first = &self.outcomes[0];
        let classes = first.classes.iter().enumerate();
        Outcome {
            schedule: first.schedule,
            latency: pooled_latency(self.outcomes.iter().map(|o| &o.latency)),
            classes: classes
                .map(|(at, &(name, _))| {
                    let of_class = self.outcomes.iter().map(|o| &o.classes[at].1);
                    (name, pooled_latency(of_class))
                })
                .collect(),
            window: self.pooled_window(),
            rejected: self.outcomes.iter().map(|o| o.rejected).sum(),
            unfinished: self.outcomes.iter().map(|o| o.unfinished).sum(),
            unfinished_age_max: self
                .outcomes
                .iter()
                .map(|o| o.unfinished_age_max)
                .max()
                .unwrap_or(0),
            size_error: self.pooled_size_error(),
        }
    }

    fn pooled_window(&self) -> Window {
        let sum = |of: fn(&Window) -> u64| self.outcomes.iter().map(|o| of(&o.window)).sum();
        let mean = |of: fn(&Window) -> f64| self.estimate(|o| of(&o.window)).mean;
        let in_flight_max = self.outcomes.iter().map(|o| o.window.in_flight_max).max();
        Window {
            ticks: sum(|w| w.ticks),
            commits: sum(|w| w.commits),
            throughput: mean(|w| w.throughput),
            aborts: sum(|w| w.aborts),
            deadlocks: sum(|w| w.deadlocks),
            in_flight_max: in_flight_max.unwrap_or(0),
            in_flight_mean: mean(|w| w.in_flight_mean),
            queue_mean: mean(|w| w.queue_mean),
            decisions: sum(|w| w.decisions),
            grants: sum(|w| w.grants),
            waits: sum(|w| w.waits),
        }
    }

    fn pooled_size_error(&self) -> Option<SizeError> {
        let errors: Option<Vec<SizeError>> = self.outcomes.iter().map(|o| o.size_error).collect();
        let errors = errors?;
        let mean = |of: fn(&SizeError) -> f64| Estimate::of(errors.iter().map(of)).mean;
        Some(SizeError {
            count: errors.iter().map(|error| error.count).sum(),
            above_1: mean(|error| error.above_1),
            above_1_5: mean(|error| error.above_1_5),
            above_2: mean(|error| error.above_2),
            above_4: mean(|error| error.above_4),
            max: errors.iter().map(|error| error.max).fold(0.0, f64::max),
        })
    }

    /// Half widths of the 95 % confidence intervals; none if there is one replication.
    pub fn half_widths(&self) -> Option<HalfWidths> {
        let half = |measure: fn(&Outcome) -> f64| self.estimate(measure).half_width;
        (self.outcomes.len() > 1).then(|| HalfWidths {
            mean: half(|o| o.latency.mean),
            sd: half(|o| o.latency.sd),
            p50: half(|o| o.latency.p50 as f64),
            p95: half(|o| o.latency.p95 as f64),
            p99: half(|o| o.latency.p99 as f64),
            p999: half(|o| o.latency.p999 as f64),
            throughput: half(|o| o.window.throughput),
            queue_mean: half(|o| o.window.queue_mean),
            deadlocks_per_commit: half(|o| o.window.deadlocks_per_commit()),
        })
    }

    /// Comparison with `baseline`, seed by seed; `fifo` gives the baseline's gain.
    pub fn relative(&self, baseline: &Replicated<'_>, fifo: Option<&Replicated<'_>>) -> Relative {
        let ratio = |of: fn(&Outcome) -> f64| {
            let pairs = self.outcomes.iter().zip(baseline.outcomes);
            Ratio::of(pairs.map(|(own, base)| (of(own), of(base))))
        };
        let mean = |of: &Replicated<'_>| of.estimate(|o| o.latency.mean).mean;
        let gain = |fifo: &Replicated<'_>| {
            let gained = mean(fifo) - mean(baseline);
            (gained > 0.0).then(|| (mean(fifo) - mean(self)) / gained)
        };
        Relative {
            to: crate::outcome::schedule_name(baseline.schedule()),
            mean: ratio(|o| o.latency.mean),
            variance: ratio(|o| o.latency.sd * o.latency.sd),
            p99: ratio(|o| o.latency.p99 as f64),
            p999: ratio(|o| o.latency.p999 as f64),
            throughput: ratio(|o| o.window.throughput),
            gain_kept: fifo.and_then(gain),
        }
    }
}

fn pooled_latency<'a>(latencies: impl Iterator<Item = &'a Latency> + Clone) -> Latency {
    let mean = |of: fn(&Latency) -> f64| Estimate::of(latencies.clone().map(of)).mean;
    let ticks = |of: fn(&Latency) -> f64| libm::round(mean(of)) as u64;
    Latency {
        count: latencies.clone().map(|latency| latency.count).sum(),
        mean: mean(|latency| latency.mean),
        sd: mean(|latency| latency.sd),
        p50: ticks(|latency| latency.p50 as f64),
        p95: ticks(|latency| latency.p95 as f64),
        p99: ticks(|latency| latency.p99 as f64),
        p999: ticks(|latency| latency.p999 as f64),
        max: latencies.map(|latency| latency.max).max().unwrap_or(0),
    }
}

/// Half the widths of 95 % confidence intervals, in the units of what they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HalfWidths {
    /// Half width of the mean latency.
    pub mean: f64,
    /// Half width of its standard deviation.
    pub sd: f64,
    /// Half width of the median.
    pub p50: f64,
    /// Half width of the 95th percentile.
    pub p95: f64,
    /// Half width of the 99th percentile.
    pub p99: f64,
    /// Half width of the 99.9th percentile.
    pub p999: f64,
    /// Half width of the throughput.
    pub throughput: f64,
    /// Half width of the waiters per decision.
    pub queue_mean: f64,
    /// Half width of the deadlocks per commit.
    pub deadlocks_per_commit: f64,
}

/// Ratios to a baseline over the same seeds; none where one of the two is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// The baseline.
    pub to: String,
    /// Ratio of the mean latencies.
    pub mean: Option<Ratio>,
    /// Ratio of their variances.
    pub variance: Option<Ratio>,
    /// Ratio of their 99th percentiles.
    pub p99: Option<Ratio>,
    /// Ratio of their 99.9th percentiles.
    pub p999: Option<Ratio>,
    /// Ratio of the throughputs.
    pub throughput: Option<Ratio>,
    /// The share of the baseline's gain in mean latency over FIFO that this has, too; above 1 if it gains more. None if
    /// FIFO was not simulated or the baseline gained nothing.
    pub gain_kept: Option<f64>,
}
