//! Findings: the causes that a report begins with. Factors overlap: a chain of callers and callees that wait in one
//! place is a factor each. A finding is one cause, and no two share any time.
//!
//! 1. Each node's own time belongs to a *context*: a chain of functions that explain something (`causes`). A chain of
//!    callers and callees that wait is one context, that of the waiting function. The context includes the C library's
//!    functions below it and the activity of the threads that it waits for. Several call sites of one function in one
//!    caller are one context.
//! 2. The shares Cov(x, L) / Var(L) of own times add up to 1. Contexts with a large enough share are findings; smaller
//!    ones are added to their caller (`partition`). A share includes half of each covariance with the rest, and all
//!    covariances within the finding.
//! 3. A finding has its share, its part of the tail, its frequency, its classes and its holders (`holders`). Factors
//!    are assigned to the findings that contain their nodes' time.
//!
//! Large negative covariances are [`Trade`]s. They are listed separately from the findings.

pub mod call_path;
pub(crate) mod causes;
pub mod cohorts;
pub mod factors;
mod holders;
pub(crate) mod model;
pub mod not_opened;
pub(crate) mod partition;
pub mod plumbing;
pub mod reasons;
pub mod unseen;
pub mod warnings;

use std::collections::BTreeMap;

use crate::findings::call_path::CallPath;
use crate::findings::factors::Ranked;
use crate::intervals::classes::{ClassSums, ClassTable};
use crate::rounds::other_rounds::Elsewhere;
use crate::sites::{Function, Kind};
use crate::sums::moments::{co_moment, fraction};
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};
use crate::sums::round_sums::RoundSums;
use crate::sums::shares::{LISTED_MIN, TAILS};
use causes::{Causes, TOP};
use partition::{Measured, Partition};
use plumbing::is_unnamed;

pub use model::{
    Advice, Chain, Finding, FindingClass, GivesUp, Holder, IdleInTransaction, Link, Meanwhile,
    TimedInside, Trade, Uncovered, Unnamed,
};

/// Share of a finding, at least.
pub(crate) const FINDING_MIN: f64 = 0.05;
/// A factor is assigned to each finding that has this part of its time's share.
const FACTOR_PART: f64 = 0.25;
/// Classes listed of one finding, at most.
const CLASSES_MAX: usize = 8;
/// Another round represents the load of the run if it samples this part of the variance of all intervals fairly.
const COVERAGE_MIN: f64 = 0.5;
/// Smallest part of a finding's share for which another round's path inside of it is reported.
const INSIDE_MIN: f64 = 0.5;
/// Smallest part of the finding's time for which a function without a name is reported.
const UNNAMED_PART: f64 = 0.5;

/// The findings of one round.
#[derive(Debug, Default)]
pub struct FindingsOfRound {
    /// Largest share first.
    pub findings: Vec<Finding>,
    /// The rest of the variance.
    pub uncovered: Uncovered,
    /// By node: the finding that contains its own time.
    pub of_node: Vec<Option<usize>>,
}

