//! The call paths that several rounds share.
//!
//! A probe that one of the rounds did not time is left out of all rounds. A path through such a probe would be
//! ambiguous: another round without the probe would show it directly below the probe's caller. Only a part of it could
//! be shown there, so it is left out below that caller in all rounds. Each remaining path is therefore the same in all
//! rounds.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::critical::blocking::WaitSums;
use crate::sums::blocks::Blocks;
use crate::sums::moments::fraction;
use crate::sums::paths::{PROBES, Paths, ROOT};
use crate::sums::projection::{Projection, step_of};
use crate::sums::round_sums::RoundSums;

/// The call paths of a round without its sums: enough to find the paths that it shares with other rounds.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Its call paths.
    pub paths: Paths,
    /// By node.
    pub nodes: Vec<NodeShape>,
    intervals: u64,
    /// Ids of the probes that were planted all the time, as far as that is known.
    planted: BTreeSet<u32>,
}

/// What a round has summed at a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeShape {
    calls: i128,
    /// Inclusive share of the variance.
    pub share: f64,
    /// Variance of the inclusive time, as a fraction of the latency's variance.
    pub variance: f64,
}

impl Shape {
    /// The shape of a round.
    pub fn of(round: &RoundSums) -> Shape {
        let total = round.sums.blocks.total();
        let whole = total.latency_moment();
        let node = |node| NodeShape {
            calls: total.node(node).calls,
            share: fraction(total.inclusive_latency_moment(node), whole),
            variance: fraction(total.inclusive_moment(node), whole),
        };
        Shape {
            paths: round.paths.clone(),
            nodes: (0..round.paths.all().len() as u32).map(node).collect(),
            intervals: total.intervals,
            planted: BTreeSet::new(),
        }
    }

    /// Sets the probes that were planted all the time: they were timed even if they were never called.
    pub fn planted(self, planted: Option<BTreeSet<u32>>) -> Shape {
        Shape {
            planted: planted.unwrap_or_default(),
            ..self
        }
    }

    /// The same shape under other numbers of probes and classes; numbers beyond the ends stay the same. Probes that are
    /// `untimed`, by their new ids, are left out: their callees become callees of their caller.
    pub fn renamed(&self, probes: &[u32], classes: &[usize], untimed: &[bool]) -> Shape {
        let id_of = |probe: u32| probes.get(probe as usize).copied().unwrap_or(probe);
        let is_untimed = |probe: u32| untimed.get(probe as usize) == Some(&true);
        let planted = self.planted.iter().map(|&probe| id_of(probe));
        let mut renamed = Shape {
            intervals: self.intervals,
            nodes: self.nodes[..self.nodes.len().min(2)].to_vec(),
            planted: planted.filter(|&probe| !is_untimed(probe)).collect(),
            ..Shape::default()
        };
        // The root and the cost of the probes are in all paths.
        let mut to: Vec<Option<u32>> = (0..renamed.nodes.len() as u32).map(Some).collect();
        for (path, sums) in self.paths.all().iter().zip(&self.nodes).skip(to.len()) {
            let above = to[path.parent as usize];
            let step = step_of(path).map(|step| match (path.probe, path.state) {
                (Some(probe), _) => id_of(probe),
                (None, Some(state)) => {
                    let id = |class: u16| classes.get(usize::from(class)).map(|&id| id as u16);
                    state.renamed(|class| id(class).unwrap_or(class)).step()
                }
                _ => step,
            });
            let is_untimed = step.is_some_and(is_untimed);
            let node = match is_untimed {
                true => above,
                false => above
                    .zip(step)
                    .and_then(|(above, step)| renamed.paths.again(above, step)),
            };
            to.push(node);
            let Some(node) = node.filter(|_| !is_untimed) else {
                continue;
            };
            let nodes = renamed.nodes.len().max(node as usize + 1);
            renamed.nodes.resize(nodes, NodeShape::default());
            renamed.nodes[node as usize].add(sums);
        }
        renamed
    }

