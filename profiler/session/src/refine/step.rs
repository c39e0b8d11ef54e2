//! What refinement may do next.

use crate::location::Location;

/// Something to do.
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
    /// Fraction of Var(L) that it may explain.
    pub contribution: f64,
    /// The same by the paper's measure alone, Var(X)/Var(L).
    pub variance: f64,
    /// Standard error of the contribution.
    pub se: f64,
    /// specificity x contribution.
    pub score: f64,
    /// Calls of an interval that it looks into.
    pub calls: f64,
    /// The same step was taken before.
    pub again: bool,
}