/// The findings of one round. `factors` are those of the same tree.
pub fn findings(
    tree: &VarianceTree<'_>,
    detail: &RoundSums,
    classes: &ClassTable,
    factors: &[Ranked],
    elsewhere: &[Elsewhere],
    threshold: f64,
    ticks_per_ns: f64,
) -> FindingsOfRound {
    let causes = Causes::of(tree);
    let whole = tree.total.latency_moment();
    if whole <= 0.0 {
        return FindingsOfRound::default();
    }
    let blocks = &detail.sums.blocks;
    let replicates = blocks.jackknife(tree.total, |sums| {
        let mut shares = vec![0.0; causes.contexts.len()];
        let whole = sums.latency_moment();
        for node in tree.nodes() {
            let own = sums.exclusive_latency_moment(node);
            shares[causes.of_node[node as usize] as usize] += fraction(own, whole);
        }
        shares
    });
    let shares: Vec<Measured> = (0..causes.contexts.len())
        .map(|at| Measured::of(&replicates, at))
        .collect();
    let least = threshold.max(FINDING_MIN);
    let partition = partition::partition(&causes, &shares, &replicates.sizes, least);
    let builder = Builder {
        tree,
        detail,
        classes,
        causes: &causes,
        partition: &partition,
        elsewhere,
        ticks_per_ns,
    };
    let mut found: Vec<(usize, Finding)> = (0..partition.findings.len())
        .map(|at| (at, builder.finding(at)))
        .collect();
    found.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    let mut uncovered = Uncovered {
        share: partition.uncovered.0,
        se: partition.uncovered.1,
        factors: Vec::new(),
    };
    for (index, factor) in factors.iter().enumerate() {
        let parts = builder.parts_of(&factor.parts);
        let mut is_in_one = false;
        for (number, finding) in &mut found {
            if parts
                .get(&Some(*number))
                .is_some_and(|&part| part >= FACTOR_PART)
            {
                finding.factors.push(index);
                is_in_one = true;
            }
        }
        if !is_in_one {
            uncovered.factors.push(index);
        }
    }
    // Places in the order of their shares.
    let place = |number: usize| found.iter().position(|(at, _)| *at == number);
    let of_node = causes.of_node.iter().enumerate().map(|(node, &context)| {
        let number = partition.of_context[context as usize].filter(|_| node as u32 != PROBES);
        number.and_then(place)
    });
    FindingsOfRound {
        of_node: of_node.collect(),
        findings: found.into_iter().map(|(_, finding)| finding).collect(),
        uncovered,
    }
}

struct Builder<'a> {
    tree: &'a VarianceTree<'a>,
    detail: &'a RoundSums,
    classes: &'a ClassTable,
    causes: &'a Causes,
    partition: &'a Partition,
    elsewhere: &'a [Elsewhere],
    ticks_per_ns: f64,
}

/// The paths that a finding names have this part of its variance. A path that has none of it would hide what the others have in common.
/// A finding that evens the latency out names all.
const PATHS_COVER: f64 = 0.95;

