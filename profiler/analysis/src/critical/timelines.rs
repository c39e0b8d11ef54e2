//! Single intervals, piece by piece: what is shown of one.

use crate::critical::exemplars::Exemplar;
use crate::inputs::Inputs;
use crate::intervals::pick::Pick;
use crate::profile::{Span, Timeline};
use crate::sums::parts::{Part, VarianceTree};

/// The intervals that were picked and kept, each pick once.
pub fn timelines(tree: &VarianceTree<'_>, inputs: &Inputs<'_>) -> Vec<Timeline> {
    let round = inputs.round;
    let kept = |&pick: &Pick| Some((pick, pick.of(&round.keep, &round.sums.histogram)?));
    let picked = inputs.options.timelines.iter().filter_map(kept);
    let wanted = round.keep.wanted().map(|kept| (Pick::Id(kept.id), kept));
    let mut timelines: Vec<Timeline> = Vec::new();
    for (pick, kept) in picked.chain(wanted) {
        if timelines.iter().all(|shown| shown.pick != pick.to_string()) {
            timelines.push(timeline(tree, inputs, pick, kept));
        }
    }
    timelines
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
        spans.push(Span {
            lane,
            from_ns: ns(piece.from - kept.begin),
            to_ns: ns(piece.to - kept.begin),
            name: tree.name(part),
            kind: tree.kind(part),
            path: tree.path(part),
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
        class: tree.class(kept.class.into()).to_owned(),
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