    /// Number of calls by probe.
    fn calls(&self) -> Vec<f64> {
        let mut calls: Vec<f64> = Vec::new();
        for (path, node) in self.paths.all().iter().zip(&self.nodes) {
            let Some(probe) = path.probe.filter(|_| node.calls > 0) else {
                continue;
            };
            let length = calls.len().max(probe as usize + 1);
            calls.resize(length, 0.0);
            calls[probe as usize] += node.calls as f64;
        }
        calls
    }
}

impl NodeShape {
    fn add(&mut self, other: &NodeShape) {
        self.calls += other.calls;
        self.share += other.share;
        self.variance += other.variance;
    }
}

/// The call paths that some rounds share.
#[derive(Debug, Default)]
pub struct Common {
    /// All of their paths, except those through a probe that is left out.
    all: Paths,
    /// By probe id: whether a round did not time it.
    left_out: Vec<bool>,
    /// Steps that would move to the callers of these probes: a node of `all`, and the step from there.
    ambiguous: FxHashSet<(u32, u32)>,
}

impl Common {
    /// The paths that rounds of one recording share.
    pub fn of(rounds: &[&Shape]) -> Common {
        Common::without(rounds, left_out(rounds))
    }

    /// The paths that rounds of several recordings share; their probes have one numbering. A probe that one recording
    /// leaves out is left out of all. Calls that are frequent in one recording and absent from another do not prove
    /// different probes.
    pub fn of_recordings(recordings: &[Vec<Shape>]) -> Common {
        let mut all_left_out: Vec<bool> = Vec::new();
        for rounds in recordings {
            let rounds: Vec<&Shape> = rounds.iter().collect();
            let left_out = left_out(&rounds);
            let probes = all_left_out.len().max(left_out.len());
            all_left_out.resize(probes, false);
            for (of_all, of_one) in all_left_out.iter_mut().zip(left_out) {
                *of_all |= of_one;
            }
        }
        let rounds: Vec<&Shape> = recordings.iter().flatten().collect();
        Common::without(&rounds, all_left_out)
    }

    fn without(rounds: &[&Shape], left_out: Vec<bool>) -> Common {
        let is_out = |step: u32| left_out.get(step as usize) == Some(&true);
        let mut all = Paths::default();
        let maps: Vec<Vec<Option<u32>>> = rounds
            .iter()
            .map(|round| map(&round.paths, &mut all, |_, step| !is_out(step)))
            .collect();
        let mut ambiguous: FxHashSet<(u32, u32)> = FxHashSet::default();
        for (round, map) in rounds.iter().zip(&maps) {
            let mut caller: Vec<Option<u32>> = vec![None; map.len()];
            for (node, path) in round.paths.all().iter().enumerate().skip(1) {
                let above = path.parent as usize;
                let Some(step) = step_of(path) else { continue };
                if is_out(step) {
                    caller[node] = map[above].or(caller[above]);
                } else if let Some(caller) = caller[above] {
                    ambiguous.insert((caller, step));
                }
            }
        }
        Common {
            all,
            left_out,
            ambiguous,
        }
    }

    /// Whether the rounds have timed the same: nothing is left out.
    pub fn is_all(&self) -> bool {
        !self.left_out.contains(&true)
    }

    /// The paths.
    pub fn paths(&self) -> Paths {
        let mut paths = Paths::default();
        let keeps = |above, step| !self.ambiguous.contains(&(above, step));
        map(&self.all, &mut paths, keeps);
        paths
    }

    /// Empty sums over these paths.
    pub fn detail(&self) -> RoundSums {
        RoundSums {
            paths: self.paths(),
            waits: WaitSums::without(self.left_out.clone()),
            ..RoundSums::default()
        }
    }

