//! What a factor sums.

use rustc_hash::FxHashMap;

use crate::profile::FactorKind;
use crate::sums::Sums;
use crate::sums::parts::{Part, VarianceTree, pair_moment};

/// One node of a factor: a part, or two parts of the same node.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// A part.
    Variance(Part),
    /// Two parts of one node.
    Covariance(Part, Part),
}

impl Term {
    /// What it adds to (n - 1) Var(L), ticks^2.
    pub fn moment(self, sums: &Sums, tree: &VarianceTree<'_>) -> f64 {
        match self {
            Term::Variance(part) => part.moment(sums),
            Term::Covariance(a, b) => 2.0 * pair_moment(sums, tree.paths, a, b),
        }
    }

    /// Numbers of its nodes ([`crate::profile::Node::id`]).
    pub fn nodes(self) -> Vec<u32> {
        match self {
            Term::Variance(part) => vec![part.id()],
            Term::Covariance(a, b) => vec![a.id(), b.id()],
        }
    }
}

/// Which nodes a factor sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Functions, in order of name; the same twice for a variance.
    pub functions: [u32; 2],
    /// Of one function or of two.
    pub kind: FactorKind,
    /// The function that makes the calls, where only its are summed.
    pub caller: Option<u32>,
}

impl Key {
    /// Of one function.
    pub fn variance(function: u32) -> Key {
        Key {
            functions: [function; 2],
            kind: FactorKind::Variance,
            caller: None,
        }
    }
}

/// The nodes of each factor.
pub type Terms = FxHashMap<Key, Vec<Term>>;

/// What nodes add to (n - 1) Var(L), ticks^2.
pub fn moment_of(terms: &[Term], tree: &VarianceTree<'_>) -> f64 {
    terms.iter().map(|term| term.moment(tree.total, tree)).sum()
}
