//! Aligns the clocks of different hosts by the calls between them.
//!
//! A call and its answer bound the difference of two clocks: the callee's work lies within the caller's wait. Where
//! calls between two clocks break that, the second clock is shifted. Each call has a shift that centres the callee in
//! its caller: half of the caller's remaining time counts as the way there, half as the way back, as in NTP (RFC
//! 5905, section 8). The median over the calls is used. Where no call breaks the order, the clocks stay unchanged: a
//! shift would only move time from one way to the other. Corrections are reported to the user
//! ([`Clocks::corrections`]).

use std::collections::BTreeMap;

use evenkeel_analysis::findings::warnings::SpansWarning;

use crate::names::Names;
use crate::span::{Span, SpanKind};

/// Calls remembered between two clocks, at most; then every other one is forgotten.
const CALLS_MAX: usize = 1 << 10;
/// Part of the calls that must break the bound for the clocks to be corrected: a few do because a caller gave up waiting.
pub(crate) const BROKEN_MIN: f64 = 0.1;

/// Knowledge about pairs of clocks.
#[derive(Debug, Default)]
pub struct Clocks {
    /// By the caller's clock and the callee's.
    pairs: BTreeMap<(u32, u32), Pair>,
}

#[derive(Debug, Default)]
struct Pair {
    calls: u64,
    broken: u64,
    /// Some of the calls.
    shifts: Vec<Shifts>,
    /// One call in this many is remembered.
    stride: u64,
    correction_ns: i64,
    /// The calls break the order of things whatever the correction: there are several clocks of this name.
    is_several: bool,
}

/// Range of shifts of a callee for which it lies within its caller, ns, from the smallest to the largest. The middle
/// centres it.
#[derive(Clone, Copy, Debug)]
struct Shifts {
    least_ns: i64,
    most_ns: i64,
}

impl Shifts {
    fn middle_ns(self) -> i64 {
        self.least_ns + (self.most_ns - self.least_ns) / 2
    }

    fn has(self, shift_ns: i64) -> bool {
        self.lacks_ns(shift_ns) == 0
    }

    /// Distance of a shift from the possible ones.
    fn lacks_ns(self, shift_ns: i64) -> i64 {
        let above_ns = shift_ns.saturating_sub(self.most_ns);
        self.least_ns.saturating_sub(shift_ns).max(above_ns).max(0)
    }
}

impl Clocks {
    /// Takes in a call between two clocks.
    pub fn observe(&mut self, parent: &Span, child: &Span) {
        let waits =
            !child.follows && child.kind != SpanKind::Consumer && parent.kind != SpanKind::Producer;
        let fits = child.end_ns - child.start_ns <= parent.end_ns - parent.start_ns;
        if parent.clock == child.clock || !waits || !fits {
            return;
        }
        let pair = self.pairs.entry((parent.clock, child.clock)).or_default();
        let shifts = Shifts {
            least_ns: parent.start_ns as i64 - child.start_ns as i64,
            most_ns: parent.end_ns as i64 - child.end_ns as i64,
        };
        pair.stride = pair.stride.max(1);
        if pair.calls.is_multiple_of(pair.stride) {
            pair.shifts.push(shifts);
            if pair.shifts.len() == CALLS_MAX {
                let mut at = 0;
                pair.shifts.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                pair.stride *= 2;
            }
        }
        pair.calls += 1;
        pair.broken += u64::from(!shifts.has(0));
    }

    /// Decides on corrections, from all that was observed.
    pub fn settle(&mut self) {
        for pair in self.pairs.values_mut() {
            let is_broken = pair.broken as f64 > BROKEN_MIN * pair.calls as f64;
            (pair.correction_ns, pair.is_several) = (0, false);
            if is_broken {
                let shifts = pair.shifts.iter();
                let middles = shifts.clone().map(|shifts| shifts.middle_ns());
                let shift_ns = median(&mut middles.collect::<Vec<_>>());
                // The true shift will do for every call, and the median is off it by as much as the way there may differ from the way back.
                let halves = shifts.clone().map(|one| one.middle_ns() - one.least_ns);
                let doubt_ns = median(&mut halves.collect::<Vec<_>>());
                let unmended = shifts.filter(|one| one.lacks_ns(shift_ns) > doubt_ns);
                pair.correction_ns = shift_ns;
                pair.is_several = unmended.count() as f64 > BROKEN_MIN * pair.shifts.len() as f64;
            }
        }
    }

    /// Correction of the times of `to`, so that they are by the clock `from`, ns.
    pub fn offset_ns(&self, from: u32, to: u32) -> i64 {
        self.pairs
            .get(&(from, to))
            .map_or(0, |pair| pair.correction_ns)
    }

    /// Which clocks were corrected, the largest correction first.
    pub fn corrections(&self, names: &Names) -> Vec<SpansWarning> {
        let mut corrected: Vec<_> = self
            .pairs
            .iter()
            .filter(|(_, pair)| pair.correction_ns != 0)
            .collect();
        corrected.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.correction_ns.abs()));
        let corrected = corrected.iter();
        let warnings = corrected.map(|((from, to), pair)| SpansWarning::HostClock {
            clock: names.of_clock(*to).to_owned(),
            by: names.of_clock(*from).to_owned(),
            correction_ns: pair.correction_ns,
            calls: pair.calls,
            broken: pair.broken,
            is_several: pair.is_several,
        });
        warnings.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls take 10 ms, and their callee 8. If the callee's clock is ahead by 50 ms in all of them, the correction is
    /// complete. If only three of four instances of one name are ahead, it is not, and the report has a warning.
    #[test]
    fn clocks_that_go_by_one_name() {
        const MS: u64 = 1_000_000;
        for (exact, is_said) in [(1, false), (4, true)] {
            let (mut clocks, mut names) = (Clocks::default(), Names::default());
            let [from, to] = ["front", "cart"].map(|name| names.clock(name));
            for number in 0..100 {
                let begin = (1000 + 100 * number) * MS;
                let ahead = if exact > 1 && number % exact == 0 {
                    0
                } else {
                    50 * MS
                };
                let span = |clock, start_ns, end_ns| Span {
                    clock,
                    start_ns,
                    end_ns,
                    ..Span::default()
                };
                let parent = span(from, begin, begin + 10 * MS);
                let child = span(to, begin + ahead + MS, begin + ahead + 9 * MS);
                clocks.observe(&parent, &child);
            }
            clocks.settle();
            assert_eq!(clocks.offset_ns(from, to), -50_000_000);
            let warnings = clocks.corrections(&names);
            assert!(
                matches!(&warnings[..], [SpansWarning::HostClock { clock, is_several, .. }]
                    if clock == "cart" && *is_several == is_said),
                "{warnings:?}"
            );
        }
    }
}
