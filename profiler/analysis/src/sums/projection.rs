//! The sums of a round on fewer call paths than it has: exactly what it would have summed with those alone.
//!
//! A call path that is left out takes all below it along, and its time becomes its caller's own. The inclusive time of
//! every other path does not change, and the squares of the own time grow by products of siblings, which are summed
//! ([`Sums::pairs`]). All of it is integers, so that nothing is rounded. What the probes of the paths left out have
//! cost stays with the cost of all.

use crate::critical::exemplars::Exemplars;
use crate::critical::path::Piece;
use crate::intervals::classes::ClassSums;
use crate::sums::histogram::Histogram;
use crate::sums::paths::{Path, Paths};
use crate::sums::{NodeSums, Sums};

/// Maps the nodes of one round to those of other call paths.
#[derive(Debug)]
pub struct Projection<'a> {
    from: &'a Paths,
    /// By node: which it is; nothing where it is left out.
    to: Vec<Option<u32>>,
    /// By node: the node that has its own time.
    own: Vec<u32>,
}

impl Projection<'_> {
    /// `to`: by node of `from`, which node of the others it is; nothing where it is left out, with all below it.
    pub fn new(from: &Paths, to: Vec<Option<u32>>) -> Projection<'_> {
        let mut own: Vec<u32> = Vec::with_capacity(to.len());
        for (path, node) in from.all().iter().zip(&to) {
            debug_assert!(node.is_none() || to[path.parent as usize].is_some());
            own.push(node.unwrap_or_else(|| own[path.parent as usize]));
        }
        Projection { from, to, own }
    }

    /// The node that has the inclusive time of this one; nothing where it is left out.
    pub fn node(&self, node: u32) -> Option<u32> {
        self.to[node as usize]
    }

    /// The node that has the own time of this one.
    pub fn own(&self, node: u32) -> u32 {
        self.own[node as usize]
    }

    /// Nodes that there were.
    pub fn nodes(&self) -> usize {
        self.to.len()
    }

    /// Sums on the call paths `onto`.
    pub fn sums(&self, sums: &Sums, onto: &Paths) -> Sums {
        let mut projected = Sums {
            intervals: sums.intervals,
            kept: sums.kept,
            latency: sums.latency,
            latency_squared: sums.latency_squared,
            nodes: vec![NodeSums::default(); onto.all().len()],
            pairs: vec![0; onto.pairs()],
            attributes: sums.attributes.clone(),
        };
        for (node, children) in self.families(sums.nodes.len()) {
            self.project_node(sums, node, &children, &mut projected);
            self.project_pairs(sums, node, &children, onto, &mut projected);
        }
        projected
    }

    /// Each node that is kept, with its children.
    fn families(&self, nodes: usize) -> impl Iterator<Item = (u32, Vec<u32>)> + '_ {
        let mut children = vec![Vec::new(); nodes];
        for (node, path) in self.from.all().iter().enumerate().take(nodes).skip(1) {
            children[path.parent as usize].push(node as u32);
        }
        let families = (0..).zip(children);
        families.filter(|&(node, _)| self.to[node as usize].is_some())
    }

    fn project_node(&self, sums: &Sums, node: u32, children: &[u32], onto: &mut Sums) {
        let Some(at) = self.to[node as usize] else {
            return;
        };
        let mut own = sums.node(node);
        for (index, &child) in children.iter().enumerate() {
            if self.to[child as usize].is_some() {
                continue;
            }
            let folded = sums.node(child);
            own.exclusive += folded.inclusive;
            own.exclusive_latency += folded.inclusive_latency;
            own.exclusive_squared += folded.inclusive_squared;
            own.exclusive_squared += 2 * product(sums, self.from.pair_with_body(child));
            let folded_before = children[..index].iter();
            for &other in folded_before.filter(|&&other| self.to[other as usize].is_none()) {
                own.exclusive_squared += 2 * product(sums, self.from.pair(other, child));
            }
        }
        onto.nodes[at as usize] = own;
    }

    fn project_pairs(
        &self,
        sums: &Sums,
        node: u32,
        children: &[u32],
        paths: &Paths,
        onto: &mut Sums,
    ) {
        debug_assert!(self.to[node as usize].is_some());
        for (index, &child) in children.iter().enumerate() {
            let Some(at) = self.to[child as usize] else {
                continue;
            };
            let with_own = paths.pair_with_body(at);
            onto.pairs[with_own] += product(sums, self.from.pair_with_body(child));
            for (other_index, &other) in children.iter().enumerate() {
                if other == child {
                    continue;
                }
                let products = product(sums, self.from.pair(child, other));
                match self.to[other as usize] {
                    None => onto.pairs[with_own] += products,
                    Some(other) if other_index < index => {
                        onto.pairs[paths.pair(at, other)] += products;
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Adds the latencies of the round, and where they were spent.
    pub fn add_histogram(&self, histogram: &Histogram, onto: &mut Histogram) {
        onto.merge(histogram, |node| self.to[node]);
    }

    /// Adds the sums of a class.
    pub fn add_class(&self, class: &ClassSums, onto: &mut ClassSums) {
        onto.merge(class, |node| self.own[node] as usize);
    }

    /// Adds the critical paths that were kept.
    pub fn add_kept(&self, keep: &Exemplars, onto: &mut Exemplars) {
        onto.merge(keep, |piece| Piece {
            node: self.own[piece.node as usize],
            ..piece
        });
    }
}

/// The sum at an index of [`Sums::pairs`]: zero beyond its end.
fn product(sums: &Sums, pair: usize) -> i128 {
    sums.pairs.get(pair).copied().unwrap_or_default()
}

/// A path's step in [`Paths::child`]; `None` at the root, and for the node of the probes' cost.
pub fn step_of(path: &Path) -> Option<u32> {
    path.probe.or_else(|| path.state.map(|state| state.step()))
}
