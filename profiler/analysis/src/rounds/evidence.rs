//! Standard errors of variance shares at little cost. Refinement decides by them, and rounds are compared by them.
//!
//! A profile's errors ([`crate::sums::jackknife`]) include sums of pairs and are computed once. Refinement computes
//! errors often, and for single parts only. The jackknife is the same; the sums are in floating point, which is precise
//! enough for an error.

use crate::profile::Node;
use crate::rounds::policy::{BLOCKS_OF_LOOK_MAX, ERRORS_MIN, SHARE_WITH_ERROR_MIN};
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::jackknife::delete_block_variance;
use crate::sums::moments::fraction;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::ROOT;
use crate::sums::round_sums::RoundSums;
use crate::sums::vectors::{Entry, Vector};

/// Sums of one part's time T and of the latency L over some intervals.
#[derive(Clone, Copy, Debug, Default)]
struct PartSums {
    intervals: f64,
    latency: f64,
    latency_squared: f64,
    /// Sums of T, T^2 and T L.
    part: Moments,
}

/// Sums of T, T^2 and T L.
type Moments = [f64; 3];

impl PartSums {
    fn of(sums: &Sums, part: Part) -> PartSums {
        let node = sums.node(part.node());
        let part = match part {
            Part::Call(_) => [
                node.inclusive,
                node.inclusive_squared,
                node.inclusive_latency,
            ],
            Part::Body(_) => [
                node.exclusive,
                node.exclusive_squared,
                node.exclusive_latency,
            ],
        };
        PartSums {
            intervals: sums.intervals as f64,
            latency: sums.latency as f64,
            latency_squared: sums.latency_squared as f64,
            part: part.map(|sum| sum as f64),
        }
    }

    fn combine(self, other: PartSums, with: impl Fn(f64, f64) -> f64) -> PartSums {
        let [a, b, c] = [0, 1, 2].map(|at| with(self.part[at], other.part[at]));
        PartSums {
            intervals: with(self.intervals, other.intervals),
            latency: with(self.latency, other.latency),
            latency_squared: with(self.latency_squared, other.latency_squared),
            part: [a, b, c],
        }
    }

    /// Cov(T, L) / Var(L), and Var(T) / Var(L).
    fn fractions(&self) -> [f64; 2] {
        let moment = |products: f64, a: f64, b: f64| products - a * b / self.intervals.max(1.0);
        let whole = moment(self.latency_squared, self.latency, self.latency);
        let [time, squared, with_latency] = self.part;
        [
            fraction(moment(with_latency, time, self.latency), whole),
            fraction(moment(squared, time, time), whole),
        ]
    }
}

/// Standard errors of a part's two fractions, by leaving out each block; infinite for fewer than two blocks.
fn errors(blocks: &[PartSums]) -> [f64; 2] {
    if blocks.len() < 2 {
        return [f64::INFINITY; 2];
    }
    let whole = blocks.iter().fold(PartSums::default(), |sum, &block| {
        sum.combine(block, |a, b| a + b)
    });
    let sizes: Vec<u64> = blocks.iter().map(|block| block.intervals as u64).collect();
    let without: Vec<[f64; 2]> = blocks
        .iter()
        .map(|&block| whole.combine(block, |a, b| a - b).fractions())
        .collect();
    [0, 1].map(|at| {
        let without: Vec<f64> = without.iter().map(|fractions| fractions[at]).collect();
        delete_block_variance(whole.fractions()[at], &sizes, &without).sqrt()
    })
}

/// Standard errors of a part's fractions. Those of a small part are not computed: they are as large as the part.
fn errors_of([share, variance]: [f64; 2], blocks: impl FnOnce() -> Vec<PartSums>) -> [f64; 2] {
    match share.abs().max(variance) >= SHARE_WITH_ERROR_MIN {
        true => errors(&blocks()),
        false => [share.abs(), variance],
    }
}

/// The nodes of a tree whose intervals were summed in blocks: their names, calls, fractions and errors. All other
/// fields have default values.
pub fn of_round(tree: &VarianceTree<'_>, blocks: &Blocks) -> Node {
    let of_part = |part| {
        let blocks = blocks.blocks().iter();
        blocks.map(|sums| PartSums::of(sums, part)).collect()
    };
    node(tree, Part::Call(ROOT), &of_part)
}

/// The same for the intervals since the last look.
pub fn of_recent(tree: &VarianceTree<'_>, recent: &Recent) -> Node {
    let of_part = |part| {
        let blocks = recent.blocks.iter();
        blocks.map(|block| block.part(part)).collect()
    };
    node(tree, Part::Call(ROOT), &of_part)
}

