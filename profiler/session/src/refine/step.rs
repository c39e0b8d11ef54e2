//! The steps that refinement may take.

use evenkeel_analysis::profile::Node;

use crate::location::Location;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Time the calls that a function makes.
    Open(Location),
    /// Learn the callees of the short pointer calls of a function.
    DiscoverIn(Location),
    /// Learn the callees of a timed pointer call.
    Discover(u32),
    /// Find the definition of an import, to open it.
    Follow(u32),
}

/// A step with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What to do.
    pub step: Step,
    /// Name of the function it explains.
    pub name: String,
    /// Probes of the calls that it looks into; none for the interval's own function.
    pub within: Vec<Option<u32>>,
    /// Fraction of Var(L) that it may explain.
    pub contribution: f64,
    /// The part by the paper's measure alone, Var(X)/Var(L), without the part that the number of calls explains.
    pub same_work: f64,
    /// Standard error of the contribution.
    pub se: f64,
    /// specificity x contribution.
    pub score: f64,
    /// Calls per interval that it looks into.
    pub calls: f64,
    /// Whether the same step was taken before.
    pub again: bool,
}

/// How often an interval comes by a place in the tree: the calls of the nearest call above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Its probe; none directly in the interval.
    pub(super) call: Option<u32>,
    /// Mean per interval.
    pub(super) mean: f64,
    /// The part of the variance of the call's time that the number of calls explains.
    pub(super) explained: f64,
}

impl Turns {
    /// Directly in the interval.
    pub(super) const ONCE: Turns = Turns {
        call: None,
        mean: 1.0,
        explained: 0.0,
    };

    /// In a call.
    pub(super) fn of(call: &Node) -> Turns {
        Turns {
            call: call.probe,
            mean: call.calls_mean,
            explained: call.calls_explained.unwrap_or(0.0),
        }
    }
}
