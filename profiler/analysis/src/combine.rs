//! Rounds of compatible plans, taken together.
//!
//! Each step of refinement begins a round, and most steps open what explains little: nearly all that the rounds have timed they have in
//! common. A node's inclusive time does not depend on whether the calls below it are timed, so the sums of several rounds
//! add up on the call paths that they share ([`crate::projection`]), exactly, and the shares rest on all their intervals.
//!
//! **Which paths are shared.** A probe that one of the rounds did not time is left out of all, with what lies below it. A path that in
//! one round is reached through such a probe would stand directly below that probe's caller in another: it is left out below that
//! caller everywhere, since only part of it could be told. So each path that remains is the same in all rounds.
//!
//! **Which rounds.** The round that a profile rests on knows most (`rounds.rs`). Others are added to it, those with most intervals
//! first, as long as no path is lost that tells anything: each has to be smaller than the error of the round's largest
//! shares, and than what makes a finding. And a round is added only if it agrees: mean and variance of the latency and the shares
//! of the larger paths differ by no more than their errors. The load may have changed, and then its sums are another
//! program's.

use rustc_hash::FxHashSet;

use crate::blocks::Blocks;
use crate::critical::who::WaitSums;
use crate::evidence;
use crate::findings::FINDING_MIN;
use crate::moments::fraction;
use crate::other_rounds::SHARE_MIN;
use crate::paths::{PROBES, Paths, ROOT};
use crate::projection::{Projection, step_of};
use crate::rounds::Detail;
use crate::sites::SiteTable;
use crate::sums::Sums;

/// Standard errors by which what is compared may differ: of a dozen that are compared, one differs so much once in forty times.
const ERRORS_MAX: f64 = 3.0;
/// Paths compared have at least this share, ...
const COMPARED_MIN: f64 = 0.05;
/// ... and are at most so many.
const COMPARED_MAX: usize = 8;
/// Where a probe would have been called so often and never was, it was not timed.
const CALLS_EXPECTED: f64 = 10.0;
/// A path with a smaller share is not missed in any case.
const LOST_AT_LEAST: f64 = 0.005;
/// All paths that are lost, as a multiple of what one may have.
const LOST_TOGETHER: f64 = 2.0;

/// Rounds taken together.
#[derive(Debug)]
pub struct Combined {
    /// Their call paths and sums.
    pub detail: Detail,
    /// Which they are.
    pub together: Together,
}

/// Which rounds were taken together, and what that hides.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// Their indices, ascending.
    pub rounds: Vec<usize>,
    /// Rounds whose paths would fit and whose latencies do not agree, with their intervals.
    pub disagreeing: Vec<(usize, u64)>,
    /// Probes of calls that are left out below functions of which other calls are not: their time stands as the functions' own.
    pub hidden: Vec<u32>,
}

/// A round with its index.
pub type Indexed<'a> = (usize, &'a Detail);

/// The round `base` with all of `others` that fit; nothing if none does.
pub fn combine(base: Indexed<'_>, others: &[Indexed<'_>], sites: &SiteTable) -> Option<Combined> {
    let error = evidence::largest_error(&base.1.paths, &base.1.sums.blocks, SHARE_MIN);
    let lost_max = error.clamp(LOST_AT_LEAST, FINDING_MIN);
    let mut order: Vec<Indexed<'_>> = others.to_vec();
    let intervals = |detail: &Detail| detail.sums.blocks.intervals();
    order.sort_by_key(|(_, detail)| std::cmp::Reverse(intervals(detail)));
    let mut chosen = vec![base];
    let mut disagreeing = Vec::new();
    for other in order {
        let mut wider = chosen.clone();
        wider.push(other);
        if is_lost(&Common::of(&wider, sites).projections[0], base.1, lost_max) {
            continue;
        }
        if agree(base, other, sites) {
            chosen = wider;
        } else {
            disagreeing.push((other.0, intervals(other.1)));
        }
    }
    if chosen.len() == 1 && disagreeing.is_empty() {
        return None;
    }
    let hidden = hidden(&Common::of(&chosen, sites).projections[0], base.1);
    chosen.sort_by_key(|&(index, _)| index);
    disagreeing.sort_unstable();
    Some(Combined {
        detail: sum_up(&chosen, sites),
        together: Together {
            rounds: chosen.iter().map(|&(index, _)| index).collect(),
            disagreeing,
            hidden,
        },
    })
}

/// The paths that are left out though what is above them is not.
fn first_left_out(projection: &Projection<'_>, paths: &Paths) -> Vec<u32> {
    let nodes = (ROOT + 1..).zip(paths.all().iter().skip(1));
    let first = nodes.filter(|&(node, path)| {
        projection.node(node).is_none() && projection.node(path.parent).is_some()
    });
    first.map(|(node, _)| node).collect()
}

