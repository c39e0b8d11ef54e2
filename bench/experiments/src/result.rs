//! An experiment's result as a line of JSON. Fields may be added, not renamed.

use serde::{Deserialize, Serialize};

use crate::effort::Effort;
use crate::finding::Finding;
use crate::verdict::Verdict;

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the experiment.
    pub id: String,
    /// The paper's claims.
    pub paper: Paper,
    /// The method.
    pub method: String,
    /// The first claim's number, if anything was measured.
    pub measured: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict on all claims.
    pub verdict: Verdict,
    /// Reasons for missing claims.
    pub why: String,
    /// The commands that it was made of, as they were run, a line each; or one that shows the same.
    pub command: String,
    /// With how much effort.
    pub effort: Effort,
    /// All claims, and what to draw.
    pub finding: Finding,
    /// Time it took.
    pub took_s: f64,
    /// On which machine.
    pub machine: String,
}

/// An item of the papers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// The item, with its title.
    pub item: String,
    /// The paper's statement.
    pub says: String,
}

/// Processors and system of this machine, in words.
pub(crate) fn machine() -> String {
    let count = std::thread::available_parallelism().map_or(1, |n| n.get());
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("processors of an unknown kind", |(_, model)| model.trim());
    let system = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{count} x {model}, Linux {}", system.trim())
}
