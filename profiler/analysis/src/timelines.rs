//! Single intervals, piece by piece: which one, and what is shown of it.

use std::str::FromStr;

use crate::critical::kept::{Keep, Kept};
use crate::histogram::Histogram;
use crate::parts::{Part, VarianceTree};
use crate::profile::{Span, Timeline};
use crate::summary::Inputs;

/// Which interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The slowest is 1.
    Rank(usize),
    /// One near this quantile of the latency, 0 to 1.
    Percentile(f64),
    /// The one with this number, if it was kept ([`crate::Analysis::keep_interval`]).
    Id(u64),
}

/// A pick that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPick(String);

impl std::fmt::Display for NoPick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "\"{}\" picks no interval: give a percentile (p50, p99, p99.9), max, a rank (#1 is the slowest) or id:NUMBER",
            self.0
        )
    }
}

impl std::error::Error for NoPick {}

impl FromStr for Pick {
    type Err = NoPick;

    /// `p99`, `p99.9`, `p999`, `max`, `#3`, `id:1234`.
    fn from_str(text: &str) -> Result<Pick, NoPick> {
        let unknown = || NoPick(text.to_owned());
        if text == "max" {
            return Ok(Pick::Rank(1));
        }
        if let Some(rank) = text.strip_prefix('#') {
            let rank = rank.parse().ok().filter(|&rank| rank > 0);
            return rank.map(Pick::Rank).ok_or_else(unknown);
        }
        if let Some(id) = text.strip_prefix("id:") {
            return id.parse().map(Pick::Id).map_err(|_| unknown());
        }
        let digits = text.strip_prefix('p').ok_or_else(unknown)?;
        // p999 is p99.9, as in the profile's percentiles.
        let number = match digits.len() {
            3.. if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{}.{}", &digits[..2], &digits[2..])
            }
            _ => digits.to_owned(),
        };
        let percent: f64 = number.parse().map_err(|_| unknown())?;
        let inside = (0.0..=100.0).contains(&percent);
        inside
            .then_some(Pick::Percentile(percent / 100.0))
            .ok_or_else(unknown)
    }
}

impl std::fmt::Display for Pick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pick::Rank(1) => write!(f, "max"),
            Pick::Rank(rank) => write!(f, "#{rank}"),
            // Rounded: 0.999 * 100 is not 99.9 in binary.
            Pick::Percentile(quantile) => write!(f, "p{}", (quantile * 1e6).round() / 1e4),
            Pick::Id(id) => write!(f, "id:{id}"),
        }
    }
}

impl Pick {
    fn of<'a>(self, keep: &'a Keep, histogram: &Histogram) -> Option<&'a Kept> {
        match self {
            Pick::Rank(rank) => keep.slowest().get(rank.checked_sub(1)?),
            Pick::Percentile(quantile) => keep.nearest(histogram.quantile(quantile)),
            Pick::Id(id) => keep.find(id),
        }
    }
}

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

fn timeline(tree: &VarianceTree<'_>, inputs: &Inputs<'_>, pick: Pick, kept: &Kept) -> Timeline {
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
    let told = kept.attributes.iter();
    let told = told.map(|&(number, value)| (inputs.attributes.name(number).to_owned(), value));
    Timeline {
        pick: pick.to_string(),
        id: kept.id,
        class: tree.class(kept.class.into()).to_owned(),
        begin_ns: ns(kept.begin),
        latency_ns: kept.latency as f64 / inputs.options.ticks_per_ns,
        attributes: told.collect(),
        lanes: threads.iter().enumerate().map(lane).collect(),
        spans,
        is_cut: kept.is_cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_are_read_and_written() {
        let cases = [
            ("p99", Pick::Percentile(0.99), "p99"),
            ("p99.9", Pick::Percentile(0.999), "p99.9"),
            ("p999", Pick::Percentile(0.999), "p99.9"),
            ("p5", Pick::Percentile(0.05), "p5"),
            ("max", Pick::Rank(1), "max"),
            ("#3", Pick::Rank(3), "#3"),
            ("id:12", Pick::Id(12), "id:12"),
        ];
        for (text, pick, written) in cases {
            let read: Pick = text.parse().unwrap();
            match (read, pick) {
                (Pick::Percentile(a), Pick::Percentile(b)) => assert!((a - b).abs() < 1e-12),
                (read, pick) => assert_eq!(read, pick),
            }
            assert_eq!(read.to_string(), written);
        }
        for text in ["", "p", "px", "#0", "#", "id:", "99", "p100.5", "p-1"] {
            assert!(text.parse::<Pick>().is_err(), "{text}");
        }
    }
}
