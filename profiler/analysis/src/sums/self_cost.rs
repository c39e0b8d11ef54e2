//! What profiling costs, measured: intervals with their probes on against intervals with their probes bypassed, in
//! alternating windows (`variance.md` section 4, "Self-cost").
//!
//! Load drifts over a run, so only neighbours are compared: intervals are sorted into **slots** of about a second by the
//! time at which they began (threads are drained one after the other, so the order of arrival says little). Slots are
//! also what the jackknife leaves out.
//!
//! Latencies above the 90th percentile count as that percentile (winsorised means, Dixon 1960): the windows without
//! probes are short, and whether one of them happens to catch a stall of the device would otherwise outweigh thousands
//! of ordinary intervals. What the probes cost, they cost every interval.

use std::collections::BTreeMap;

use crate::sums::jackknife::Replicates;

/// Intervals of each kind that a slot needs to count.
pub(crate) const WINDOW_MIN: u64 = 32;
/// Slots kept, at most; then they double in length and neighbours merge.
pub(crate) const SLOTS_MAX: usize = 256;
/// Intervals from which the percentile is taken.
const SAMPLE: usize = 1024;
/// log2 of the first length of a slot in ticks: 0.9 s at 2.3 GHz.
const SLOT_SHIFT: u32 = 31;

/// Intervals of one kind and the sum of their latencies, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) intervals: u64,
    pub(crate) latency: i128,
}

/// Bypassed and probed intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows(pub(crate) [Window; 2]);

impl Windows {
    /// Those of them that were not in `before`.
    pub(crate) fn since(self, before: &Windows) -> Windows {
        let mut since = self;
        for (mine, before) in since.0.iter_mut().zip(before.0) {
            mine.intervals -= before.intervals;
            mine.latency -= before.latency;
        }
        since
    }
}

/// One slot, or several added up.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    intervals: u64,
    /// Weighted means of the bypassed and of the probed intervals, ticks.
    means: [f64; 2],
}

/// The comparison.
#[derive(Clone, Debug, Default)]
pub struct SelfCost {
    /// Bypassed and probed intervals by slot.
    slots: BTreeMap<u64, [Window; 2]>,
    /// How often slots have doubled.
    doubled: u32,
    /// The first intervals, until there are enough to know the percentile: probed, start, and latency with weight.
    sample: Vec<(bool, u64, (i64, u64))>,
    /// The percentile.
    limit: Option<i64>,
}

/// Mean latency with probes over mean latency without, minus one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The fraction.
    pub fraction: f64,
    /// Its standard error; absent with fewer than two pairs of windows.
    pub se: Option<f64>,
    /// Pairs of windows compared.
    pub pairs: usize,
}

impl SelfCost {
    /// All intervals that were sorted in.
    pub(crate) fn total(&self) -> Windows {
        let mut total = Windows::default();
        for windows in self.slots.values() {
            for (into, from) in total.0.iter_mut().zip(windows) {
                into.intervals += from.intervals;
                into.latency += from.latency;
            }
        }
        total
    }

    /// Adds intervals that were sorted in before, as a slot of their own behind all others.
    pub(crate) fn add_total(&mut self, windows: Windows) {
        let slot = self.slots.last_key_value().map_or(0, |(last, _)| last + 1);
        self.slots.insert(slot, windows.0);
        if self.slots.len() > SLOTS_MAX {
            self.double();
        }
    }

    /// Takes an interval that began at `start`; times in ticks.
    pub fn add(&mut self, probed: bool, start: u64, latency: i64) {
        self.add_weighted(probed, start, (latency, 1));
    }

    /// Takes one that stands for so many: its latency and that number.
    pub fn add_weighted(&mut self, probed: bool, start: u64, (latency, weight): (i64, u64)) {
        if let Some(limit) = self.limit {
            return self.sort_in(probed, start, (latency.min(limit), weight));
        }
        self.sample.push((probed, start, (latency, weight)));
        if self.sample.len() == SAMPLE {
            self.limit = Some(self.percentile());
            for (probed, start, latency) in std::mem::take(&mut self.sample) {
                self.add_weighted(probed, start, latency);
            }
        }
    }

    /// The 90th percentile of the sample.
    fn percentile(&self) -> i64 {
        let mut latencies: Vec<_> = self.sample.iter().map(|&(_, _, latency)| latency).collect();
        latencies.sort_unstable();
        let all: u64 = latencies.iter().map(|&(_, weight)| weight).sum();
        let mut left = all * 9 / 10;
        for &(latency, weight) in &latencies {
            if weight > left {
                return latency;
            }
            left -= weight;
        }
        latencies.last().map_or(0, |&(latency, _)| latency)
    }

    fn sort_in(&mut self, probed: bool, start: u64, (latency, weight): (i64, u64)) {
        let slot = start >> (SLOT_SHIFT + self.doubled);
        let window = &mut self.slots.entry(slot).or_default()[usize::from(probed)];
        window.intervals += weight;
        window.latency += i128::from(weight) * i128::from(latency);
        if self.slots.len() > SLOTS_MAX {
            self.double();
        }
    }

    /// Adds what was compared in another round. Each has its own percentile.
    pub fn merge(&mut self, other: &SelfCost) {
        let doubled = self.doubled.max(other.doubled);
        while self.doubled < doubled {
            self.double();
        }
        for (slot, windows) in &other.slots {
            let merged = self.slots.entry(slot >> (doubled - other.doubled));
            for (into, from) in merged.or_default().iter_mut().zip(windows) {
                into.intervals += from.intervals;
                into.latency += from.latency;
            }
        }
        while self.slots.len() > SLOTS_MAX {
            self.double();
        }
        for &(probed, start, latency) in &other.sample {
            self.add_weighted(probed, start, latency);
        }
    }

