//! Single intervals, shown piece by piece.

use std::collections::BTreeMap;

use crate::critical::exemplars::Exemplar;
use crate::inputs::Inputs;
use crate::intervals::pick::Pick;
use crate::profile::{SlowInterval, SlowPart, Span, Timeline};
use crate::sums::Sums;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{Paths, ROOT};

/// Parts of a slow interval that are listed.
pub const TOP: usize = 3;

/// The picked intervals that were kept, each pick once. The slowest are picked from the whole run, all others from the
/// round that the profile rests on.
pub fn timelines(tree: &VarianceTree<'_>, inputs: &Inputs<'_>) -> Vec<Timeline> {
    let mut timelines: Vec<Timeline> = Vec::new();
    let mut add = |timeline: Option<Timeline>| {
        let is_new = |new: &Timeline| timelines.iter().all(|shown| shown.pick != new.pick);
        timelines.extend(timeline.filter(is_new));
    };
    for &pick in &inputs.options.timelines {
        add(slow_one(pick, inputs).or_else(|| {
            let kept = pick.of(&inputs.round.keep, &inputs.round.sums.histogram)?;
            Some(timeline(tree, inputs, pick, kept))
        }));
    }
    let wanted = inputs.round.keep.wanted();
    add(wanted.map(|kept| timeline(tree, inputs, Pick::Id(kept.id), kept)));
    timelines
}

/// One that is picked among the slowest of the run.
fn slow_one(pick: Pick, inputs: &Inputs<'_>) -> Option<Timeline> {
    let mut all = inputs.slowest.all();
    let (kept, _, paths) = match pick {
        Pick::Rank(rank) => all.nth(rank.checked_sub(1)?)?,
        Pick::Id(id) => inputs.slowest.find(id)?,
        Pick::Percentile(_) => return None,
    };
    let nothing = Sums::default();
    let names = NodeNames::new(paths, inputs.sites).with_classes(inputs.classes);
    let tree = VarianceTree::new(names, &nothing);
    Some(timeline(&tree, inputs, pick, kept))
}

/// The slowest intervals of the run: when they were, and where their time went.
pub fn slowest(inputs: &Inputs<'_>) -> Vec<SlowInterval> {
    let first = inputs.slowest.slowest.first().unwrap_or_default();
    let nothing = Sums::default();
    let ns = |ticks: u64| ticks as f64 / inputs.options.ticks_per_ns;
    let told = |(kept, round, paths): (&Exemplar, usize, &Paths)| {
        let names = NodeNames::new(paths, inputs.sites).with_classes(inputs.classes);
        let tree = VarianceTree::new(names, &nothing);
        SlowInterval {
            id: kept.id,
            since_ns: ns(kept.begin.saturating_sub(first)),
            begin_ns: ns(kept.begin),
            unix_ns: inputs.slowest.started.map(|started| {
                let since = ns(kept.begin) - ns(started.ticks);
                (started.unix_ns as f64 + since).max(0.0) as u64
            }),
            latency_ns: kept.latency as f64 / inputs.options.ticks_per_ns,
            class: tree.names().class(kept.class.into()).to_owned(),
            thread: inputs.names.get(&kept.thread).cloned().unwrap_or_default(),
            round: round + 1,
            top: top(&tree, kept, inputs.options.ticks_per_ns),
        }
    };
    inputs.slowest.all().map(told).collect()
}

/// Where most of an interval's time went.
fn top(tree: &VarianceTree<'_>, kept: &Exemplar, ticks_per_ns: f64) -> Vec<SlowPart> {
    let mut by_node: BTreeMap<u32, u64> = BTreeMap::new();
    for piece in &kept.pieces {
        *by_node.entry(piece.node).or_default() += piece.to - piece.from;
    }
    // Of paths with the same name, the one with the most time.
    let mut by_name: BTreeMap<String, (u64, u64, u32)> = BTreeMap::new();
    for (node, ticks) in by_node {
        let (all, most, of) = by_name.entry(tree.name(Part::Call(node))).or_default();
        *all += ticks;
        if ticks > *most {
            (*most, *of) = (ticks, node);
        }
    }
    let mut parts: Vec<(String, (u64, u64, u32))> = by_name.into_iter().collect();
    parts.sort_by_key(|&(_, (ticks, ..))| std::cmp::Reverse(ticks));
    parts.truncate(TOP);
    let part = |(name, (ticks, _, node)): (String, (u64, u64, u32))| SlowPart {
        name,
        path: tree.path(Part::Call(node)),
        kind: tree.kind(Part::Call(node)),
        own_ns: ticks as f64 / ticks_per_ns,
    };
    parts.into_iter().map(part).collect()
}

fn timeline(tree: &VarianceTree<'_>, inputs: &Inputs<'_>, pick: Pick, kept: &Exemplar) -> Timeline {
    let ns = |ticks: u64| ticks as f64 / inputs.options.ticks_per_ns;
    let mut threads = vec![kept.thread];
    let mut spans = Vec::with_capacity(kept.pieces.len());
    for piece in kept.pieces.iter().rev() {
        let known = threads.iter().position(|&thread| thread == piece.thread);
        let lane = known.unwrap_or(threads.len());
        if known.is_none() {
            threads.push(piece.thread);
        }
        let part = Part::Call(piece.node);
        let above = tree.paths.get(piece.node).parent;
        spans.push(Span {
            lane,
            from_ns: ns(piece.from - kept.begin),
            to_ns: ns(piece.to - kept.begin),
            name: tree.name(part),
            kind: tree.kind(part),
            path: tree.path(part),
            within: match above {
                ROOT => String::new(),
                above => tree.names().step(above).to_string(),
            },
        });
    }
    let lane = |(at, thread): (usize, &u64)| match inputs.names.get(thread) {
        Some(name) => name.clone(),
        None => format!("thread {}", at + 1),
    };
    let attributes = kept.attributes.iter();
    let attributes =
        attributes.map(|&(number, value)| (inputs.attributes.name(number).to_owned(), value));
    Timeline {
        pick: pick.to_string(),
        id: kept.id,
        class: tree.names().class(kept.class.into()).to_owned(),
        begin_ns: ns(kept.begin),
        latency_ns: kept.latency as f64 / inputs.options.ticks_per_ns,
        attributes: attributes.collect(),
        trace_id: kept
            .trace
            .map_or_else(String::new, |it| format!("{:032x}", it.trace)),
        span_id: kept
            .trace
            .map_or_else(String::new, |it| format!("{:016x}", it.span)),
        lanes: threads.iter().enumerate().map(lane).collect(),
        spans,
        is_cut: kept.is_cut,
    }
}
