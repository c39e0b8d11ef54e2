//! Result of a simulation.

use evenkeel_locks::ScheduleKind;
use serde::Serialize;

use crate::latency::Latency;

/// Result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Under which schedule.
    pub schedule: ScheduleKind,
    /// From arrival to commit, retries and back-off included.
    pub latency: Latency,
    /// Latencies by class, in the order of the configuration, if there are several.
    pub classes: Vec<(&'static str, Latency)>,
    /// Counts of the measured window.
    pub window: Window,
    /// Arrivals turned away because too many transactions were in the system, over the whole run.
    pub rejected: u64,
    /// Transactions in the system at the end of the run.
    pub unfinished: u32,
    /// Age of the oldest of them in ticks.
    pub unfinished_age_max: u64,
    /// Error of approximate dependency-set sizes, if measured.
    pub size_error: Option<SizeError>,
}

/// Counts of the measured window (`simulate` writes the fields of its JSON from these).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Window {
    /// Its length.
    pub ticks: u64,
    /// Commits in it.
    pub commits: u64,
    /// Commits per second, or per epoch.
    pub throughput: f64,
    /// Transactions aborted, to be retried.
    pub aborts: u64,
    /// Cycles found in the wait-for graph.
    pub deadlocks: u64,
    /// Transactions in the system, at most. In an open loop until the last measured one has committed.
    pub in_flight_max: u32,
    /// Transactions in the system, in the mean over time.
    pub in_flight_mean: f64,
    /// Waiters to choose from, in the mean over the decisions (figure 4.14).
    pub queue_mean: f64,
    /// Times somebody was chosen.
    pub decisions: u64,
    /// Locks granted.
    pub grants: u64,
    /// Requests that had to wait.
    pub waits: u64,
}

impl Window {
    /// Deadlocks per commit; 0 if nothing committed.
    pub fn deadlocks_per_commit(&self) -> f64 {
        self.deadlocks as f64 / self.commits.max(1) as f64
    }
}

/// The ratio of approximate to exact dependency-set sizes over all scheduled grants (figure 4.19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SizeError {
    /// Grants compared.
    pub count: u64,
    /// Fraction of them with a ratio above 1: the approximation was not exact.
    pub above_1: f64,
    /// Fraction with a ratio above 1.5.
    pub above_1_5: f64,
    /// Fraction with a ratio above 2.
    pub above_2: f64,
    /// Fraction with a ratio above 4.
    pub above_4: f64,
    /// The greatest ratio.
    pub max: f64,
}

impl SizeError {
    /// The error of these pairs of an approximate and an exact size.
    pub fn of(pairs: &[(u64, u64)]) -> SizeError {
        let above = |limit: f64| {
            let wrong = pairs
                .iter()
                .filter(|&&(approximate, exact)| approximate as f64 > limit * exact as f64);
            wrong.count() as f64 / pairs.len().max(1) as f64
        };
        SizeError {
            count: pairs.len() as u64,
            above_1: above(1.0),
            above_1_5: above(1.5),
            above_2: above(2.0),
            above_4: above(4.0),
            max: pairs
                .iter()
                .map(|&(approximate, exact)| approximate as f64 / exact as f64)
                .fold(0.0, f64::max),
        }
    }
}

/// The name of a schedule with the parameter where it is not the default: `bldsf:f4`, `ldaf:1`.
pub fn schedule_name(schedule: ScheduleKind) -> String {
    use evenkeel_locks::{AgePower, DelayFactor};
    match schedule {
        ScheduleKind::Ldaf(AgePower::Linear) => "ldaf:1".to_owned(),
        ScheduleKind::Bldsf(factor) if factor != DelayFactor::Log => {
            let at = DelayFactor::ALL
                .iter()
                .position(|&other| other == factor)
                .unwrap_or(0);
            format!("bldsf:f{}", at + 1)
        }
        _ => schedule.name().to_owned(),
    }
}
