//! A group of recordings, and what of it is compared.

use serde::Serialize;

/// A group of recordings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Group {
    /// The common attribute of its recordings: the host, the build, ...
    pub name: String,
    /// Number of recordings.
    pub recordings: usize,
    /// When the first of them began, nanoseconds since 1970; absent where none says.
    pub started_unix_ns: Option<u64>,
    /// Intervals.
    pub intervals: u64,
    /// Their mean latency.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Whether it differs from the others.
    pub differs: bool,
}

/// Subjects of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// The mean latency, ns.
    Mean,
    /// The variance, ns².
    Variance,
    /// A finding's part of the variance, ns².
    Finding {
        /// As in the profile.
        headline: String,
        /// As in the profile.
        function: String,
        /// As in the profile.
        called_by: Option<String>,
    },
}
