//! All intervals of a run, and those that a profile does not represent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Profile;

/// A profile that leaves out more of the variance explains a part of it only, and begins with that statement.
const PART_MAX: f64 = 0.1;

/// All intervals of a run, and how those that the profile rests on were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Intervals whose latency is known.
    pub seen: u64,
    /// Intervals that the profile rests on.
    pub kept: u64,
    /// Intervals with recorded calls, in all rounds.
    #[serde(default)]
    pub recorded: u64,
    /// The slowest part of all intervals, which was recorded completely.
    #[serde(default)]
    pub slowest: f64,
    /// Weight of the others: one in this many was recorded.
    #[serde(default)]
    pub one_in: f64,
    /// The rule of choice.
    pub rule: SamplingRule,
    /// Mean latency of all.
    pub mean_ns: f64,
    /// Standard deviation of all.
    pub sd_ns: f64,
    /// Percentiles of all, as [`Profile::percentiles_ns`].
    pub percentiles_ns: BTreeMap<String, f64>,
    /// Intervals that the profile does not represent.
    pub slow_not_seen_inside: NotSeenInside,
}

/// Rules for choosing the intervals whose calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SamplingRule {
    /// Every interval.
    #[default]
    All,
    /// Each with the same probability, whatever its latency.
    Uniform,
    /// When its latency is known: all slow intervals, and a sample of the others with weights.
    Latency,
    /// Each that began in one of the windows of time in which everything is recorded: where waits are followed.
    Windows,
}

/// Intervals of latencies that the profile has less of than of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotSeenInside {
    /// Number of slow intervals that hold nearly all of it: slower than the mean of all.
    pub intervals: u64,
    /// The part of the variance of all intervals, slow and quick, that the profile does not represent.
    pub share: f64,
    /// The smallest latency of these slow ones.
    pub slower_than_ns: f64,
}

impl Profile {
    /// The part that the profile does not represent, where that is much of the variance: shares and their errors hold
    /// for the rest only.
    pub fn explains_a_part(&self) -> Option<&NotSeenInside> {
        let missing = &self.sampling.as_ref()?.slow_not_seen_inside;
        (missing.share > PART_MAX).then_some(missing)
    }
}
