//! An experiment's result as a line of JSON. Fields may be added, not renamed.

use serde::{Deserialize, Serialize};

use crate::experiment::{Effort, Experiment, Finding};
use crate::verdict::Verdict;

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the experiment.
    pub id: String,
    /// What the paper has.
    pub paper: Paper,
    /// How it was measured.
    pub method: String,
    /// The first claim's number, if anything was measured.
    pub measured: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict on all claims.
    pub verdict: Verdict,
    /// What could not be said, and why.
    pub why: String,
    /// A command that shows the same.
    pub command: String,
    /// With how much effort.
    pub effort: Effort,
    /// All claims, and what to draw.
    pub finding: Finding,
    /// Time it took.
    pub took_s: f64,
}

/// An item of the papers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// The item, with its title.
    pub item: String,
    /// What it says.
    pub says: String,
}

impl Outcome {
    /// Of an experiment that found this.
    #[must_use]
    pub fn new(experiment: &Experiment, effort: Effort, finding: Finding, took_s: f64) -> Outcome {
        let first = finding.claims.first();
        Outcome {
            id: experiment.id.to_owned(),
            paper: Paper {
                item: experiment.item.to_owned(),
                says: experiment.says.to_owned(),
            },
            method: experiment.method.to_owned(),
            measured: first.map(|claim| claim.found),
            interval: first.map(|claim| [claim.low, claim.high]),
            verdict: finding.verdict(),
            why: finding.why.clone(),
            command: experiment.command.to_owned(),
            effort,
            finding,
            took_s,
        }
    }
}
