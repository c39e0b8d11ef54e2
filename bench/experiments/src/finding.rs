//! Result of an experiment: claims, and figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verdict::{Claim, Verdict};

/// Result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The paper's numbers beside ours.
    pub claims: Vec<Claim>,
    /// Reasons for missing claims, and remarks for readers of the numbers.
    pub why: String,
    /// For an item that was not measured.
    pub verdict_without: Option<Verdict>,
    /// Numbers to draw.
    pub figure: Option<Figure>,
    /// It was to be measured and could not be, which `why` says: an experiment that is gone on with tries it again.
    pub failed: bool,
    /// The commands that it was made of, as they were run.
    pub commands: Vec<String>,
    /// Numbers that other experiments use, by name.
    pub numbers: BTreeMap<String, f64>,
}

impl Finding {
    /// The verdict: the worst of those on its claims.
    pub fn verdict(&self) -> Verdict {
        let worst = self.claims.iter().map(|claim| claim.verdict).max();
        self.verdict_without
            .or(worst)
            .unwrap_or(Verdict::CannotTell)
    }

    /// It was to be measured and could not be.
    pub fn failed(why: &str) -> Finding {
        Finding {
            failed: true,
            ..Finding::without(Verdict::CannotTell, why)
        }
    }

    /// Nothing was measured.
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
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
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