fn node(tree: &VarianceTree<'_>, part: Part, blocks_of: &impl Fn(Part) -> Vec<PartSums>) -> Node {
    let fractions = PartSums::of(tree.total, part).fractions();
    let [share, variance_fraction] = fractions;
    let [se, variance_se] = errors_of(fractions, || blocks_of(part));
    let is_call = matches!(part, Part::Call(_));
    let parts = match part {
        Part::Call(node) => tree.parts(node),
        Part::Body(_) => Vec::new(),
    };
    let calls = if is_call {
        tree.total.node(part.node()).calls as f64
    } else {
        0.0
    };
    Node {
        name: tree.name(part),
        calls_mean: calls / tree.total.intervals.max(1) as f64,
        probe: tree.paths.get(part.node()).probe.filter(|_| is_call),
        kind: tree.kind(part),
        height: tree.height(part),
        share,
        se,
        variance_fraction,
        variance_se,
        children: parts
            .into_iter()
            .map(|part| node(tree, part, blocks_of))
            .collect(),
        ..Node::default()
    }
}

/// Standard errors of the own shares that are at least `share_min` in magnitude.
fn own_errors(round: &RoundSums, share_min: f64) -> impl Iterator<Item = f64> {
    let shares = own_shares(round).into_iter().enumerate();
    let large = shares.filter(move |(_, share)| share.abs() >= share_min);
    large.map(|(node, _)| own_error(round, node as u32))
}

/// The shares of the nodes' own times, by node.
fn own_shares(round: &RoundSums) -> Vec<f64> {
    let total = round.sums.blocks.total();
    let share = |node| PartSums::of(&total, Part::Body(node)).fractions()[0];
    (0..round.paths.all().len() as u32).map(share).collect()
}

fn own_error(round: &RoundSums, node: u32) -> f64 {
    let of_block = |sums| PartSums::of(sums, Part::Body(node));
    let blocks: Vec<PartSums> = round.sums.blocks.blocks().iter().map(of_block).collect();
    errors(&blocks)[0]
}

/// The mean of the call paths' weights, each counted by the path's own share, and its standard error. The mean may be
/// certain although its distribution over two paths is not. A path that evens the latency out has a negative share; one
/// that is certain counts by its magnitude. Others may be chance, and cancel out.
pub fn mean_by_own_shares(round: &RoundSums, weights: &[f64]) -> [f64; 2] {
    let shares = own_shares(round);
    let sign = |(node, &share): (usize, &f64)| match share < 0.0
        && -share > ERRORS_MIN * own_error(round, node as u32)
    {
        true => -1.0,
        false => 1.0,
    };
    let signs: Vec<f64> = shares.iter().enumerate().map(sign).collect();
    let whole: f64 = shares
        .iter()
        .zip(&signs)
        .map(|(share, sign)| share * sign)
        .sum();
    let of = |sums: &Sums| {
        let mut all = PartSums {
            part: Moments::default(),
            ..PartSums::of(sums, Part::Body(ROOT))
        };
        for (node, (weight, sign)) in (0..).zip(weights.iter().zip(&signs)) {
            let [time, _, with_latency] = PartSums::of(sums, Part::Body(node)).part;
            let counted = fraction(weight * sign, whole);
            all.part[0] += counted * time;
            all.part[2] += counted * with_latency;
        }
        all
    };
    let blocks: Vec<PartSums> = round.sums.blocks.blocks().iter().map(of).collect();
    let [mean, _] = of(&round.sums.blocks.total()).fractions();
    [mean, errors(&blocks)[0]]
}

/// The largest standard error among the own shares of at least `share_min`: the precision of the round's profile.
pub fn largest_error(round: &RoundSums, share_min: f64) -> f64 {
    own_errors(round, share_min).fold(0.0, f64::max)
}

/// Sums of the intervals since refinement looked last, in at most [`BLOCKS_OF_LOOK_MAX`] blocks of consecutive
/// intervals.
#[derive(Debug, Default)]
pub struct Recent {
    /// The round of these intervals.
    round: Option<usize>,
    /// Intervals of a full block.
    length: u64,
    blocks: Vec<Block>,
}

#[derive(Debug, Default)]
struct Block {
    intervals: u64,
    latency: f64,
    latency_squared: f64,
    /// By node: moments of inclusive and of exclusive time.
    nodes: Vec<[Moments; 2]>,
}

impl Recent {
    /// Removes all intervals: refinement has looked at them.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.length = 1;
    }

    /// Adds an interval of the newest round.
    pub fn add(&mut self, round: usize, vector: &Vector<'_>) {
        if self.round != Some(round) {
            self.round = Some(round);
            self.clear();
        }
        let is_full = |block: &Block| block.intervals >= self.length;
        if self.blocks.last().is_none_or(is_full) {
            if self.blocks.len() == BLOCKS_OF_LOOK_MAX {
                self.halve();
            }
            self.blocks.push(Block::default());
        }
        let newest = self.blocks.last_mut().expect("just made");
        newest.add(vector);
    }

    fn halve(&mut self) {
        let mut old = std::mem::take(&mut self.blocks).into_iter();
        while let (Some(mut first), Some(second)) = (old.next(), old.next()) {
            first.merge(&second);
            self.blocks.push(first);
        }
        self.length *= 2;
    }
}