/// Whether a path is left out that tells something.
fn is_lost(projection: &Projection<'_>, base: &Detail, lost_max: f64) -> bool {
    let total = base.sums.blocks.total();
    let whole = total.latency_moment();
    let mut together = 0.0;
    for node in first_left_out(projection, &base.paths) {
        let share = fraction(total.inclusive_latency_moment(node), whole).abs();
        let variance = fraction(total.inclusive_moment(node), whole);
        if share.max(variance) > lost_max {
            return true;
        }
        together += share;
    }
    together > LOST_TOGETHER * lost_max
}

/// As [`Together::hidden`].
fn hidden(projection: &Projection<'_>, base: &Detail) -> Vec<u32> {
    let total = base.sums.blocks.total();
    let whole = total.latency_moment();
    let mut has_calls = vec![false; base.paths.all().len()];
    for (node, path) in base.paths.all().iter().enumerate().skip(1) {
        let is_kept = projection.node(node as u32).is_some() && node as u32 != PROBES;
        has_calls[path.parent as usize] |= is_kept;
    }
    let told = first_left_out(projection, &base.paths)
        .into_iter()
        .filter(|&node| has_calls[base.paths.get(node).parent as usize])
        .filter(|&node| {
            let share = fraction(total.inclusive_latency_moment(node), whole);
            share.abs() >= LOST_AT_LEAST
        });
    let mut probes: Vec<u32> = told.filter_map(|node| base.paths.get(node).probe).collect();
    probes.sort_unstable();
    probes.dedup();
    probes
}

/// Whether two rounds may be of the same program under the same load.
fn agree(a: Indexed<'_>, b: Indexed<'_>, sites: &SiteTable) -> bool {
    let common = Common::of(&[a, b], sites);
    let blocks = |(at, (_, detail)): (usize, Indexed<'_>)| {
        let parts = detail.sums.blocks.blocks().iter();
        Blocks::joined(parts.map(|sums| common.projections[at].sums(sums, &common.paths)))
    };
    let [a, b] = [(0, a), (1, b)].map(blocks);
    let (total_a, total_b) = (a.total(), b.total());
    let share = |sums: &Sums, node| {
        let moment = sums.inclusive_latency_moment(node);
        fraction(moment, sums.latency_moment())
    };
    let larger = |node: u32| {
        let shares = [&total_a, &total_b].map(|sums| share(sums, node).abs());
        shares[0].max(shares[1])
    };
    let mut nodes: Vec<u32> = (ROOT + 1..common.paths.all().len() as u32)
        .filter(|&node| node != PROBES && larger(node) >= COMPARED_MIN)
        .collect();
    nodes.sort_by(|&x, &y| larger(y).total_cmp(&larger(x)));
    nodes.truncate(COMPARED_MAX);
    let statistics = |sums: &Sums| {
        let count = sums.intervals.max(1) as f64;
        let variance = (sums.latency_moment() / count).max(f64::MIN_POSITIVE);
        let latency = [sums.latency as f64 / count, variance.ln()];
        let shares = nodes.iter().map(|&node| share(sums, node));
        latency.into_iter().chain(shares).collect()
    };
    let (a, b) = (
        a.jackknife(&total_a, statistics),
        b.jackknife(&total_b, statistics),
    );
    (0..a.whole.len()).all(|at| {
        let error = a.standard_error(at).hypot(b.standard_error(at));
        // What differs by less than the last digits of a sum does not differ.
        let rounding = 1e-9 * a.whole[at].abs();
        (a.whole[at] - b.whole[at]).abs() <= ERRORS_MAX * error + rounding
    })
}

/// The sums of rounds on the paths that they share.
pub(crate) fn sum_up(rounds: &[Indexed<'_>], sites: &SiteTable) -> Detail {
    let common = Common::of(rounds, sites);
    let mut detail = Detail {
        waits: WaitSums::without(common.left_out.clone()),
        ..Detail::default()
    };
    let sums = &mut detail.sums;
    for (projection, (_, round)) in common.projections.iter().zip(rounds) {
        projection.add_histogram(&round.sums.histogram, &mut sums.histogram);
        let classes = sums.classes.len().max(round.sums.classes.len());
        sums.classes.resize(classes, Default::default());
        for (onto, class) in sums.classes.iter_mut().zip(&round.sums.classes) {
            projection.add_class(class, onto);
        }
        sums.self_cost.merge(&round.sums.self_cost);
        detail.waits.merge(&round.waits);
        projection.add_kept(&round.keep, &mut detail.keep);
    }
    let parts = common.projections.iter().zip(rounds);
    let blocks = parts.flat_map(|(projection, (_, round))| {
        let blocks = round.sums.blocks.blocks().iter();
        blocks.map(|sums| projection.sums(sums, &common.paths))
    });
    sums.blocks = Blocks::joined(blocks);
    let folded = rounds.iter().map(|(_, round)| round.paths.folded()).sum();
    drop(common.projections);
    detail.paths = common.paths;
    detail.paths.count_folded(folded);
    detail
}

/// The call paths that some rounds share.
#[derive(Debug)]
struct Common<'a> {
    paths: Paths,
    /// Of each round, in their order.
    projections: Vec<Projection<'a>>,
    /// By probe id: not timed in all of them.
    left_out: Vec<bool>,
}

