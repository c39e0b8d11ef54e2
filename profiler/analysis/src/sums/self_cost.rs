//! Measured cost of profiling: intervals with their probes on against intervals with their probes bypassed, in
//! alternating windows (`variance.md` section 4, "Self-cost").
//!
//! Load drifts over a run, so only neighbours are compared. Intervals are sorted into **slots** of about a second by
//! their beginning; the order of arrival says little, because threads are drained one after the other. The jackknife
//! leaves out whole slots. A window is short, so the mix of classes differs from window to window. Within a slot
//! every class is therefore compared with itself alone (a *stratum*).
//!
//! Latencies above their class' 90th percentile are reduced to that percentile (winsorised means, Dixon 1960). The
//! windows without probes are short, and a stall of the device in one of them would otherwise outweigh thousands of
//! ordinary intervals. The cost of probes is in every interval.

use std::collections::BTreeMap;

use crate::sums::jackknife::Replicates;

/// Intervals of each kind that a class needs in a slot to count there.
pub(crate) const WINDOW_MIN: u64 = 8;
/// Classes have numbers in the order in which they appear. From this number on, all are one class.
const OTHERS: u16 = 64;
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
    /// Windows that were not in `before`.
    pub(crate) fn since(self, before: &Windows) -> Windows {
        let mut since = self;
        for (mine, before) in since.0.iter_mut().zip(before.0) {
            mine.intervals -= before.intervals;
            mine.latency -= before.latency;
        }
        since
    }
}

/// A slot, or several added up.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs {
    intervals: u64,
    /// Weighted means of the bypassed and of the probed intervals, ticks.
    means: [f64; 2],
}

/// A latency in ticks, and its weight.
pub type Weighted = (i64, u64);

/// Bypassed and probed intervals of one slot, by class; none beyond the end.
type Strata = Vec<[Window; 2]>;

/// The comparison.
#[derive(Clone, Debug, Default)]
pub struct SelfCost {
    slots: BTreeMap<u64, Strata>,
    /// Number of times that slots have doubled.
    doubled: u32,
    /// By class.
    classes: Vec<Limit>,
}

/// Which latency is the percentile of a class.
#[derive(Clone, Debug)]
enum Limit {
    /// The first intervals, until there are enough to know: probed, start, and latency with weight.
    Sample(Vec<(bool, u64, Weighted)>),
    Known(i64),
}

impl Default for Limit {
    fn default() -> Limit {
        Limit::Sample(Vec::new())
    }
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

impl Measured {
    /// The same time, as a fraction of intervals that take this many times as long. A probe takes as long in a slow
    /// interval as in a quick one. Of quicker ones the fraction is not changed.
    pub(crate) fn of_longer(self, times: f64) -> Measured {
        let part = 1.0 / times.max(1.0);
        Measured {
            fraction: self.fraction * part,
            se: self.se.map(|se| se * part),
            ..self
        }
    }
}

impl SelfCost {
    /// All intervals that were sorted in.
    pub(crate) fn total(&self) -> Windows {
        let mut total = Windows::default();
        for windows in self.slots.values().flatten() {
            add_windows(&mut total.0, windows);
        }
        total
    }

    /// Adds intervals that were sorted in before, as a slot of their own behind all others.
    pub(crate) fn add_total(&mut self, windows: Windows) {
        let slot = self.slots.last_key_value().map_or(0, |(last, _)| last + 1);
        let strata = self.slots.entry(slot).or_default();
        *window_of(strata, OTHERS) = windows.0;
        if self.slots.len() > SLOTS_MAX {
            self.double();
        }
    }

    /// Adds an interval of a class that began at `start`, with its latency in ticks and its weight.
    pub fn add(&mut self, probed: bool, class: u16, start: u64, weighted: Weighted) {
        let class = class.min(OTHERS);
        if self.classes.len() <= class.into() {
            self.classes
                .resize_with(usize::from(class) + 1, Limit::default);
        }
        match &mut self.classes[usize::from(class)] {
            Limit::Known(limit) => {
                let latency = weighted.0.min(*limit);
                self.sort_in(probed, class, start, (latency, weighted.1));
            }
            Limit::Sample(sample) => {
                sample.push((probed, start, weighted));
                if sample.len() == SAMPLE {
                    self.end_sample(class);
                }
            }
        }
    }

    /// Sorts the first intervals of a class in, up to the percentile of what they are.
    fn end_sample(&mut self, class: u16) {
        let limit = &mut self.classes[usize::from(class)];
        let Limit::Sample(sample) = std::mem::take(limit) else {
            return;
        };
        *limit = Limit::Known(percentile(&sample));
        for (probed, start, weighted) in sample {
            self.add(probed, class, start, weighted);
        }
    }

    fn sort_in(&mut self, probed: bool, class: u16, start: u64, (latency, weight): Weighted) {
        let slot = start >> (SLOT_SHIFT + self.doubled);
        let strata = self.slots.entry(slot).or_default();
        let window = &mut window_of(strata, class)[usize::from(probed)];
        window.intervals += weight;
        window.latency += i128::from(weight) * i128::from(latency);
        if self.slots.len() > SLOTS_MAX {
            self.double();
        }
    }

