//! The tree of the profile: covariance shares, tail shares and covariances (`variance.md` sections 3 and 4).
//!
//! A share is Cov(X, L) / Var(L). Covariance is linear in its first argument, so the shares of a node's parts add up to
//! the node's, and the root's is Var(L) / Var(L) = 1.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::profile::{Covariance, Node};
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::histogram::{Histogram, Tail};
use crate::sums::moments::fraction;
use crate::sums::moments::standard_deviation;
use crate::sums::parts::{Part, VarianceTree, pair_moment};
use crate::sums::paths::ROOT;

/// Quantiles whose tail is shown, by name.
pub const TAILS: [(&str, f64); 3] = [("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Smallest part of a whole that is listed. The whole is a finding's time, the difference of slow intervals, a latency
/// that is compared, or a round's time or variance.
pub const LISTED_MIN: f64 = 0.01;
/// Covariances listed contribute at least this fraction of Var(L): siblings have squares of pairs, nearly all of them
/// nothing.
pub const COVARIANCE_MIN: f64 = 1e-4;

/// The tree of one round. Latencies are brought to nanoseconds with `ticks_per_ns`.
pub fn tree(
    tree: &VarianceTree<'_>,
    blocks: &Blocks,
    histogram: &Histogram,
    ticks_per_ns: f64,
) -> Node {
    let parts = tree.all_parts();
    let pairs = notable_pairs(tree);
    let statistics = |sums: &Sums| {
        let whole = sums.latency_moment();
        let shares = parts.iter().map(|part| part.latency_moment(sums));
        let pairs = pairs
            .iter()
            .map(|&(a, b)| 2.0 * pair_moment(sums, tree.paths, a, b));
        shares
            .chain(pairs)
            .map(|moment| fraction(moment, whole))
            .collect()
    };
    let replicates = blocks.jackknife(tree.total, statistics);
    let estimate = |at: usize| (replicates.whole[at], replicates.standard_error(at));

    let shares = parts
        .iter()
        .enumerate()
        .map(|(at, &part)| (part, estimate(at)))
        .collect();
    let mut covariances = Covariances::default();
    for (at, &(a, b)) in pairs.iter().enumerate() {
        let above = tree.paths.get(a.node()).parent;
        let (contribution, se) = estimate(parts.len() + at);
        covariances
            .entry(above)
            .or_default()
            .push((a, b, contribution, se));
    }
    let tails = TAILS
        .iter()
        .filter_map(|&(name, quantile)| Some((name, histogram.tail(quantile)?)))
        .collect();
    Builder {
        tree,
        shares,
        covariances,
        tails,
        ticks_per_ns,
    }
    .node(Part::Call(ROOT))
}

/// Pairs of parts of one node with a covariance worth listing; the first of each is a call.
fn notable_pairs(tree: &VarianceTree<'_>) -> Vec<(Part, Part)> {
    let whole = tree.total.latency_moment();
    let mut pairs = Vec::new();
    for node in tree.nodes() {
        let parts = tree.parts(node);
        for (at, &a) in parts.iter().enumerate() {
            for &b in &parts[at + 1..] {
                let contribution = fraction(2.0 * pair_moment(tree.total, tree.paths, a, b), whole);
                if contribution.abs() >= COVARIANCE_MIN {
                    pairs.push((a, b));
                }
            }
        }
    }
    pairs
}

/// By the node above: both parts, contribution, standard error.
type Covariances = FxHashMap<u32, Vec<(Part, Part, f64, f64)>>;

struct Builder<'a> {
    tree: &'a VarianceTree<'a>,
    /// Share and standard error.
    shares: FxHashMap<Part, (f64, f64)>,
    covariances: Covariances,
    tails: Vec<(&'static str, Tail)>,
    ticks_per_ns: f64,
}

impl Builder<'_> {
    fn node(&self, part: Part) -> Node {
        let Builder { tree, .. } = self;
        let sums = tree.total;
        let own = sums.node(part.node());
        let intervals = sums.intervals.max(1) as f64;
        let call = matches!(part, Part::Call(_));
        let site = tree.site(part.node()).filter(|_| call);
        let mut children = match part {
            Part::Call(node) => tree.parts(node),
            Part::Body(_) => Vec::new(),
        };
        children.sort_by(|a, b| self.shares[b].0.total_cmp(&self.shares[a].0));
        let (share, se) = self.shares[&part];
        Node {
            id: part.id(),
            name: tree.name(part),
            site: site.map_or_else(String::new, |site| site.site.clone()),
            probe: tree.paths.get(part.node()).probe.filter(|_| call),
            file: site.and_then(|site| site.file.clone()),
            line: site.and_then(|site| site.line),
            kind: tree.kind(part),
            mean_ns: part.sum(sums) as f64 / intervals / self.ticks_per_ns,
            sd_ns: standard_deviation(part.moment(sums), sums.intervals) / self.ticks_per_ns,
            calls_mean: if part == Part::Call(ROOT) {
                1.0
            } else {
                own.calls as f64 / intervals
            },
            variance_fraction: fraction(part.moment(sums), sums.latency_moment()),
            variance_se: 0.0,
            share,
            se,
            calls_explained: call.then(|| sums.calls_explained(part.node())).flatten(),
            tail_share: self.tail_shares(part),
            height: tree.height(part),
            covariances: self.covariances(part, &children),
            children: children.into_iter().map(|child| self.node(child)).collect(),
        }
    }

    fn covariances(&self, part: Part, children: &[Part]) -> Vec<Covariance> {
        let index = |part: Part| {
            children
                .iter()
                .position(|&child| child == part)
                .expect("both are children")
        };
        let Part::Call(node) = part else {
            return Vec::new();
        };
        let pairs = self.covariances.get(&node).map_or(&[][..], |pairs| pairs);
        let mut listed: Vec<Covariance> = pairs
            .iter()
            .map(|&(a, b, contribution, se)| Covariance {
                a: index(a),
                b: index(b),
                contribution,
                se,
            })
            .collect();
        listed.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        listed
    }

    fn tail_shares(&self, part: Part) -> BTreeMap<String, f64> {
        let in_all = part.sum(self.tree.total);
        let share = |tail: &Tail| {
            let in_tail = self.tree.in_tail(tail, part);
            self.tree.tail_share(tail, in_tail, in_all)
        };
        self.tails
            .iter()
            .filter_map(|(name, tail)| Some(((*name).to_owned(), share(tail)?)))
            .collect()
    }
}
