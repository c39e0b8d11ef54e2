//! Sums by class and minute, of intervals that come one by one, or of a recording that has nothing else.
//!
//! They are the sums of [`evenkeel_analysis::sums`], kept sparsely: what no interval of a minute touched has no row. Of intervals they are computed
//! anew from the columns and in no common code with the profile's, so that both agree only if both are right.

use std::collections::BTreeMap;

use evenkeel_analysis::fleet::observed::{Observed, Spent};
use evenkeel_analysis::intervals::classes::ClassSums;
use evenkeel_analysis::sums::paths::{Paths, ROOT};
use evenkeel_analysis::sums::{NodeSums as ProfileSums, Sums};

/// Sums at one node: of X, X², X L, x, x², x L, N, N² and N X. X is inclusive ticks, x exclusive ticks, N calls, and
/// L the latency.
pub type NodeSums = [i128; 9];

/// Sums over some intervals.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// Number of intervals.
    pub intervals: i64,
    /// By node.
    pub nodes: BTreeMap<u32, NodeSums>,
    /// Products of the inclusive times of two siblings, the later first. Or of a node's inclusive time with the
    /// exclusive time of its parent, which is then the second.
    pub pairs: BTreeMap<(u32, u32), i128>,
    /// Not all sums are known, as for a class in a recording of sums. Known are X, X L, x and x L, and at the root
    /// X².
    pub is_partial: bool,
}

impl Moments {
    /// Moments of a recording of sums, over `paths`.
    pub fn of_sums(sums: &Sums, paths: &Paths) -> Moments {
        let nodes = (0..).zip(&sums.nodes);
        let nodes = nodes.filter(|(_, sums)| **sums != ProfileSums::default());
        let products = sums.products(paths);
        Moments {
            intervals: sums.intervals as i64,
            nodes: nodes.map(|(node, sums)| (node, sums.all())).collect(),
            pairs: products.map(|(a, b, product)| ((a, b), product)).collect(),
            is_partial: false,
        }
    }

    /// Moments of one of its classes.
    pub fn of_class(class: &ClassSums, paths: &Paths) -> Moments {
        let mut moments = Moments {
            intervals: class.intervals as i64,
            is_partial: true,
            ..Moments::default()
        };
        let inclusive = class.inclusive(paths);
        for ((node, own), all) in (0..).zip(&class.nodes).zip(inclusive) {
            if (*own, all) == ((0, 0), (0, 0)) {
                continue;
            }
            let squared = if node == ROOT {
                class.latency_squared
            } else {
                0
            };
            let sums = [all.0, squared, all.1, own.0, 0, own.1, 0, 0, 0];
            moments.nodes.insert(node, sums);
        }
        moments
    }

    /// Whether the sum at this place of a node's is known.
    pub fn is_known(&self, node: u32, place: usize) -> bool {
        !self.is_partial || [0, 2, 3, 5].contains(&place) || (place == 1 && node == ROOT)
    }

    /// Adds an interval over `paths`.
    pub fn add(&mut self, interval: &Observed, paths: &Paths) {
        let (latency, weight) = (i128::from(interval.latency), i128::from(interval.weight));
        self.intervals += interval.weight as i64;
        for spent in &interval.spent {
            let calls = i128::from(spent.calls);
            let [inclusive, exclusive] = [spent.inclusive, spent.exclusive].map(i128::from);
            let sums = self.nodes.entry(spent.node).or_default();
            let added = [
                inclusive,
                inclusive * inclusive,
                inclusive * latency,
                exclusive,
                exclusive * exclusive,
                exclusive * latency,
                calls,
                calls * calls,
                calls * inclusive,
            ];
            let both = sums.iter_mut().zip(added);
            both.for_each(|(sum, it)| *sum += weight * it);
        }
        self.add_pairs(&interval.spent, weight, paths);
    }

    fn add_pairs(&mut self, spent: &[Spent], weight: i128, paths: &Paths) {
        let mut children: BTreeMap<u32, Vec<&Spent>> = BTreeMap::new();
        for at in spent.iter().filter(|at| at.node != ROOT) {
            children
                .entry(paths.get(at.node).parent)
                .or_default()
                .push(at);
        }
        for parent in spent {
            let Some(children) = children.get_mut(&parent.node) else {
                continue;
            };
            children.sort_unstable_by_key(|child| child.node);
            for (at, child) in children.iter().enumerate() {
                let inclusive = weight * i128::from(child.inclusive);
                let with_own = inclusive * i128::from(parent.exclusive);
                *self.pairs.entry((child.node, parent.node)).or_default() += with_own;
                for earlier in &children[..at] {
                    let product = inclusive * i128::from(earlier.inclusive);
                    *self.pairs.entry((child.node, earlier.node)).or_default() += product;
                }
            }
        }
    }

    /// Adds sums of other intervals over the same paths.
    pub fn merge(&mut self, other: &Moments) {
        self.intervals += other.intervals;
        self.is_partial |= other.is_partial;
        for (&node, sums) in &other.nodes {
            let mine = self.nodes.entry(node).or_default();
            mine.iter_mut().zip(sums).for_each(|(sum, it)| *sum += it);
        }
        for (&pair, product) in &other.pairs {
            *self.pairs.entry(pair).or_default() += product;
        }
    }
}
