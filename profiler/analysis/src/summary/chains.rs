//! Chains of waits: a slow interval waits for a thread, which waits for another one, and so on to the head.
//!
//! Each piece of a critical path lies below a *crossing* for every thread that is waited for (`critical/states.rs`).
//! Consecutive pieces below one wait of the interval itself are one wait. Of each wait the chain follows the crossing
//! with most of the time, as long as that is half of the time above it. A finding has the chain whose classes and roles
//! have most of the time of its waits, with the threads of the interval that waited so for longest.

use std::collections::BTreeMap;

use crate::critical::exemplars::Exemplar;
use crate::critical::path::{ClientWait, Piece};
use crate::critical::states::State;
use crate::findings::plumbing::{is_plumbing, is_unnamed};
use crate::findings::{Chain, Finding, IdleInTransaction, Link};
use crate::inputs::Inputs;
use crate::sums::Sums;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::ROOT;

/// A finding has a chain from this part of its time that it waits for others, and the chain this part of its waits.
const CHAIN_MIN: f64 = 0.3;

/// A thread that is waited for, during one wait.
#[derive(Clone, Debug, Default)]
struct Hop {
    /// The crossing.
    node: u32,
    /// The crossing above it.
    above: Option<u32>,
    ticks: u64,
    /// Ticks by thread, of pieces of this crossing's own.
    threads: BTreeMap<u64, u64>,
    /// The same by what the thread did.
    functions: BTreeMap<String, u64>,
}

impl Hop {
    fn thread(&self) -> Option<u64> {
        most(&self.threads).map(|(&thread, _)| thread)
    }

    /// What has half of the time.
    fn function(&self) -> Option<&String> {
        let (function, ticks) = most(&self.functions)?;
        (2 * ticks >= self.ticks).then_some(function)
    }
}

fn most<T: Ord>(times: &BTreeMap<T, u64>) -> Option<(&T, u64)> {
    let most = times.iter().max_by_key(|&(_, ticks)| *ticks);
    most.map(|(what, ticks)| (what, *ticks))
}

/// What a slow interval waited for threads of one shape.
struct Waited<'a> {
    of: &'a Exemplar,
    until: u64,
    ticks: u64,
    /// The threads of the longest wait.
    hops: Vec<Hop>,
}

impl Waited<'_> {
    /// Adds an earlier wait of the interval: a timer may divide a wait, or the interval waits again and again.
    fn goes_on(&mut self, earlier: Waited<'_>) {
        let longest = |hops: &[Hop]| hops.first().map_or(0, |hop| hop.ticks);
        if longest(&earlier.hops) > longest(&self.hops) {
            self.hops = earlier.hops;
        }
        self.ticks += earlier.ticks;
    }
}

/// What waits have in common that belong together: steps of the states of their crossings, each once in a row.
type Shape = Vec<u32>;

