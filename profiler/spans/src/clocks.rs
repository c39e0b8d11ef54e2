//! Clocks of different hosts, brought together by what calls show of them.
//!
//! A call and its answer bound how far two clocks are apart: what the callee did lies within what the caller waited. Where calls between
//! two clocks break that, the second one is shifted by the median over the calls of the shift that centres a callee in its caller: half of
//! what is left of the caller's time is taken for the way there, half for the way back, as NTP does (RFC 5905, section 8). Where no call
//! breaks it, the clocks are good enough and stay as they are: shifting them would move time from the way there to the way back, for
//! nothing. What the user should know is reported ([`Clocks::corrections`]).

use std::collections::BTreeMap;

use crate::names::Names;
use crate::span::{Kind, Span};

/// Calls remembered between two clocks, at most; then every other one is forgotten.
const CALLS_MAX: usize = 1 << 10;
/// Part of the calls that must break the bound for the clocks to be corrected: a few do because a caller gave up waiting.
pub(crate) const BROKEN_MIN: f64 = 0.1;

/// What is known of pairs of clocks.
#[derive(Debug, Default)]
pub struct Clocks {
    /// By the caller's clock and the callee's.
    pairs: BTreeMap<(u32, u32), Pair>,
}

#[derive(Debug, Default)]
struct Pair {
    calls: u64,
    broken: u64,
    /// Shifts that would centre the callee, of some of the calls.
    shifts_ns: Vec<i64>,
    /// Every so many calls, one is remembered.
    stride: u64,
    correction_ns: i64,
}

impl Clocks {
    /// Takes in a call between two clocks.
    pub fn observe(&mut self, parent: &Span, child: &Span) {
        let waits = !child.follows && child.kind != Kind::Consumer && parent.kind != Kind::Producer;
        let fits = child.end_ns - child.start_ns <= parent.end_ns - parent.start_ns;
        if parent.clock == child.clock || !waits || !fits {
            return;
        }
        let pair = self.pairs.entry((parent.clock, child.clock)).or_default();
        let before = parent.start_ns as i64 - child.start_ns as i64;
        let after = parent.end_ns as i64 - child.end_ns as i64;
        pair.stride = pair.stride.max(1);
        if pair.calls.is_multiple_of(pair.stride) {
            pair.shifts_ns.push(before + (after - before) / 2);
            if pair.shifts_ns.len() == CALLS_MAX {
                let mut at = 0;
                pair.shifts_ns.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                pair.stride *= 2;
            }
        }
        pair.calls += 1;
        pair.broken += u64::from(before > 0 || after < 0);
    }

    /// Decides on corrections, from all that was observed.
    pub fn settle(&mut self) {
        for pair in self.pairs.values_mut() {
            let broken = pair.broken as f64 > BROKEN_MIN * pair.calls as f64;
            pair.correction_ns = if broken {
                median(&mut pair.shifts_ns.clone())
            } else {
                0
            };
        }
    }

    /// What to add to times of `to` so that they are by the clock `from`, ns.
    pub fn offset_ns(&self, from: u32, to: u32) -> i64 {
        self.pairs
            .get(&(from, to))
            .map_or(0, |pair| pair.correction_ns)
    }

    /// Which clocks were corrected, in words, the largest correction first.
    pub fn corrections(&self, names: &Names) -> Vec<String> {
        let mut corrected: Vec<_> = self
            .pairs
            .iter()
            .filter(|(_, pair)| pair.correction_ns != 0)
            .collect();
        corrected.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.correction_ns.abs()));
        let sentences = corrected.iter().map(|((from, to), pair)| {
            let way = if pair.correction_ns < 0 { "ahead of" } else { "behind" };
            format!(
                "The clock of {} is {:.3} ms {way} that of {}, by {} calls of which {} break the order of things: its times were corrected by that.",
                names.of_clock(*to),
                pair.correction_ns.unsigned_abs() as f64 / 1e6,
                names.of_clock(*from),
                pair.calls,
                pair.broken
            )
        });
        sentences.collect()
    }
}

/// The median; 0 of nothing.
pub(crate) fn median(shifts_ns: &mut [i64]) -> i64 {
    if shifts_ns.is_empty() {
        return 0;
    }
    let middle = shifts_ns.len() / 2;
    *shifts_ns.select_nth_unstable(middle).1
}
