//! How latency, and where it is spent, changed while a run went on.

use serde::{Deserialize, Serialize};

/// Columns of time. What they hold adds up: several columns together are one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// When the first column begins, nanoseconds since 1970; absent where times are those of the run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_unix_ns: Option<u64>,
    /// Lower bounds of latency that cells refer to, ascending; one more than there are cells.
    pub bounds_ns: Vec<f64>,
    /// The columns that have intervals, in order of time.
    pub columns: Vec<TimeColumn>,
}

/// The intervals that ended in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeColumn {
    /// From when on, since the first column began.
    pub from_ns: f64,
    /// Until when.
    pub to_ns: f64,
    /// Intervals.
    pub intervals: u64,
    /// Sum of latencies.
    pub latency_ns: f64,
    /// Sum of their squares.
    pub squares_ns2: f64,
    /// Cells of latency, by place of the lower bound, with how many intervals.
    pub cells: Vec<(usize, u64)>,
    /// By finding of the profile: sum of its time, and of its product with the latency.
    pub findings: Vec<(f64, f64)>,
}