    fn double(&mut self) {
        self.doubled += 1;
        for (slot, windows) in std::mem::take(&mut self.slots) {
            let merged = self.slots.entry(slot >> 1).or_default();
            for (into, from) in merged.iter_mut().zip(windows) {
                into.intervals += from.intervals;
                into.latency += from.latency;
            }
        }
    }

    /// The result, from the pairs that have both windows; nothing without one.
    pub fn measured(&self) -> Option<Measured> {
        let pairs: Vec<Pairs> = self
            .slots
            .values()
            .filter_map(|&windows| Pairs::of(windows))
            .collect();
        let total = Pairs::sum(pairs.iter().copied());
        let whole = total.ratio()?;
        let without: Option<Vec<_>> = pairs
            .iter()
            .map(|&pair| Some(vec![total.without(pair).ratio()?]))
            .collect();
        let sizes = pairs.iter().map(|pair| pair.intervals).collect();
        let replicates = without.map(|without| Replicates {
            sizes,
            whole: vec![whole],
            without,
        });
        Some(Measured {
            fraction: whole - 1.0,
            se: replicates.map(|replicates| replicates.standard_error(0)),
            pairs: pairs.len(),
        })
    }
}

impl Pairs {
    /// A pair, if both windows are long enough. Its means weigh n m / (n + m) for windows of n and m intervals (as Mantel
    /// and Haenszel 1959 pool strata), so that a long window beside a short one does not let the drift of the load
    /// pass for a cost.
    fn of(windows: [Window; 2]) -> Option<Pairs> {
        let [n, m] = windows.map(|window| window.intervals as f64);
        let complete = windows.iter().all(|window| window.intervals >= WINDOW_MIN);
        complete.then(|| Pairs {
            intervals: windows[0].intervals + windows[1].intervals,
            means: windows
                .map(|window| window.latency as f64 / window.intervals as f64 * (n * m / (n + m))),
        })
    }

    fn sum(pairs: impl Iterator<Item = Pairs>) -> Pairs {
        pairs.fold(
            Pairs {
                intervals: 0,
                means: [0.0; 2],
            },
            |sum, pair| Pairs {
                intervals: sum.intervals + pair.intervals,
                means: [sum.means[0] + pair.means[0], sum.means[1] + pair.means[1]],
            },
        )
    }

    fn without(&self, other: Pairs) -> Pairs {
        Pairs {
            intervals: self.intervals - other.intervals,
            means: [
                self.means[0] - other.means[0],
                self.means[1] - other.means[1],
            ],
        }
    }

    /// Probed over bypassed.
    fn ratio(&self) -> Option<f64> {
        (self.intervals > 0 && self.means[0] > 0.0).then(|| self.means[1] / self.means[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 1 << SLOT_SHIFT;

    /// A comparison that knows its percentile, above everything the tests add but for the last.
    fn ready() -> SelfCost {
        SelfCost {
            limit: Some(1000),
            ..SelfCost::default()
        }
    }

    fn slot(cost: &mut SelfCost, slot: u64, probed: bool, intervals: u64, latency: i64) {
        (0..intervals).for_each(|i| cost.add(probed, slot * SLOT + i, latency));
    }

    /// 1024 latencies 0, 1, ... 1023: the 90th percentile is the one at 921.
    #[test]
    fn a_stall_counts_as_the_90th_percentile() {
        let mut cost = SelfCost::default();
        (0..1024).for_each(|i| cost.add(true, 0, i));
        assert_eq!((cost.limit, cost.sample.len()), (Some(921), 0));
        cost.add(false, 0, 1_000_000);
        assert_eq!(cost.slots[&0][0].latency, 921);
    }

    /// Two slots of 100 intervals a window: 102 over 100, then 208 over 200 ticks. Means 155 and 150: 155/150 - 1 = 1/30.
    #[test]
    fn ratio_of_means() {
        let mut cost = ready();
        slot(&mut cost, 0, true, 100, 102);
        slot(&mut cost, 1, true, 100, 208);
        slot(&mut cost, 0, false, 100, 100);
        slot(&mut cost, 1, false, 100, 200);
        let measured = cost.measured().unwrap();
        assert!((measured.fraction - 1.0 / 30.0).abs() < 1e-12);
        // Leave-out ratios 1.04 and 1.02, h = 2: pseudo-values 2 r - t, r = 31/30: 1.026667, 1.046667, variance
        // (0.01^2 + 0.01^2) / 2.
        assert!((measured.se.unwrap() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn a_slot_needs_enough_of_both() {
        let mut cost = ready();
        slot(&mut cost, 0, true, 1000, 10);
        slot(&mut cost, 0, false, WINDOW_MIN - 1, 1);
        assert_eq!(cost.measured(), None);
        slot(&mut cost, 1, true, 1000, 10);
        slot(&mut cost, 1, false, WINDOW_MIN, 10);
        assert_eq!(
            cost.measured(),
            Some(Measured {
                fraction: 0.0,
                se: None,
                pairs: 1,
            })
        );
    }

    #[test]
    fn bounded() {
        let mut cost = ready();
        for number in 0..1000 {
            slot(&mut cost, number, false, 40, 10);
            slot(&mut cost, number, true, 40, 11);
        }
        assert!(cost.slots.len() <= SLOTS_MAX);
        assert!((cost.measured().unwrap().fraction - 0.1).abs() < 1e-9);
    }
}
