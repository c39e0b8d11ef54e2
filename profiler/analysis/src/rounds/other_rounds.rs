//! Findings of the rounds that the profile does not rest on.
//!
//! A round of refinement ends when the next one times other calls, and its probes may be removed to make room. A path
//! that explained much of the variance in such a round is part of the answer. The report keeps it, with the number of
//! its round and the standard error there. Rounds with different probes are never added up.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::PathSeen;
use crate::rounds::policy::{ERRORS_MIN, PATHS_MAX};
use crate::sites::SiteTable;
use crate::sums::Sums;
use crate::sums::moments::fraction;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::VarianceTree;
use crate::sums::paths::{Path, Paths, ROOT};
use crate::sums::round_sums::RoundSums;
use crate::sums::shares::LISTED_MIN;

/// The paths that explained much of a round's variance.
#[derive(Clone, Debug)]
pub struct RoundFindings {
    /// The part of the variance of all intervals that the round samples fairly.
    pub(super) coverage: f64,
    paths: Paths,
    intervals: u64,
    found: Vec<FoundPath>,
    /// By node: whether its time, or its share of the variance, is at least [`LISTED_MIN`].
    took: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct FoundPath {
    node: u32,
    /// Cov(X, L) / Var(L), inclusive.
    share: f64,
    se: f64,
    /// Mean of X, ticks.
    mean: f64,
}

impl RoundFindings {
    /// The round's paths with shares of at least `share_min`, largest first.
    pub fn of(round: &RoundSums, share_min: f64) -> RoundFindings {
        let blocks = &round.sums.blocks;
        let total = blocks.total();
        let whole = total.latency_moment();
        let share = |sums: &Sums, node| {
            fraction(sums.inclusive_latency_moment(node), sums.latency_moment())
        };
        let took = |node| {
            let time = total.node(node).inclusive as f64;
            time >= LISTED_MIN * total.latency as f64
                || whole > 0.0 && share(&total, node).abs() >= LISTED_MIN
        };
        let took = (ROOT..round.paths.all().len() as u32).map(took).collect();
        let mut nodes: Vec<u32> = (ROOT + 1..round.paths.all().len() as u32)
            .filter(|&node| whole > 0.0 && round.paths.get(node).probe.is_some())
            .filter(|&node| share(&total, node).abs() >= share_min)
            .collect();
        nodes.sort_by(|&a, &b| share(&total, b).abs().total_cmp(&share(&total, a).abs()));
        nodes.truncate(PATHS_MAX);
        let errors = blocks.jackknife(&total, |sums| {
            nodes.iter().map(|&node| share(sums, node)).collect()
        });
        let found = nodes.iter().enumerate().map(|(at, &node)| FoundPath {
            node,
            share: errors.whole[at],
            se: errors.standard_error(at),
            mean: total.node(node).inclusive as f64 / total.intervals.max(1) as f64,
        });
        let found = found.filter(|found| found.share.abs() > ERRORS_MIN * found.se);
        RoundFindings {
            coverage: 0.0,
            found: found.collect(),
            paths: round.paths.clone(),
            intervals: total.intervals,
            took,
        }
    }

    /// The deepest node on the way to `node` that `chosen` has, too, and the nodes below it, innermost first.
    fn placed(&self, node: u32, chosen: &VarianceTree<'_>) -> (Counterparts, Vec<u32>) {
        let (mut here, mut below) = (node, Vec::new());
        loop {
            if let Some(in_chosen) = self.counterpart(here, chosen) {
                return (Counterparts { here, in_chosen }, below);
            }
            below.push(here);
            here = self.paths.get(here).parent;
        }
    }

    /// The share of a node above a found path; 1 if it was not found itself.
    fn share_of(&self, node: u32) -> f64 {
        let found = self.found.iter().find(|found| found.node == node);
        found.map_or(1.0, |found| found.share)
    }

