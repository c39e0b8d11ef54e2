//! What other rounds have found than the one that a profile rests on.
//!
//! A round of refinement ends where the next begins to time something else, and its probes may have had to make room. A path
//! that explained much of the variance then is part of the answer: it stays in the report, with the round that saw it and
//! its error there. Nothing is added up over rounds whose probes differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::PathSeen;
use crate::rounds::policy::{ERRORS_MIN, PATHS_MAX, TAKEN_MIN};
use crate::sites::SiteTable;
use crate::sums::Sums;
use crate::sums::moments::fraction;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{Path, Paths, ROOT};
use crate::sums::round_sums::RoundSums;

/// The paths that explained much of a round's variance.
#[derive(Clone, Debug)]
pub struct RoundFindings {
    paths: Paths,
    intervals: u64,
    found: Vec<Found>,
    /// By node: whether it took [`TAKEN_MIN`].
    took: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    node: u32,
    /// Cov(X, L) / Var(L), inclusive.
    share: f64,
    se: f64,
    /// Mean of X, ticks.
    mean: f64,
}

impl RoundFindings {
    /// What is known of a round, of shares of at least `share_min`, largest first.
    pub fn of(round: &RoundSums, share_min: f64) -> RoundFindings {
        let blocks = &round.sums.blocks;
        let total = blocks.total();
        let whole = total.latency_moment();
        let share = |sums: &Sums, node| {
            fraction(sums.inclusive_latency_moment(node), sums.latency_moment())
        };
        let took = |node| {
            let time = total.node(node).inclusive as f64;
            time >= TAKEN_MIN * total.latency as f64
                || whole > 0.0 && share(&total, node).abs() >= TAKEN_MIN
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
        let found = nodes.iter().enumerate().map(|(at, &node)| Found {
            node,
            share: errors.whole[at],
            se: errors.standard_error(at),
            mean: total.node(node).inclusive as f64 / total.intervals.max(1) as f64,
        });
        let found = found.filter(|found| found.share.abs() > ERRORS_MIN * found.se);
        RoundFindings {
            found: found.collect(),
            paths: round.paths.clone(),
            intervals: total.intervals,
            took,
        }
    }

    /// The node of a path among other call paths, if it was called there.
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

/// A call that another round has timed and the reported one has not, or not all the time: it may have been made there, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untimed {
    /// Its probe.
    pub probe: u32,
    /// Who calls it, a node of the reported tree whose other calls are timed: what the call takes is in its own time.
    pub caller: u32,
    /// Index of the newest round that timed it.
    pub round: usize,
}

/// The calls that `chosen`, the tree of the reported round, has in its functions' own time: others have timed them, where they took
/// something, and they were not `planted` all the time in that one. Each probe once. `others`: as for [`seen_elsewhere`].
pub fn untimed(
    chosen: &VarianceTree<'_>,
    planted: &BTreeSet<u32>,
    others: &[(usize, RoundFindings)],
) -> Vec<Untimed> {
    let mut found: BTreeMap<u32, Untimed> = BTreeMap::new();
    for (round, findings) in others {
        let nodes = findings.paths.all();
        // By node of the other round, the same one in `chosen`. Callers stand before whom they call.
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

/// The paths that other rounds have found and `chosen`, the tree of the reported one, does not have; each once, from the
/// newest round that found it, largest share first. `others`: rounds with their index, the newest first.
pub fn seen_elsewhere(
    chosen: &VarianceTree<'_>,
    others: &[(usize, RoundFindings)],
    sites: &SiteTable,
    ticks_per_ns: f64,
) -> Vec<PathSeen> {
    let mut seen: Vec<PathSeen> = Vec::new();
    let nothing = Sums::default();
    for (round, findings) in others {
        let names = VarianceTree::new(&findings.paths, &nothing, sites);
        let missing = findings
            .found
            .iter()
            .filter(|found| findings.counterpart(found.node, chosen).is_none());
        for found in missing {
            let path = names.path(Part::Call(found.node));
            if seen.iter().all(|other| other.path != path) {
                seen.push(PathSeen {
                    path,
                    round: round + 1,
                    intervals: findings.intervals,
                    share: found.share,
                    se: found.se,
                    mean_ns: found.mean / ticks_per_ns,
                });
            }
        }
    }
    seen.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    seen.truncate(PATHS_MAX);
    seen
}
