//! The static call graph: callers, callees, and the height of each function.

use std::collections::HashMap;

use crate::flow::{Flow, TransferKind};
use crate::functions::Functions;
use crate::sites::Caller;

/// Where a call or jump leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// To the function of this index.
    Function(usize),
    /// To another module.
    Outside,
    /// To no known function.
    Nowhere,
}

/// Direct calls and tail calls of a module.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Target and caller of each, ascending.
    calls: Vec<(u64, Caller)>,
    heights: Vec<u32>,
}

impl Graph {
    pub(crate) fn new(
        functions: &Functions,
        flow: &Flow,
        resolve: impl Fn(u64) -> Target,
    ) -> Graph {
        let mut calls = Vec::new();
        let mut between = Calls::default();
        let mut resolved = HashMap::new();
        for transfer in &flow.transfers {
            let from = functions.owner[transfer.part as usize];
            let to = *resolved
                .entry(transfer.target)
                .or_insert_with(|| resolve(transfer.target));
            if transfer.kind != TransferKind::Call
                && !is_tail_call(transfer.target, from, to, functions)
            {
                continue;
            }
            let function = functions.all[from as usize].entry;
            calls.push((
                transfer.target,
                Caller {
                    function,
                    site: transfer.site,
                },
            ));
            match to {
                Target::Function(to) => between.pairs.push((from, to as u32)),
                Target::Outside | Target::Nowhere => between.leaves.push(from),
            }
        }
        between.leaves.extend(
            flow.call_pointers
                .iter()
                .map(|&part| functions.owner[part as usize]),
        );
        calls.sort_unstable();
        Graph {
            calls,
            heights: heights(functions.all.len(), between),
        }
    }

    pub(crate) fn callers_of(&self, target: u64) -> Vec<Caller> {
        let from = self.calls.partition_point(|call| call.0 < target);
        let calls = self.calls[from..]
            .iter()
            .take_while(|call| call.0 == target);
        calls.map(|call| call.1).collect()
    }

    pub(crate) fn heights(&self) -> &[u32] {
        &self.heights
    }

    /// Target and calling function of each call and tail call.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (u64, u64)> {
        self.calls
            .iter()
            .map(|&(target, caller)| (target, caller.function))
    }
}

/// A jump is a call only if it leads to the beginning of another function, or out of the module.
fn is_tail_call(target: u64, from: u32, to: Target, functions: &Functions) -> bool {
    match to {
        Target::Function(to) => {
            // A stub is no part of the function it leads to.
            let begins = functions.all[to].entry == target || functions.index_at(target).is_none();
            to as u32 != from && begins
        }
        Target::Outside => true,
        Target::Nowhere => false,
    }
}

/// Calls between functions numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Caller and callee.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Nodes that also call something outside, of height 0.
    pub(crate) leaves: Vec<u32>,
}

/// Callees of each node, contiguous.
struct Adjacency {
    starts: Vec<u32>,
    callees: Vec<u32>,
}

impl Adjacency {
    fn new(nodes: usize, mut pairs: Vec<(u32, u32)>) -> Adjacency {
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; nodes + 1];
        for &(from, _) in &pairs {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        Adjacency {
            starts,
            callees: pairs.into_iter().map(|(_, to)| to).collect(),
        }
    }

    fn of(&self, node: u32) -> &[u32] {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        &self.callees[range]
    }
}

/// `height(f) = 1 + max height(callee)`, 0 without callees, strongly connected components collapsed.
///
/// Tarjan, "Depth-first search and linear graph algorithms" (1972), with an explicit stack. It completes components in
/// reverse topological order, so the heights of all callees outside a component are known when it is complete.
pub(crate) fn heights(nodes: usize, calls: Calls) -> Vec<u32> {
    let mut calls_leaf = vec![false; nodes];
    for &node in &calls.leaves {
        calls_leaf[node as usize] = true;
    }
    let mut search = Search {
        adjacency: Adjacency::new(nodes, calls.pairs),
        calls_leaf,
        order: vec![UNSEEN; nodes],
        low: vec![0; nodes],
        open: vec![false; nodes],
        stack: Vec::new(),
        heights: vec![0; nodes],
        seen: 0,
    };
    for root in 0..nodes as u32 {
        if search.order[root as usize] == UNSEEN {
            search.run(root);
        }
    }
    search.heights
}

const UNSEEN: u32 = u32::MAX;

struct Search {
    adjacency: Adjacency,
    calls_leaf: Vec<bool>,
    /// When each node was met.
    order: Vec<u32>,
    /// The earliest open node that each is known to reach.
    low: Vec<u32>,
    /// Whether its component is not complete.
    open: Vec<bool>,
    /// Open nodes, in the order they were met.
    stack: Vec<u32>,
    heights: Vec<u32>,
    seen: u32,
}