impl<'a> Common<'a> {
    fn of(rounds: &[Indexed<'a>], sites: &SiteTable) -> Common<'a> {
        let left_out = left_out(rounds, sites);
        let is_out = |step: u32| left_out.get(step as usize) == Some(&true);
        // Without these probes, and all below them.
        let mut all = Paths::default();
        let maps: Vec<Vec<Option<u32>>> = rounds
            .iter()
            .map(|(_, round)| map(&round.paths, &mut all, |_, step| !is_out(step)))
            .collect();
        // Steps that would come to stand below the callers of these probes.
        let mut ambiguous: FxHashSet<(u32, u32)> = FxHashSet::default();
        for ((_, round), map) in rounds.iter().zip(&maps) {
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
        let mut paths = Paths::default();
        let keeps = |above, step| !ambiguous.contains(&(above, step));
        let kept = map(&all, &mut paths, keeps);
        let projections = rounds.iter().zip(maps).map(|((_, round), map)| {
            let to = map.into_iter().map(|node| kept[node? as usize]);
            Projection::new(&round.paths, to.collect())
        });
        Common {
            projections: projections.collect(),
            paths,
            left_out,
        }
    }
}

/// Which node of `onto` each node of `from` is: those below a step that is not kept are none. `keeps`: whether a step, from this node of
/// `from`, is.
fn map(from: &Paths, onto: &mut Paths, keeps: impl Fn(u32, u32) -> bool) -> Vec<Option<u32>> {
    let mut map: Vec<Option<u32>> = vec![Some(ROOT), Some(PROBES)];
    for path in from.all().iter().skip(map.len()) {
        let above = map[path.parent as usize];
        let step = step_of(path).filter(|&step| keeps(path.parent, step));
        map.push(
            above
                .zip(step)
                .and_then(|(above, step)| onto.child(above, step)),
        );
    }
    map
}

/// By probe id: whether it was not timed in all of the rounds. Which probes a round had that were never called is inferred: every site
/// of an opened function is planted, unless it was taken out again, and then calls are missing.
fn left_out(rounds: &[Indexed<'_>], sites: &SiteTable) -> Vec<bool> {
    let seen: Vec<Seen<'_>> = rounds
        .iter()
        .map(|(_, round)| Seen::of(round, sites))
        .collect();
    let probes = seen.iter().map(|seen| seen.calls.len()).max().unwrap_or(0);
    let intervals: f64 = seen.iter().map(|seen| seen.intervals).sum();
    (0..probes)
        .map(|probe| {
            let calls: f64 = seen.iter().map(|seen| seen.called(probe)).sum();
            let is_timed = |seen: &Seen<'_>| {
                let expected = calls * fraction(seen.intervals, intervals);
                seen.called(probe) > 0.0
                    || (expected < CALLS_EXPECTED && seen.opened.contains(caller(sites, probe)))
            };
            calls > 0.0 && !seen.iter().all(is_timed)
        })
        .collect()
}

/// What a round has called.
struct Seen<'a> {
    intervals: f64,
    /// By probe.
    calls: Vec<f64>,
    /// Functions whose calls were timed.
    opened: FxHashSet<&'a str>,
}

impl<'a> Seen<'a> {
    fn of(round: &Detail, sites: &'a SiteTable) -> Seen<'a> {
        let total = round.sums.blocks.total();
        let mut seen = Seen {
            intervals: total.intervals as f64,
            calls: Vec::new(),
            opened: FxHashSet::default(),
        };
        for (node, path) in round.paths.all().iter().enumerate() {
            let calls = total.node(node as u32).calls;
            let Some(probe) = path.probe.filter(|_| calls > 0) else {
                continue;
            };
            let probe = probe as usize;
            let length = seen.calls.len().max(probe + 1);
            seen.calls.resize(length, 0.0);
            seen.calls[probe] += calls as f64;
            let caller = caller(sites, probe);
            if !caller.is_empty() {
                seen.opened.insert(caller);
            }
        }
        seen
    }

    fn called(&self, probe: usize) -> f64 {
        self.calls.get(probe).copied().unwrap_or_default()
    }
}

/// The function that a probe's call lies in, empty where it is none's.
fn caller(sites: &SiteTable, probe: usize) -> &str {
    let site = sites.sites.get(probe);
    site.map_or("", |site| site.caller.as_str())
}