    /// Adds what was compared in another round. Each has its own percentiles.
    pub fn merge(&mut self, other: &SelfCost) {
        let doubled = self.doubled.max(other.doubled);
        while self.doubled < doubled {
            self.double();
        }
        for (slot, strata) in &other.slots {
            let merged = self.slots.entry(slot >> (doubled - other.doubled));
            add_strata(merged.or_default(), strata);
        }
        while self.slots.len() > SLOTS_MAX {
            self.double();
        }
        for (class, limit) in (0..).zip(&other.classes) {
            let Limit::Sample(sample) = limit else {
                continue;
            };
            for &(probed, start, latency) in sample {
                self.add(probed, class, start, latency);
            }
        }
    }

    fn double(&mut self) {
        self.doubled += 1;
        for (slot, strata) in std::mem::take(&mut self.slots) {
            add_strata(self.slots.entry(slot >> 1).or_default(), &strata);
        }
    }

    /// The result, from the pairs that have both windows; nothing without one.
    pub fn measured(&self) -> Option<Measured> {
        let pairs: Vec<Pairs> = self.slots.values().filter_map(Pairs::of_slot).collect();
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

/// The 90th percentile of a sample.
fn percentile(sample: &[(bool, u64, Weighted)]) -> i64 {
    let mut latencies: Vec<_> = sample.iter().map(|&(_, _, latency)| latency).collect();
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

fn add_windows(into: &mut [Window; 2], from: &[Window; 2]) {
    for (into, from) in into.iter_mut().zip(from) {
        into.intervals += from.intervals;
        into.latency += from.latency;
    }
}

fn add_strata(into: &mut Strata, from: &Strata) {
    for (class, windows) in (0..).zip(from) {
        add_windows(window_of(into, class), windows);
    }
}

fn window_of(strata: &mut Strata, class: u16) -> &mut [Window; 2] {
    let at = usize::from(class);
    if strata.len() <= at {
        strata.resize(at + 1, Default::default());
    }
    &mut strata[at]
}

impl Pairs {
    /// The classes of a slot that have both windows; nothing if none has.
    fn of_slot(strata: &Strata) -> Option<Pairs> {
        let pairs = strata.iter().filter_map(|&windows| Pairs::of(windows));
        let all = Pairs::sum(pairs);
        (all.intervals > 0).then_some(all)
    }

    /// A pair, if both windows are long enough. Its means weigh n m / (n + m) for windows of n and m intervals, as
    /// Mantel and Haenszel 1959 pool strata. So a long window next to a short one does not let the drift of the load
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
        pairs.fold(Pairs::default(), |sum, pair| Pairs {
            intervals: sum.intervals + pair.intervals,
            means: [sum.means[0] + pair.means[0], sum.means[1] + pair.means[1]],
        })
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
            classes: vec![Limit::Known(1000); 4],
            ..SelfCost::default()
        }
    }

    fn slot(cost: &mut SelfCost, slot: u64, probed: bool, intervals: u64, latency: i64) {
        (0..intervals).for_each(|i| cost.add(probed, 0, slot * SLOT + i, (latency, 1)));
    }

    /// 1024 latencies 0, 1, ... 1023: the 90th percentile is the one at 921.
    #[test]
    fn a_stall_counts_as_the_90th_percentile() {
        let mut cost = SelfCost::default();
        (0..1024).for_each(|i| cost.add(true, 3, 0, (i, 1)));
        assert!(matches!(cost.classes[3], Limit::Known(921)));
        cost.add(false, 3, 0, (1_000_000, 1));
        assert_eq!(cost.slots[&0][3][0].latency, 921);
    }

    /// Two slots of 100 intervals a window: 102 over 100, then 208 over 200 ticks. Means 155 and 150: 155/150 - 1 =
    /// 1/30.
    #[test]
    fn ratio_of_means() {
        let mut cost = ready();
        slot(&mut cost, 0, true, 100, 102);
        slot(&mut cost, 1, true, 100, 208);
        slot(&mut cost, 0, false, 100, 100);
        slot(&mut cost, 1, false, 100, 200);
        let measured = cost.measured().unwrap();
        assert!((measured.fraction - 1.0 / 30.0).abs() < 1e-12);
        // Leave-out ratios are 1.04 and 1.02, h = 2. Pseudo-values 2 r - t with r = 31/30 are 1.026667 and 1.046667,
        // and the variance is (0.01^2 + 0.01^2) / 2.
        assert!((measured.se.unwrap() - 0.01).abs() < 1e-9);
    }

    /// A class of 100 ticks and one of 900, both 5 % slower with probes. The window without probes is mostly the fast
    /// class in the first slot, mostly the slow one in the second. Together they would be 3.9 times and 0.4 times as
    /// slow.
    #[test]
    fn classes_are_compared_with_themselves() {
        let mut cost = ready();
        for (slot, fast, slow) in [(0, 90, 10), (1, 10, 90)] {
            let start = slot * SLOT;
            (0..fast).for_each(|i| cost.add(false, 1, start + i, (100, 1)));
            (0..slow).for_each(|i| cost.add(false, 2, start + i, (900, 1)));
            (0..slow).for_each(|i| cost.add(true, 1, start + i, (105, 1)));
            (0..fast).for_each(|i| cost.add(true, 2, start + i, (945, 1)));
        }
        let measured = cost.measured().unwrap();
        assert!((measured.fraction - 0.05).abs() < 1e-12, "{measured:?}");
        assert!(measured.se.unwrap() < 1e-9 && measured.pairs == 2);
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