    /// Maps the paths of one of the rounds to `onto`, which are [`Common::paths`].
    pub fn projection<'a>(&self, from: &'a Paths, onto: &mut Paths) -> Projection<'a> {
        let is_out = |step: &u32| self.left_out.get(*step as usize) == Some(&true);
        // By node: its place among all paths, and among the paths that remain.
        let mut among_all = vec![Some(ROOT), Some(PROBES)];
        let mut to = among_all.clone();
        for path in from.all().iter().skip(to.len()) {
            let above = path.parent as usize;
            let step = step_of(path).filter(|step| !is_out(step));
            let step = among_all[above].zip(step);
            let node = step.and_then(|(above, step)| self.all.find(above, step));
            among_all.push(node);
            let remains =
                node.is_some() && step.is_some_and(|step| !self.ambiguous.contains(&step));
            let place = to[above].zip(step).filter(|_| remains);
            to.push(place.and_then(|(above, (_, step))| onto.again(above, step)));
        }
        Projection::new(from, to)
    }

    /// Adds the sums of some of the rounds to `onto`, which is [`Common::detail`] with what was added before.
    pub fn add<'a>(&self, rounds: impl IntoIterator<Item = &'a RoundSums>, onto: &mut RoundSums) {
        let mut blocks: Vec<Blocks> = vec![onto.sums.blocks.clone()];
        for round in rounds {
            let projection = self.projection(&round.paths, &mut onto.paths);
            let sums = &mut onto.sums;
            projection.add_histogram(&round.sums.histogram, &mut sums.histogram);
            let classes = sums.classes.len().max(round.sums.classes.len());
            sums.classes.resize(classes, Default::default());
            for (onto, class) in sums.classes.iter_mut().zip(&round.sums.classes) {
                projection.add_class(class, onto);
            }
            let own = |node: usize| projection.own(node as u32) as usize;
            sums.over_time.merge(&round.sums.over_time, own);
            sums.self_cost.merge(&round.sums.self_cost);
            onto.waits.merge(&round.waits);
            projection.add_kept(&round.keep, &mut onto.keep);
            onto.paths.count_folded(round.paths.folded());
            let of_round = round.sums.blocks.blocks().iter();
            let of_round = of_round.map(|sums| projection.sums(sums, &onto.paths));
            blocks.push(Blocks::in_order(of_round));
        }
        onto.sums.blocks = Blocks::joined(blocks);
    }
}

/// Maps each node of `from` to its node in `onto`; nodes below a step that is not kept map to none. `keeps`: whether
/// the step from this node of `from` is kept.
fn map(from: &Paths, onto: &mut Paths, keeps: impl Fn(u32, u32) -> bool) -> Vec<Option<u32>> {
    let mut map: Vec<Option<u32>> = vec![Some(ROOT), Some(PROBES)];
    for path in from.all().iter().skip(map.len()) {
        let above = map[path.parent as usize];
        let step = step_of(path).filter(|&step| keeps(path.parent, step));
        map.push(
            above
                .zip(step)
                .and_then(|(above, step)| onto.again(above, step)),
        );
    }
    map
}

/// By probe id: whether it was called in some round and not timed in all of them. A round without calls of the probe
/// timed it if the probe was planted.
fn left_out(rounds: &[&Shape]) -> Vec<bool> {
    let calls: Vec<Vec<f64>> = rounds.iter().map(|round| round.calls()).collect();
    let probes = calls.iter().map(Vec::len).max().unwrap_or(0);
    let is_called =
        |calls: &[f64], probe: usize| calls.get(probe).is_some_and(|&calls| calls > 0.0);
    (0..probes)
        .map(|probe| {
            let mut called = calls.iter().map(|calls| is_called(calls, probe));
            let is_timed = |(round, calls): (&&Shape, &Vec<f64>)| {
                is_called(calls, probe) || round.planted.contains(&(probe as u32))
            };
            called.any(|called| called) && !rounds.iter().zip(&calls).all(is_timed)
        })
        .collect()
}