/// Adds the chains of a run's slowest intervals.
pub(super) fn add(findings: &mut [Finding], inputs: &Inputs<'_>) {
    if !inputs.follows_waits {
        return;
    }
    let nothing = Sums::default();
    let mut found: BTreeMap<(usize, Shape), Vec<(usize, Waited<'_>)>> = BTreeMap::new();
    let mut trees: BTreeMap<usize, VarianceTree<'_>> = BTreeMap::new();
    for (kept, round, paths) in inputs.slowest.all() {
        let tree = trees.entry(round).or_insert_with(|| {
            let names = NodeNames::new(paths, inputs.sites).with_classes(inputs.classes);
            VarianceTree::new(names, &nothing)
        });
        for waited in waits(tree, kept) {
            let wait = tree.paths.get(waited.hops[0].node).parent;
            if let Some(at) = finding_of(findings, tree, wait) {
                let shape = shape(tree, &waited.hops);
                let all = found.entry((at, shape)).or_default();
                match all.last_mut().filter(|(_, last)| last.of.id == kept.id) {
                    Some((_, last)) => last.goes_on(waited),
                    None => all.push((round, waited)),
                }
            }
        }
    }
    let total = |all: &[(usize, Waited<'_>)]| all.iter().map(|(_, it)| it.ticks).sum::<u64>();
    for (at, finding) in findings.iter_mut().enumerate() {
        let of_finding = || found.iter().filter(|((of, _), _)| *of == at);
        let whole: u64 = of_finding().map(|(_, all)| total(all)).sum();
        let waits: f64 = match finding.seen_only {
            true => 1.0,
            false => finding.waits_for.iter().map(|it| it.of_time).sum(),
        };
        let Some((_, all)) = of_finding().max_by_key(|(_, all)| total(all)) else {
            continue;
        };
        if waits < CHAIN_MIN || (total(all) as f64) < CHAIN_MIN * whole as f64 {
            continue;
        }
        if let Some((round, longest)) = all.iter().max_by_key(|(_, it)| it.ticks) {
            let chain = chain(&trees[round], longest, all, inputs);
            finding.chain = chain.filter(|chain| finding.seen_only || is_most(chain, finding));
        }
    }
}

/// Whether the thread that a chain begins with has most of the time that the finding waits, in all of its intervals.
fn is_most(chain: &Chain, finding: &Finding) -> bool {
    let first = chain.links.first();
    let name = first.and_then(|link| link.class.as_ref().or(link.role.as_ref()));
    let waits = finding.waits_for.iter();
    let whole: f64 = waits.clone().map(|it| it.of_time).sum();
    let own: f64 = waits
        .filter(|it| Some(&it.class) == name)
        .map(|it| it.of_time)
        .sum();
    2.0 * own >= whole
}

/// The waits of one interval that lead to other threads.
fn waits<'a>(tree: &VarianceTree<'_>, kept: &'a Exemplar) -> Vec<Waited<'a>> {
    let crossed = |piece: &Piece| crossings(tree, piece.node);
    let wait_of = |piece: &Piece| crossed(piece).first().map(|&at| tree.paths.get(at).parent);
    let runs = kept
        .pieces
        .chunk_by(|later, earlier| wait_of(later) == wait_of(earlier));
    let followed = runs.filter(|run| wait_of(&run[0]).is_some());
    let waited = followed.filter_map(|run| {
        let hops = to_the_head(hops(tree, run), kept.thread);
        Some(Waited {
            of: kept,
            until: run[0].to,
            ticks: hops.first()?.ticks,
            hops,
        })
    });
    waited.collect()
}

/// A node and those above it, up to the root.
fn path_up(tree: &VarianceTree<'_>, node: u32) -> impl Iterator<Item = u32> {
    let above = |&at: &u32| (at != ROOT).then(|| tree.paths.get(at).parent);
    std::iter::successors(Some(node), above)
}

/// The crossings above a node, outermost first. Empty where the interval itself does not wait: its thread did something
/// else.
fn crossings(tree: &VarianceTree<'_>, node: u32) -> Vec<u32> {
    let is_crossing = |&at: &u32| tree.state(at).is_some_and(State::is_crossing);
    let mut found: Vec<u32> = path_up(tree, node).filter(is_crossing).collect();
    found.reverse();
    let first = found.first().map(|&at| tree.paths.get(at).parent);
    let is_wait = first.is_some_and(|at| matches!(tree.state(at), Some(State::Waits(_))));
    if is_wait { found } else { Vec::new() }
}

/// The threads of one wait, by crossing.
fn hops(tree: &VarianceTree<'_>, run: &[Piece]) -> BTreeMap<u32, Hop> {
    let mut hops: BTreeMap<u32, Hop> = BTreeMap::new();
    for piece in run {
        let ticks = piece.to - piece.from;
        let crossed = crossings(tree, piece.node);
        for (at, &node) in crossed.iter().enumerate() {
            let hop = hops.entry(node).or_default();
            hop.node = node;
            hop.above = at.checked_sub(1).map(|above| crossed[above]);
            hop.ticks += ticks;
        }
        let Some(hop) = crossed.last().and_then(|node| hops.get_mut(node)) else {
            continue;
        };
        // The thread of a wait that was not followed does not belong to this crossing.
        if tree.state(piece.node) != Some(State::Unseen) {
            *hop.threads.entry(piece.thread).or_default() += ticks;
        }
        if let Some(name) = does(tree, piece.node) {
            *hop.functions.entry(name).or_default() += ticks;
        }
    }
    hops
}

/// What a thread does at a node: the nearest function around it that explains something, or what it waits for.
fn does(tree: &VarianceTree<'_>, node: u32) -> Option<String> {
    let is_own = |at: &u32| !tree.state(*at).is_some_and(State::is_crossing);
    let mut names = path_up(tree, node)
        .take_while(is_own)
        .filter_map(|at| match tree.state(at) {
            None | Some(State::Idle { .. } | State::Remote) => Some(tree.name(Part::Call(at))),
            Some(_) => None,
        });
    names.find(|name| !is_plumbing(name) && !is_unnamed(name))
}

/// The hops from the one that the interval waits for to the head. Where a thread comes again, the chain ends before it.
fn to_the_head(hops: BTreeMap<u32, Hop>, own: u64) -> Vec<Hop> {
    let mut chain: Vec<Hop> = Vec::new();
    let mut threads = vec![own];
    loop {
        let last = chain.last();
        let above = last.map(|hop| hop.node);
        let least = last.map_or(0, |hop| hop.ticks.div_ceil(2));
        let below = hops.values().filter(|hop| hop.above == above);
        let Some(next) = below.max_by_key(|hop| hop.ticks) else {
            return chain;
        };
        let thread = next.thread();
        if next.ticks < least || thread.is_some_and(|thread| threads.contains(&thread)) {
            return chain;
        }
        threads.extend(thread);
        chain.push(next.clone());
    }
}

/// The finding to which a wait of the interval belongs: the one whose function is deepest around it.
fn finding_of(findings: &[Finding], tree: &VarianceTree<'_>, wait: u32) -> Option<usize> {
    let path: Vec<String> = path_up(tree, wait)
        .map(|at| tree.function(Part::Call(at)).to_string())
        .collect();
    let nearest = |finding: &Finding| {
        let at = path.iter().position(|name| *name == finding.function)?;
        let is_called = |caller: &String| path[at..].contains(caller);
        let caller = finding.called_by.as_ref();
        caller.is_none_or(is_called).then_some(at)
    };
    let found = findings.iter().enumerate();
    let found = found.filter_map(|(at, finding)| Some((nearest(finding)?, at)));
    let nearest = found.min().map(|(_, at)| at);
    // What was not timed in the profile's rounds may have been in that of the slow interval, or a function above it.
    let is_seen = |finding: &Finding| {
        let mut functions = finding.paths.iter().flat_map(|path| &path.0);
        finding.seen_only && functions.any(|step| Some(&step.function) == path.get(1))
    };
    nearest.or_else(|| findings.iter().position(is_seen))
}

fn shape(tree: &VarianceTree<'_>, hops: &[Hop]) -> Shape {
    let states = hops.iter().filter_map(|hop| tree.state(hop.node));
    let mut shape: Shape = states.map(State::step).collect();
    shape.dedup();
    shape
}

/// The chain as reported; nothing where the finding's holders say as much.
fn chain(
    tree: &VarianceTree<'_>,
    longest: &Waited<'_>,
    all: &[(usize, Waited<'_>)],
    inputs: &Inputs<'_>,
) -> Option<Chain> {
    let head = longest.hops.last()?;
    let rows = longest
        .hops
        .chunk_by(|a, b| tree.state(a.node) == tree.state(b.node));
    let mut links: Vec<Link> = rows.map(|row| link(tree, row, inputs)).collect();
    let last = links.last_mut()?;
    last.function = head.function().cloned();
    last.idle = idle(tree, longest, head, inputs);
    let is_class = last.class.is_some() && last.idle.is_none();
    if longest.hops.len() < 2 && is_class {
        return None;
    }
    Some(Chain {
        class: tree.names().class(longest.of.class.into()).to_owned(),
        waited_ns: longest.ticks as f64 / inputs.options.ticks_per_ns,
        ended_unix_ns: unix_ns(longest.until, inputs),
        intervals: all.len() as u64,
        links,
        says: String::new(),
    })
}

/// Threads in a row that do the same.
fn link(tree: &VarianceTree<'_>, row: &[Hop], inputs: &Inputs<'_>) -> Link {
    let last = &row[row.len() - 1];
    let name = last.thread().and_then(|thread| inputs.names.get(&thread));
    let (class, role) = match tree.state(last.node) {
        Some(State::Other(class)) => (Some(tree.names().class(class.into()).to_owned()), None),
        _ => (None, Some(tree.name(Part::Call(last.node)))),
    };
    Link {
        class,
        role,
        threads: row.len() as u64,
        thread: name.cloned(),
        tid: name.and_then(|name| number(name)),
        ..Link::default()
    }
}

/// The number at the end of a thread's name.
fn number(name: &str) -> Option<u64> {
    let digits = |c: char| c.is_ascii_digit();
    let rest = name.trim_end_matches(digits);
    name[rest.len()..].parse().ok()
}

/// Of a head that waits for its client: since when, and what it did last.
fn idle(
    tree: &VarianceTree<'_>,
    waited: &Waited<'_>,
    head: &Hop,
    inputs: &Inputs<'_>,
) -> Option<IdleInTransaction> {
    let idle = State::Idle {
        in_transaction: true,
    };
    let name = idle.name(|class| tree.names().class(class));
    head.function().filter(|function| **function == name)?;
    let from = waited.until.saturating_sub(waited.of.latency as u64);
    let overlap = |wait: &&ClientWait| {
        let until = wait.until.min(waited.until);
        until.saturating_sub(wait.since.max(from))
    };
    let own = waited.of.client_waits.iter();
    let own = own.filter(|wait| Some(wait.thread) == head.thread());
    let Some(wait) = own.max_by_key(overlap) else {
        return Some(IdleInTransaction::default());
    };
    Some(IdleInTransaction {
        for_ns: (wait.until - wait.since) as f64 / inputs.options.ticks_per_ns,
        since_unix_ns: unix_ns(wait.since, inputs),
        last: wait
            .last
            .map(|class| tree.names().class(class.into()).to_owned()),
    })
}

/// A time of the records' clock in nanoseconds since 1970.
fn unix_ns(ticks: u64, inputs: &Inputs<'_>) -> Option<u64> {
    let started = inputs.slowest.started?;
    let since = (ticks as f64 - started.ticks as f64) / inputs.options.ticks_per_ns;
    Some((started.unix_ns as f64 + since).max(0.0) as u64)
}