impl Block {
    fn add(&mut self, vector: &Vector<'_>) {
        let (latency, weight) = (vector.latency as f64, vector.weight as f64);
        self.intervals += vector.weight;
        self.latency += weight * latency;
        self.latency_squared += weight * latency * latency;
        let of = |ticks: i64| {
            let (ticks, weighted) = (ticks as f64, weight * ticks as f64);
            [weighted, weighted * ticks, weighted * latency]
        };
        for entry in vector.entries {
            let Entry {
                node,
                inclusive,
                exclusive,
                ..
            } = *entry;
            add(self.node(node), &[of(inclusive), of(exclusive)]);
        }
    }

    fn node(&mut self, node: u32) -> &mut [Moments; 2] {
        let at = node as usize;
        if self.nodes.len() <= at {
            self.nodes.resize(at + 1, Default::default());
        }
        &mut self.nodes[at]
    }

    fn merge(&mut self, other: &Block) {
        self.intervals += other.intervals;
        self.latency += other.latency;
        self.latency_squared += other.latency_squared;
        for (at, moments) in other.nodes.iter().enumerate() {
            add(self.node(at as u32), moments);
        }
    }

    fn part(&self, part: Part) -> PartSums {
        let [inclusive, exclusive] = match self.nodes.get(part.node() as usize) {
            Some(&moments) => moments,
            None => Default::default(),
        };
        PartSums {
            intervals: self.intervals as f64,
            latency: self.latency,
            latency_squared: self.latency_squared,
            part: match part {
                Part::Call(_) => inclusive,
                Part::Body(_) => exclusive,
            },
        }
    }
}

fn add(to: &mut [Moments; 2], more: &[Moments; 2]) {
    for (to, more) in to.iter_mut().flatten().zip(more.iter().flatten()) {
        *to += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::paths::Paths;
    use crate::sums::vectors::Vectoriser;

    fn block(values: &[(f64, f64)]) -> PartSums {
        let add = |sums: PartSums, &(time, latency): &(f64, f64)| {
            let one = PartSums {
                intervals: 1.0,
                latency,
                latency_squared: latency * latency,
                part: [time, time * time, time * latency],
            };
            sums.combine(one, |a, b| a + b)
        };
        values.iter().fold(PartSums::default(), add)
    }

    /// T = 1, 3 with L = 2, 6: Var(T) = 2, Var(L) = 8, Cov = 4.
    #[test]
    fn fractions_of_a_part() {
        assert_eq!(block(&[(1.0, 2.0), (3.0, 6.0)]).fractions(), [0.5, 0.25]);
    }

    /// Half of the latency in every block: the share is exact. One stall in one of four blocks: without it the share
    /// differs much, so the standard error is large.
    #[test]
    fn one_stall_is_no_evidence() {
        let steady = block(&[(1.0, 2.0), (3.0, 6.0), (2.0, 4.0)]);
        assert!(errors(&[steady; 4])[0] < 1e-9);
        let stalled = block(&[(1.0, 2.0), (1000.0, 1003.0), (2.0, 4.0)]);
        let [share, _] = [steady, steady, steady, stalled]
            .into_iter()
            .fold(PartSums::default(), |a, b| a.combine(b, |a, b| a + b))
            .fractions();
        let [error, _] = errors(&[steady, steady, steady, stalled]);
        assert!(share > 0.99 && share - 2.0 * error < 0.3, "{share} {error}");
    }

    #[test]
    fn errors_of_small_parts_are_the_parts() {
        let steady = || vec![block(&[(1.0, 2.0), (3.0, 6.0), (2.0, 4.0)]); 4];
        assert_eq!(errors_of([-4e-4, 3e-4], steady), [4e-4, 3e-4]);
        assert!(errors_of([-6e-4, 3e-4], steady)[0] < 1e-9);
        assert!(errors_of([0.0, 6e-4], steady)[1] < 1e-9);
    }

    /// Blocks are merged in pairs when there are too many, so their number stays within a factor of two.
    #[test]
    fn the_last_look_is_summed_in_some_blocks() {
        let (mut recent, mut paths) = (Recent::default(), Paths::default());
        let mut vectoriser = Vectoriser::default();
        for number in 0..1000 {
            let vector = vectoriser.of_calls([0, 100 + number % 7], &[], &mut paths);
            recent.add(0, &vector);
        }
        let blocks = recent.blocks.iter();
        assert_eq!(blocks.map(|block| block.intervals).sum::<u64>(), 1000);
        assert!((16..=32).contains(&recent.blocks.len()));
    }

    #[test]
    fn one_block_says_nothing() {
        assert_eq!(errors(&[block(&[(1.0, 2.0)])]), [f64::INFINITY; 2]);
    }
}
