//! The comparison of slow intervals with ordinary ones, as a profile has it.

use serde::{Deserialize, Serialize};

use crate::sites::Kind;

/// Two groups of intervals, and where they differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cohorts {
    /// The slowest.
    pub slow: Group,
    /// The middle half.
    pub middle: Group,
    /// The same by function: own times by context, as findings divide them, largest magnitude first.
    pub causes: Vec<Difference>,
    /// Nodes by how much of the difference they make up, largest magnitude first.
    pub nodes: Vec<Difference>,
}

/// Some of the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// How many.
    pub intervals: u64,
    /// Their smallest latency.
    pub from_ns: f64,
    /// Their mean latency.
    pub mean_ns: f64,
}

/// A node in both groups; times and calls are means an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// As in [`crate::profile::Factor::paths`]; of a function, as [`crate::findings::Finding::headline`].
    pub path: String,
    /// [`crate::profile::Node::id`] of its end; absent for a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// What its time is spent on.
    pub kind: Kind,
    /// Inclusive time in the slow ones.
    pub slow_ns: f64,
    /// Inclusive time in the middle.
    pub middle_ns: f64,
    /// Calls in the slow ones.
    pub slow_calls: f64,
    /// Calls in the middle.
    pub middle_calls: f64,
    /// Its part of the difference of the mean latencies.
    pub part: f64,
    /// The part of the difference in time that is due to more calls.
    pub more_often_ns: f64,
    /// The part of the difference in time that is due to longer calls.
    pub longer_ns: f64,
    /// The middle half never calls it.
    pub only_slow: bool,
    /// One call below it carries nearly all of the difference.
    pub passes_on: bool,
}