impl Search {
    fn run(&mut self, root: u32) {
        // A node, and how many of its callees were followed.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, followed)) = path.last_mut() {
            let node = *node;
            let Some(&callee) = self.adjacency.of(node).get(*followed) else {
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    self.lower(parent, self.low[node as usize]);
                }
                if self.low[node as usize] == self.order[node as usize] {
                    self.complete(node);
                }
                continue;
            };
            *followed += 1;
            if self.order[callee as usize] == UNSEEN {
                self.enter(callee);
                path.push((callee, 0));
            } else if self.open[callee as usize] {
                self.lower(node, self.order[callee as usize]);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.order[node as usize] = self.seen;
        self.low[node as usize] = self.seen;
        self.seen += 1;
        self.open[node as usize] = true;
        self.stack.push(node);
    }

    fn lower(&mut self, node: u32, to: u32) {
        let low = &mut self.low[node as usize];
        *low = (*low).min(to);
    }

    /// Takes the component that `root` was the first node of from the stack.
    fn complete(&mut self, root: u32) {
        let from = self
            .stack
            .iter()
            .rposition(|&node| node == root)
            .expect("an open node is on the stack");
        let component = self.stack.split_off(from);
        let begin = self.order[root as usize];
        // Open nodes met after the root belong to its component, now that this is complete.
        let is_below =
            |node: u32| !(self.open[node as usize] && self.order[node as usize] >= begin);
        let below = component.iter().filter_map(|&node| {
            let callees = self
                .adjacency
                .of(node)
                .iter()
                .filter(|&&callee| is_below(callee));
            let highest = callees
                .map(|&callee| self.heights[callee as usize] + 1)
                .max();
            highest.max(self.calls_leaf[node as usize].then_some(1))
        });
        let height = below.max().unwrap_or(0);
        for &node in &component {
            self.heights[node as usize] = height;
            self.open[node as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// ```text
    /// 0 > 1 > 2 > 3      2 > 1 (recursion of 1 and 2)     4 > 4 (recursion of its own)     5: an import     6 > 0, 4
    /// ```
    /// 3 calls nothing: 0. {1, 2} > 3: 1. 0 > {1, 2}: 2. 4 calls only itself: 0. 5 calls an import: 1. 6 > 0: 3.
    #[test]
    fn heights_of_a_graph_with_recursion() {
        let pairs = vec![
            (0, 1),
            (1, 2),
            (2, 3),
            (2, 1),
            (4, 4),
            (6, 0),
            (6, 4),
            (6, 0),
        ];
        assert_eq!(
            heights(
                7,
                Calls {
                    pairs,
                    leaves: vec![5]
                }
            ),
            [2, 1, 1, 0, 0, 1, 3]
        );
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let nodes = 200_000;
        let pairs = (1..nodes as u32).map(|node| (node - 1, node)).collect();
        let heights = heights(
            nodes,
            Calls {
                pairs,
                leaves: Vec::new(),
            },
        );
        assert_eq!(heights[0], nodes as u32 - 1);
    }

    /// The definition, by brute force: reachability, then the longest path over components.
    fn heights_by_definition(nodes: usize, pairs: &[(u32, u32)], leaves: &[u32]) -> Vec<u32> {
        let mut reaches = vec![vec![false; nodes]; nodes];
        for (node, row) in reaches.iter_mut().enumerate() {
            row[node] = true;
        }
        for &(from, to) in pairs {
            reaches[from as usize][to as usize] = true;
        }
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    reaches[from][to] |= reaches[from][via] && reaches[via][to];
                }
            }
        }
        let together = |a: usize, b: usize| reaches[a][b] && reaches[b][a];
        let mut heights = vec![0; nodes];
        // Each round settles at least the components one call higher.
        for _ in 0..nodes {
            for node in 0..nodes {
                let members = (0..nodes).filter(|&member| together(node, member));
                let below = members.flat_map(|member| {
                    let callees = pairs.iter().filter(move |pair| pair.0 as usize == member);
                    let outside = callees
                        .map(|pair| pair.1 as usize)
                        .filter(|&to| !together(node, to));
                    let heights = &heights;
                    let leaf = leaves.contains(&(member as u32)).then_some(1);
                    outside.map(|to| heights[to] + 1).chain(leaf)
                });
                let height = below.max().unwrap_or(0);
                heights[node] = height;
            }
        }
        heights
    }

    proptest! {
        #[test]
        fn heights_match_their_definition(
            pairs in prop::collection::vec((0..9_u32, 0..9_u32), 0..20),
            leaves in prop::collection::vec(0..9_u32, 0..3),
        ) {
            let expected = heights_by_definition(9, &pairs, &leaves);
            prop_assert_eq!(heights(9, Calls { pairs, leaves }), expected);
        }
    }
}
