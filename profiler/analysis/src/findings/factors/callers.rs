//! Divides a factor's contribution among the functions that call it.
//!
//! A contribution is a sum over nodes (equation 2.4), so it is divided by dividing the nodes. The parts keep their
//! signs and add up to it. If all nodes have the same nearest caller (a wrapper), the callers of that function explain
//! more, and so on up. Waits, and pointer calls with an unknown callee, are not callers.

use super::functions::Functions;
use super::terms::Term;
use crate::profile::Caller;
use crate::sums::moments::fraction;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::ROOT;

/// A node of the factor.
#[derive(Debug)]
struct Reached {
    /// The functions that lead to it, the nearest first, the root last.
    callers: Vec<u32>,
    /// What it adds to (n - 1) Var(L), ticks^2.
    moment: f64,
}

/// Nodes with the same caller.
#[derive(Debug)]
struct Group<'a> {
    caller: u32,
    nodes: Vec<&'a Reached>,
}

impl Group<'_> {
    fn moment(&self) -> f64 {
        self.nodes.iter().map(|node| node.moment).sum()
    }
}

/// Callers of a factor's nodes, largest contribution first; empty if all nodes have the same callers up to the root.
pub(super) fn callers(
    terms: &[Term],
    tree: &VarianceTree<'_>,
    functions: &Functions,
) -> Vec<Caller> {
    let reached = |&term: &Term| Reached {
        callers: chain(term, tree, functions),
        moment: term.moment(tree.total, tree),
    };
    let nodes: Vec<Reached> = terms.iter().map(reached).collect();
    let whole = tree.total.latency_moment();
    let caller = |group: &Group<'_>| Caller {
        function: functions.name(group.caller),
        contribution: fraction(group.moment(), whole),
    };
    let mut callers: Vec<Caller> = divided(&nodes).iter().map(caller).collect();
    callers.sort_by(|a, b| {
        let by_name = || a.function.cmp(&b.function);
        b.contribution.total_cmp(&a.contribution).then_with(by_name)
    });
    callers
}

/// The nearest caller of a call. For a recursive function, earlier calls of the function itself are skipped.
pub(super) fn nearest(part: Part, tree: &VarianceTree<'_>, functions: &Functions) -> Option<u32> {
    chain(Term::Variance(part), tree, functions)
        .first()
        .copied()
}

/// Divides the nodes at the lowest level with several callers; below it, all nodes have the same callers.
fn divided(nodes: &[Reached]) -> Vec<Group<'_>> {
    let levels = nodes.iter().map(|node| node.callers.len()).max();
    let mut by_level = (0..levels.unwrap_or(0)).map(|level| by_caller(nodes, level));
    by_level.find(|groups| groups.len() > 1).unwrap_or_default()
}

fn by_caller(nodes: &[Reached], level: usize) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for node in nodes {
        // Chains that are equal below this level all end at the root.
        let Some(&caller) = node.callers.get(level) else {
            continue;
        };
        match groups.iter_mut().find(|group| group.caller == caller) {
            Some(group) => group.nodes.push(node),
            None => groups.push(Group {
                caller,
                nodes: vec![node],
            }),
        }
    }
    groups
}

/// The functions that lead to a node, the nearest first, the root last; recursive calls are listed once.
fn chain(term: Term, tree: &VarianceTree<'_>, functions: &Functions) -> Vec<u32> {
    let above = |node: u32| (node != ROOT).then(|| tree.paths.get(node).parent);
    let (own, mut next) = match term {
        Term::Variance(part @ Part::Call(node)) => (Some(functions.id(part)), above(node)),
        // The callers of a function's own time are those of the function.
        Term::Variance(Part::Body(node)) => (Some(functions.id(Part::Call(node))), above(node)),
        // Two sites of one function.
        Term::Covariance(part @ Part::Call(node), other)
            if functions.id(part) == functions.id(other) =>
        {
            (Some(functions.id(part)), above(node))
        }
        Term::Covariance(Part::Body(node), _) => (None, Some(node)),
        Term::Covariance(Part::Call(node), _) => (None, above(node)),
    };
    let mut chain = Vec::new();
    while let Some(node) = next {
        let caller = functions.id(Part::Call(node));
        let is_function = tree.state(node).is_none() && !tree.names().is_indirect(node);
        let below = chain.last().copied().or(own);
        if is_function && below != Some(caller) {
            chain.push(caller);
        }
        next = above(node);
    }
    chain
}
