//! What stacks of slow intervals show, as a report has it (fields may be added, not renamed).

use serde::{Deserialize, Serialize};

/// Stacks of intervals that were slow already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowStacks {
    /// Stacks seen.
    pub stacks: u64,
    /// Intervals that they are of.
    pub intervals: u64,
    /// How long the longest of them had lasted when it was seen.
    pub longest_ns: f64,
    /// The path that most of their time has in common.
    #[serde(default)]
    pub common: SlowPath,
    /// Where they stood, what took most of their time first. Paths do not overlap.
    pub paths: Vec<SlowPath>,
}

/// A path of calls on which slow intervals stood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowPath {
    /// The functions, from the interval's on to the deepest that these stacks have in common. The last may be
    /// followed by a lock's holder ([`super::holder`]).
    pub functions: Vec<String>,
    /// Stacks that show it.
    pub stacks: u64,
    /// Intervals that they are of.
    pub intervals: u64,
    /// The part of the slow intervals' time, weighed by how long each had lasted.
    pub share: f64,
}

/// What stacks of slow intervals show inside of a finding's function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenInside {
    /// The functions below the finding's, outermost first.
    pub functions: Vec<String>,
    /// Stacks that show them.
    pub stacks: u64,
    /// Intervals that they are of.
    pub intervals: u64,
    /// All stacks of slow intervals that show the finding's function.
    pub of_stacks: u64,
}
