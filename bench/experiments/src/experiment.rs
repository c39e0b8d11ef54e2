//! An experiment, and what it finds.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::result::Outcome;
use crate::verdict::{Claim, Verdict};

/// An item of the papers, and how it is measured here.
pub struct Experiment {
    /// Name on the command line, such as `figure-4.8`.
    pub id: &'static str,
    /// The item, with its title.
    pub item: &'static str,
    /// What the paper says, with its numbers.
    pub says: &'static str,
    /// How it is measured here, and what is different.
    pub method: &'static str,
    /// A command that shows the same.
    pub command: &'static str,
    /// Measures it.
    pub run: fn(&Context) -> Result<Finding, Error>,
}

/// How much is done for an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// All of them within half an hour on two processors.
    Quick,
    /// As precisely as the tables are meant to be; a night.
    Full,
}

/// What an experiment may use.
pub struct Context<'a> {
    /// How much.
    pub effort: Effort,
    /// Threads of a simulation.
    pub threads: usize,
    /// This program, for experiments that are made of its other commands.
    pub evenkeel: &'a Path,
    /// The user wants it to end.
    pub interrupted: &'a AtomicBool,
    /// Results that there are already.
    pub earlier: &'a [Outcome],
    /// Told how far the experiment is, 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Context<'_> {
    /// One thing for a quick look, another for a full one.
    pub(crate) fn pick<T>(&self, quick: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// What an experiment found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The paper's numbers beside ours.
    pub claims: Vec<Claim>,
    /// What it could not say, and why; or what a reader of the numbers must know.
    pub why: String,
    /// For an item that was not measured.
    pub verdict_without: Option<Verdict>,
    /// Numbers to draw.
    pub figure: Option<Figure>,
}

impl Finding {
    /// The verdict: the worst of those on its claims.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let worst = self.claims.iter().map(|claim| claim.verdict).max();
        self.verdict_without
            .or(worst)
            .unwrap_or(Verdict::CannotTell)
    }

    /// Nothing was measured.
    #[must_use]
    pub fn without(verdict: Verdict, why: &str) -> Finding {
        Finding {
            why: why.to_owned(),
            verdict_without: Some(verdict),
            ..Finding::default()
        }
    }
}

/// A drawing: lines over a common axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What the horizontal axis is.
    pub x: String,
    /// What the vertical axis is.
    pub y: String,
    /// Vertical scale by factors.
    pub logarithmic: bool,
    /// The lines.
    pub lines: Vec<Series>,
}

/// A line of a drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The numbers are the paper's, not ours.
    pub papers: bool,
    /// Abscissa, ordinate, and half the width of the ordinate's interval.
    pub points: Vec<(f64, f64, f64)>,
}
