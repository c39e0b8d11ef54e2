//! An experiment, and what it may use.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Error;
pub use crate::effort::Effort;
pub use crate::finding::{Figure, Finding, Series};
use crate::result::{Outcome, Paper, machine};

/// An item of the papers, and how it is measured here.
pub struct Experiment {
    /// Name on the command line, such as `figure-4.8`.
    pub id: &'static str,
    /// The item, with its title.
    pub item: &'static str,
    /// The paper's statement, with its numbers.
    pub says: &'static str,
    /// The method here, and its differences.
    pub method: &'static str,
    /// A command that shows the same.
    pub command: &'static str,
    /// Duration with this effort on two processors, as observed; the remaining time is estimated from it.
    pub takes: fn(Effort) -> Duration,
    /// Measures it.
    pub run: fn(&Context) -> Result<Finding, Error>,
}

/// The resources of an experiment.
pub struct Context<'a> {
    /// The effort.
    pub effort: Effort,
    /// Threads of a simulation.
    pub threads: usize,
    /// This program, for experiments that are made of its other commands.
    pub evenkeel: &'a Path,
    /// The user wants it to end.
    pub interrupted: &'a AtomicBool,
    /// Results that there are already.
    pub earlier: &'a [Outcome],
    /// Notified how far the experiment is, 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Context<'_> {
    /// Chooses between the values for a quick run and a full one.
    pub(crate) fn pick<T>(&self, quick: T, full: T) -> T {
        self.effort.pick(quick, full)
    }
}

impl Experiment {
    /// Its result, with this effort and after `took_s` seconds.
    pub fn outcome(&self, effort: Effort, finding: Finding, took_s: f64) -> Outcome {
        let first = finding.claims.first();
        Outcome {
            id: self.id.to_owned(),
            paper: Paper {
                item: self.item.to_owned(),
                says: self.says.to_owned(),
            },
            method: self.method.to_owned(),
            measured: first.map(|claim| claim.found),
            interval: first.map(|claim| [claim.low, claim.high]),
            verdict: finding.verdict(),
            why: finding.why.clone(),
            command: if finding.commands.is_empty() {
                self.command.to_owned()
            } else {
                finding.commands.join("\n")
            },
            effort,
            finding,
            took_s,
            machine: machine(),
        }
    }
}