    /// The same call path in another tree, if it was called there.
    fn counterpart(&self, node: u32, others: &VarianceTree<'_>) -> Option<u32> {
        if node == ROOT {
            return Some(ROOT);
        }
        let path = self.paths.get(node);
        let above = self.counterpart(path.parent, others)?;
        let same = |&&other: &&u32| is_same_step(path, others.paths.get(other));
        others.children(above).iter().find(same).copied()
    }
}

/// One node in two trees.
struct Counterparts {
    here: u32,
    in_chosen: u32,
}

/// A call that another round timed and the reported round did not, or not all the time. It may have run in the reported
/// round, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untimed {
    /// Its probe.
    pub probe: u32,
    /// Its caller, a node of the reported tree with other timed calls: the untimed call is part of the caller's own
    /// time.
    pub caller: u32,
    /// Index of the newest round that timed it.
    pub round: usize,
}

/// The calls that are part of a function's own time in `chosen`, the tree of the reported round, although another round
/// timed them. A call is listed once, if it took at least [`LISTED_MIN`] in the other round. Probes that the reported
/// round had all the time (`planted`) are excluded. `others`: as for [`seen_elsewhere`].
pub fn untimed(
    chosen: &VarianceTree<'_>,
    planted: &BTreeSet<u32>,
    others: &[(usize, RoundFindings)],
) -> Vec<Untimed> {
    let mut found: BTreeMap<u32, Untimed> = BTreeMap::new();
    for (round, findings) in others {
        let nodes = findings.paths.all();
        // By node of the other round, the same node in `chosen`. Callers precede their callees.
        let mut same: Vec<Option<u32>> = vec![None; nodes.len()];
        same[ROOT as usize] = Some(ROOT);
        for (node, path) in nodes.iter().enumerate().skip(1) {
            let Some(caller) = same[path.parent as usize] else {
                continue;
            };
            let children = chosen.children(caller).iter();
            let is_same = |&&other: &&u32| is_same_step(path, chosen.paths.get(other));
            same[node] = children.clone().find(is_same).copied();
            let unplanted = path.probe.filter(|probe| !planted.contains(probe));
            let unplanted = unplanted.filter(|_| findings.took[node]);
            if let (Some(probe), None) = (unplanted, same[node])
                && chosen.is_opened(caller)
            {
                let round = *round;
                found.entry(probe).or_insert(Untimed {
                    probe,
                    caller,
                    round,
                });
            }
        }
    }
    found.into_values().collect()
}

fn is_same_step(a: &Path, b: &Path) -> bool {
    a.probe == b.probe && a.state.map(|state| state.step()) == b.state.map(|state| state.step())
}

/// A path that another round has found and the reported one does not have.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Its place, round and share.
    pub seen: PathSeen,
    /// The deepest node of the reported tree that is above it.
    pub above: u32,
    /// The functions below that node, outermost first.
    pub functions: Vec<String>,
    /// The path's share as a fraction of that node's share, in the round that found it.
    pub of_share: f64,
    /// The part of the variance of all intervals that the round samples fairly.
    pub coverage: f64,
}

/// The paths that other rounds found and `chosen`, the tree of the reported round, does not have, largest share first.
/// Each path is listed once, from the newest round that found it. `others`: rounds with their index, the newest first.
pub fn seen_elsewhere(
    chosen: &VarianceTree<'_>,
    others: &[(usize, RoundFindings)],
    sites: &SiteTable,
    ticks_per_ns: f64,
) -> Vec<Elsewhere> {
    let mut seen: Vec<Elsewhere> = Vec::new();
    for (round, findings) in others {
        let names = NodeNames::new(&findings.paths, sites);
        let missing = findings
            .found
            .iter()
            .filter(|found| findings.counterpart(found.node, chosen).is_none());
        for found in missing {
            let path = names.path(found.node);
            if seen.iter().any(|other| other.seen.path == path) {
                continue;
            }
            let (above, below) = findings.placed(found.node, chosen);
            let is_call = |&node: &u32| findings.paths.get(node).state.is_none();
            let calls = below.into_iter().rev().filter(is_call);
            seen.push(Elsewhere {
                functions: calls.map(|node| names.function(node).to_string()).collect(),
                of_share: fraction(found.share, findings.share_of(above.here)),
                above: above.in_chosen,
                coverage: findings.coverage,
                seen: PathSeen {
                    path,
                    round: round + 1,
                    intervals: findings.intervals,
                    share: found.share,
                    se: found.se,
                    mean_ns: found.mean / ticks_per_ns,
                },
            });
        }
    }
    seen.sort_by(|a, b| b.seen.share.abs().total_cmp(&a.seen.share.abs()));
    seen.truncate(PATHS_MAX);
    seen
}