impl Builder<'_> {
    fn finding(&self, at: usize) -> Finding {
        let ([function, caller], share, se) = self.partition.findings[at];
        let is_own = |context: u32| self.partition.of_context[context as usize] == Some(at);
        let nodes: Vec<u32> = self
            .tree
            .nodes()
            .filter(|&node| is_own(self.causes.of_node[node as usize]))
            .collect();
        let sums = self.tree.total;
        let ticks: i128 = nodes.iter().map(|&node| sums.node(node).exclusive).sum();
        let intervals = sums.intervals.max(1) as f64;
        let crossings = holders::crossings(self.causes, is_own);
        let entered = self.entered(&nodes, [function, caller]);
        let calls: i128 = entered.iter().map(|&node| sums.node(node).calls).sum();
        let top = self.causes.contexts[TOP as usize].function;
        let name = |id: u32| self.causes.names[id as usize].to_string();
        let spread = 2.0 * self.partition.own[at].abs() < share.abs();
        let called_by = (caller != top).then(|| name(caller));
        let (waits_for, meanwhile) = holders::holders(
            self.tree,
            crossings,
            &self.causes.names[function as usize],
            ticks,
        );
        Finding {
            headline: headline(&name(function), called_by.as_deref(), spread),
            function: name(function),
            called_by,
            kind: self.kind(&nodes, &entered),
            spread,
            share,
            se,
            tail_share: self.tail_share(&nodes, ticks),
            mean_ns: ticks as f64 / intervals / self.ticks_per_ns,
            calls_mean: if entered.is_empty() {
                1.0
            } else {
                calls as f64 / intervals
            },
            classes: self.by_class(&nodes, ticks),
            unnamed: self.unnamed(&nodes, ticks),
            waits_for,
            meanwhile,
            paths: self.paths(entered),
            timed_inside: self.timed_inside(at),
            ..Finding::default()
        }
    }

    /// The deepest path inside of a finding that another round of the same load timed and that explains most of the
    /// finding.
    fn timed_inside(&self, at: usize) -> Option<TimedInside> {
        let context = |node: u32| self.causes.of_node[node as usize] as usize;
        // Other threads' activity during a wait is not part of a function.
        let is_own_call =
            |node: u32| self.tree.state(node).is_none() && !self.causes.is_foreign[node as usize];
        let is_of_finding = |found: &&Elsewhere| {
            is_own_call(found.above) && self.partition.of_context[context(found.above)] == Some(at)
        };
        let deepest = self
            .elsewhere
            .iter()
            .filter(is_of_finding)
            .filter(|found| found.coverage >= COVERAGE_MIN && found.of_share >= INSIDE_MIN)
            .max_by(|a, b| {
                let worth = |found: &Elsewhere| {
                    found.of_share * (1.0 + found.functions.len() as f64).log2()
                };
                worth(a).total_cmp(&worth(b))
            })?;
        Some(TimedInside {
            functions: deepest.functions.clone(),
            round: deepest.seen.round,
            intervals: deepest.seen.intervals,
            share: deepest.seen.share,
            se: deepest.seen.se,
            of_share: deepest.of_share,
        })
    }

    /// The outermost calls of the finding's function.
    fn entered(&self, nodes: &[u32], key: [u32; 2]) -> Vec<u32> {
        let enters = |&node: &u32| {
            let here = self.causes.of_node[node as usize];
            self.causes.key(here) == key && self.causes.enters(self.tree, node)
        };
        nodes.iter().copied().filter(enters).collect()
    }

    fn paths(&self, mut entered: Vec<u32>) -> Vec<CallPath> {
        let share = |&node: &u32| self.tree.total.inclusive_latency_moment(node);
        entered.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let total: f64 = entered.iter().map(share).sum();
        let mut named = 0.0;
        let path = |node| {
            let is_left_out = total > 0.0 && named >= PATHS_COVER * total;
            named += share(&node);
            (!is_left_out).then(|| self.tree.call_path(node))
        };
        let most = entered.into_iter().take(factors::PATHS_MAX);
        most.map_while(path).collect()
    }

    /// The kind of the function, or else the kind of most of its time. Other threads' time has the kind of the wait.
    fn kind(&self, nodes: &[u32], entered: &[u32]) -> Kind {
        if nodes.contains(&ROOT) {
            return self.tree.kind(Part::Body(ROOT));
        }
        let mut kinds = entered.iter().map(|&node| self.tree.kind(Part::Call(node)));
        if let Some(known) = kinds.find(|kind| !matches!(kind, Kind::Call | Kind::Body)) {
            return known;
        }
        let mut times: BTreeMap<Kind, f64> = BTreeMap::new();
        for &node in nodes {
            let mut own = node;
            while self.causes.is_foreign[own as usize] {
                own = self.tree.paths.get(own).parent;
            }
            let kind = self.tree.kind(Part::Call(own));
            *times.entry(kind).or_default() += self.tree.total.exclusive_latency_moment(node);
        }
        let most = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or(Kind::Call, |(kind, _)| kind)
    }

    fn tail_share(&self, nodes: &[u32], ticks: i128) -> BTreeMap<String, f64> {
        let tails = TAILS.iter().filter_map(|&(name, quantile)| {
            let tail = self.detail.sums.histogram.tail(quantile)?;
            let own = |&node: &u32| self.tree.in_tail(&tail, Part::Body(node));
            let in_tail = nodes.iter().map(own).sum();
            Some((
                name.to_owned(),
                self.tree.tail_share(&tail, in_tail, ticks)?,
            ))
        });
        tails.collect()
    }

    /// The function without a name, below one with a name, that has most of the time of `nodes`.
    fn unnamed(&self, nodes: &[u32], ticks: i128) -> Option<Unnamed> {
        let mut times: BTreeMap<Function, i128> = BTreeMap::new();
        for &node in nodes {
            let context = self.causes.of_node[node as usize];
            if self.causes.is_foreign[node as usize]
                || is_unnamed(&self.causes.function(context).name)
            {
                continue;
            }
            let own = |&at: &u32| at != ROOT && self.causes.of_node[at as usize] == context;
            let above =
                std::iter::successors(Some(node), |&at| Some(self.tree.paths.get(at).parent));
            let calls = above
                .take_while(own)
                .filter(|&at| self.tree.state(at).is_none());
            let functions = calls.map(|at| self.tree.function(Part::Call(at)));
            if let Some(function) = functions.filter(|it| is_unnamed(&it.name)).last() {
                *times.entry(function).or_default() += self.tree.total.node(node).exclusive;
            }
        }
        let (function, most) = times.into_iter().max_by_key(|(_, ticks)| *ticks)?;
        let of_time = fraction(most as f64, ticks as f64);
        (of_time >= UNNAMED_PART).then(|| Unnamed {
            function: function.to_string(),
            of_time,
        })
    }

    /// By class: its part of the time, and its part of the share. The sum over its intervals of (x - mean x)(L - mean
    /// L) gives the latter. The means are those of all intervals, so the classes' shares add up to the finding's.
    fn by_class(&self, nodes: &[u32], ticks: i128) -> Vec<FindingClass> {
        let total = self.tree.total;
        let n = total.intervals.max(1) as f64;
        let (mean_x, mean_l) = (ticks as f64 / n, total.latency as f64 / n);
        let whole = total.latency_moment();
        let in_class = |(id, sums): (usize, &ClassSums)| {
            let of = |&node: &u32| sums.nodes.get(node as usize).copied().unwrap_or_default();
            let (x, x_l) = nodes
                .iter()
                .map(of)
                .fold((0, 0), |(x, l), (own, with)| (x + own, l + with));
            let count = sums.intervals as f64;
            let (own_x, own_l) = (x as f64 / count, sums.latency as f64 / count);
            // The covariance within the class, and the distance of the class's means from the overall means.
            let within = co_moment(sums.intervals, x_l, x, sums.latency);
            let moment = within + count * (own_x - mean_x) * (own_l - mean_l);
            FindingClass {
                name: self.classes.name(id).to_owned(),
                of_time: fraction(x as f64, ticks as f64),
                share: fraction(moment, whole),
                mean_ns: own_x / self.ticks_per_ns,
            }
        };
        let sums = &self.detail.sums.classes;
        let present = sums
            .iter()
            .enumerate()
            .filter(|(_, class)| class.intervals > 0);
        if present.clone().all(|(id, _)| ClassTable::is_unlabelled(id)) {
            return Vec::new();
        }
        let mut classes: Vec<FindingClass> = present.map(in_class).collect();
        classes.retain(|class| class.of_time >= LISTED_MIN);
        classes.sort_by(|a, b| b.of_time.total_cmp(&a.of_time));
        classes.truncate(CLASSES_MAX);
        classes
    }

    /// Divides the own times' shares below these parts among the findings, by magnitude.
    fn parts_of(&self, parts: &[Part]) -> BTreeMap<Option<usize>, f64> {
        let mut sums: BTreeMap<Option<usize>, f64> = BTreeMap::new();
        for &part in parts {
            let mut open = vec![part.node()];
            while let Some(node) = open.pop() {
                let finding = match node {
                    PROBES => None,
                    _ => self.partition.of_context[self.causes.of_node[node as usize] as usize],
                };
                *sums.entry(finding).or_default() += self.tree.total.exclusive_latency_moment(node);
                if matches!(part, Part::Call(_)) {
                    open.extend(self.tree.children(node));
                }
            }
        }
        let all: f64 = sums.values().map(|sum| sum.abs()).sum();
        sums.values_mut()
            .for_each(|sum| *sum = fraction(sum.abs(), all));
        sums
    }
}

/// `f called by g`.
pub fn headline(function: &str, called_by: Option<&str>, spread: bool) -> String {
    let mut text = function.to_owned();
    if let Some(caller) = called_by {
        text = format!("{text} called by {caller}");
    }
    if spread {
        text += ", spread over the calls below it";
    }
    text
}
