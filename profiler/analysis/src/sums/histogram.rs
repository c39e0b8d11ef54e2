//! Latencies in log-linear buckets, with the time at every node by bucket: shares of the tail for any quantile.
//!
//! ```text
//! ticks     0 1 2 .. 127 | 128 130 .. 254 | 256 260 .. 508 | ...      64 buckets an octave: at most 1/64 = 1.6 % wide
//! bucket    0 1 2 .. 127 | 128 129 .. 191 | 192 193 .. 255 | ...
//! ```

use crate::sums::paths::ROOT;
use crate::sums::vectors::Vector;

const OCTAVE_LOG2: u32 = 6;
const OCTAVE: u64 = 1 << OCTAVE_LOG2;
/// Buckets, at most: of latencies of 64 bits.
pub(crate) const BUCKETS_MAX: usize = 65 * OCTAVE as usize;

/// One bucket.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    /// Intervals: the sum of their weights.
    pub intervals: u64,
    /// Intervals that were added.
    pub kept: u64,
    /// By node id: sum of inclusive ticks, the root's being the sum of latencies; zero beyond its end.
    inclusive: Vec<i64>,
    /// By node id: sum of calls; zero beyond its end.
    calls: Vec<u64>,
}

/// The histogram.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    pub(crate) buckets: Vec<Bucket>,
    intervals: u64,
    pub(crate) latency_max: u64,
}

impl Bucket {
    /// A bucket of sums by node.
    pub(crate) fn of(intervals: u64, kept: u64, both: &[(i64, u64)]) -> Bucket {
        let (inclusive, calls) = both.iter().copied().unzip();
        Bucket {
            intervals,
            kept,
            inclusive,
            calls,
        }
    }

    /// By node id: sum of inclusive ticks and of calls.
    pub(crate) fn both(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let inclusive = self.inclusive.iter().copied();
        inclusive.zip(self.calls.iter().copied())
    }

    fn combine(&mut self, other: &Bucket, add: bool) {
        let sign = if add { 1 } else { -1 };
        self.intervals = self
            .intervals
            .wrapping_add_signed(sign * other.intervals as i64);
        self.kept = self.kept.wrapping_add_signed(sign * other.kept as i64);
        if self.inclusive.len() < other.inclusive.len() {
            self.inclusive.resize(other.inclusive.len(), 0);
            self.calls.resize(other.calls.len(), 0);
        }
        for (mine, other) in self.inclusive.iter_mut().zip(&other.inclusive) {
            *mine += sign * other;
        }
        for (mine, &other) in self.calls.iter_mut().zip(&other.calls) {
            *mine = mine.wrapping_add_signed(sign * other as i64);
        }
    }
}

/// Of the intervals of one round, the slowest.
#[derive(Clone, Debug)]
pub struct Tail {
    /// Lower bound of their latencies, ticks.
    pub threshold: u64,
    /// How many.
    pub intervals: u64,
    /// By node id: sum of inclusive ticks.
    inclusive: Vec<i128>,
}

/// Of the intervals of one round, those between two quantiles.
#[derive(Clone, Debug, Default)]
pub struct Cohort {
    /// Lower bound of their latencies, ticks.
    pub threshold: u64,
    /// How many.
    pub intervals: u64,
    /// By node id: sum of inclusive ticks, and of calls.
    nodes: Vec<(i128, u64)>,
}

impl Bucket {
    #[inline]
    fn add(&mut self, node: usize, inclusive: i64, calls: u64) {
        if self.inclusive.len() <= node {
            self.inclusive.resize(node + 1, 0);
            self.calls.resize(node + 1, 0);
        }
        self.inclusive[node] += inclusive;
        self.calls[node] += calls;
    }
}

impl Cohort {
    /// Sum of inclusive ticks at a node.
    pub fn inclusive(&self, node: u32) -> i128 {
        self.nodes.get(node as usize).map_or(0, |sums| sums.0)
    }

    /// Sum of calls of a node.
    pub fn calls(&self, node: u32) -> u64 {
        self.nodes.get(node as usize).map_or(0, |sums| sums.1)
    }
}

impl Tail {
    /// Sum of inclusive ticks at a node over the tail.
    pub fn inclusive(&self, node: u32) -> i128 {
        self.inclusive
            .get(node as usize)
            .copied()
            .unwrap_or_default()
    }
}

impl Histogram {
    /// Adds one interval.
    pub fn add(&mut self, vector: &Vector<'_>) {
        let latency = vector.latency as u64;
        let at = bucket_of(latency);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, Bucket::default());
        }
        let weight = vector.weight;
        self.intervals += weight;
        self.latency_max = self.latency_max.max(latency);
        let bucket = &mut self.buckets[at];
        bucket.intervals += weight;
        bucket.kept += 1;
        for entry in vector.entries {
            let (node, calls) = (entry.node as usize, weight * u64::from(entry.calls));
            bucket.add(node, weight as i64 * entry.inclusive, calls);
        }
    }

    /// Adds the intervals of another; its node `n` is `node(n)` of these, or of no interest.
    pub fn merge(&mut self, other: &Histogram, node: impl Fn(usize) -> Option<u32>) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), Bucket::default());
        }
        self.intervals += other.intervals;
        self.latency_max = self.latency_max.max(other.latency_max);
        for (bucket, other) in self.buckets.iter_mut().zip(&other.buckets) {
            bucket.intervals += other.intervals;
            bucket.kept += other.kept;
            let sums = other.inclusive.iter().zip(&other.calls);
            for (from, (&inclusive, &calls)) in sums.enumerate() {
                if let Some(node) = node(from) {
                    bucket.add(node as usize, inclusive, calls);
                }
            }
        }
    }

    /// Numbers that are kept.
    pub fn cells(&self) -> usize {
        let nodes = |bucket: &Bucket| bucket.inclusive.len();
        self.buckets.iter().map(nodes).sum()
    }

    /// A histogram of buckets.
    pub(crate) fn of(buckets: Vec<Bucket>, latency_max: u64) -> Histogram {
        Histogram {
            intervals: buckets.iter().map(|bucket| bucket.intervals).sum(),
            buckets,
            latency_max,
        }
    }

    /// What was added after `before` was all there was. The largest latency is that of all, or the end of the last
    /// bucket that has something.
    pub(crate) fn since(&self, before: &Histogram) -> Histogram {
        let mut since = self.clone();
        for (bucket, before) in since.buckets.iter_mut().zip(&before.buckets) {
            bucket.combine(before, false);
        }
        since.intervals -= before.intervals;
        let last = since
            .buckets
            .iter()
            .rposition(|bucket| bucket.intervals > 0);
        let end = last.map_or(0, |at| lower_bound(at + 1) - 1);
        since.latency_max = since.latency_max.min(end);
        since
    }

    /// Adds intervals of this latency, ticks, over the same paths.
    pub(crate) fn add_bucket(&mut self, latency: u64, bucket: &Bucket) {
        let at = bucket_of(latency);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, Bucket::default());
        }
        self.intervals += bucket.intervals;
        self.buckets[at].combine(bucket, true);
    }

    /// Nodes with sums.
    pub(crate) fn nodes(&self) -> usize {
        let buckets = self.buckets.iter();
        buckets
            .map(|bucket| bucket.inclusive.len())
            .max()
            .unwrap_or(0)
    }

    /// Non-empty buckets with their lower bounds, ticks.
    pub(crate) fn with_bounds(&self) -> impl Iterator<Item = (u64, &Bucket)> + '_ {
        let all = self.buckets.iter().enumerate();
        all.filter(|(_, bucket)| bucket.intervals > 0)
            .map(|(at, bucket)| (lower_bound(at), bucket))
    }

    /// Non-empty buckets, ascending: lower bound (inclusive), upper bound (exclusive), both in ticks, and intervals.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let occupied = self
            .buckets
            .iter()
            .enumerate()
            .filter(|(_, bucket)| bucket.intervals > 0);
        occupied.map(|(at, bucket)| (lower_bound(at), lower_bound(at + 1), bucket.intervals))
    }

    /// The same bins with the intervals that were added, whatever their weights.
    pub(crate) fn kept_bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let occupied = self.buckets.iter().enumerate();
        occupied
            .filter(|(_, bucket)| bucket.kept > 0)
            .map(|(at, bucket)| (lower_bound(at), lower_bound(at + 1), bucket.kept))
    }

    /// Largest latency, ticks, exact.
    pub(crate) fn latency_max(&self) -> u64 {
        self.latency_max
    }

    /// The latency, ticks, that the fraction `quantile` of intervals does not exceed: linear inside the bucket that
    /// holds it, so within 1.6 %. Zero without intervals.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let Some((at, below)) = self.bucket_at(quantile) else {
            return 0.0;
        };
        let (from, to) = (lower_bound(at) as f64, lower_bound(at + 1) as f64);
        let inside =
            (quantile * self.intervals as f64 - below as f64) / self.buckets[at].intervals as f64;
        (from + (to - from) * inside.clamp(0.0, 1.0)).min(self.latency_max as f64)
    }

    /// The slowest intervals. Their threshold is the boundary of buckets nearest the quantile from below, so the tail
    /// is a sum of whole buckets and shares of it add up exactly. It may hold a few more than 1 - `quantile` of the
    /// intervals. `None` without intervals.
    pub fn tail(&self, quantile: f64) -> Option<Tail> {
        let (at, _) = self.bucket_at(quantile)?;
        let mut tail = Tail {
            threshold: lower_bound(at),
            intervals: 0,
            inclusive: Vec::new(),
        };
        for bucket in &self.buckets[at..] {
            tail.intervals += bucket.intervals;
            if tail.inclusive.len() < bucket.inclusive.len() {
                tail.inclusive.resize(bucket.inclusive.len(), 0);
            }
            for (sum, &inclusive) in tail.inclusive.iter_mut().zip(&bucket.inclusive) {
                *sum += i128::from(inclusive);
            }
        }
        debug_assert!(tail.inclusive(ROOT) >= 0);
        Some(tail)
    }

    /// The intervals from the bucket of one quantile to that of another, both included. Nothing without intervals.
    pub fn between(&self, from: f64, to: f64) -> Option<Cohort> {
        let ((first, _), (last, _)) = (self.bucket_at(from)?, self.bucket_at(to)?);
        let mut cohort = Cohort {
            threshold: lower_bound(first),
            ..Cohort::default()
        };
        for bucket in &self.buckets[first..=last] {
            cohort.intervals += bucket.intervals;
            let length = cohort.nodes.len().max(bucket.inclusive.len());
            cohort.nodes.resize(length, (0, 0));
            let sums = bucket.inclusive.iter().zip(&bucket.calls);
            for (mine, (&inclusive, &calls)) in cohort.nodes.iter_mut().zip(sums) {
                mine.0 += i128::from(inclusive);
                mine.1 += calls;
            }
        }
        Some(cohort)
    }

    /// The bucket that holds the quantile, and the intervals in buckets below it.
    fn bucket_at(&self, quantile: f64) -> Option<(usize, u64)> {
        let rank = ((quantile * self.intervals as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            if below + bucket.intervals >= rank {
                return Some((at, below));
            }
            below += bucket.intervals;
        }
        None
    }
}

/// Smallest latency of the bucket that a latency is in, ticks.
pub fn bucket_start(ticks: u64) -> u64 {
    lower_bound(bucket_of(ticks))
}

/// Index of the bucket of a latency in ticks.
fn bucket_of(ticks: u64) -> usize {
    let shift = (ticks | OCTAVE).ilog2() - OCTAVE_LOG2;
    (u64::from(shift) * OCTAVE + (ticks >> shift)) as usize
}

/// Smallest latency of a bucket, ticks.
fn lower_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / OCTAVE).saturating_sub(1);
    (bucket - shift * OCTAVE) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::vectors::Entry;
    use proptest::prelude::*;

    fn of(latencies: &[i64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &latency in latencies {
            let mut entry = Entry::default();
            entry.inclusive = latency;
            let entries = [entry];
            histogram.add(&Vector {
                latency,
                entries: &entries,
                siblings: &[],
                closure_error: 0,
                weight: 1,
            });
        }
        histogram
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_latency_and_is_narrow(ticks in 0u64..1 << 43) {
            let at = bucket_of(ticks);
            let (from, to) = (lower_bound(at), lower_bound(at + 1));
            prop_assert!(from <= ticks && ticks < to);
            prop_assert!(to - from == 1 || (to - from) * 64 <= from);
        }
    }

    /// 1..=100, one tick each: exact buckets up to 127. The 95th percentile is 95, and 95..=100 have that or more.
    #[test]
    fn quantiles_and_tails() {
        let histogram = of(&(1..=100).collect::<Vec<_>>());
        assert_eq!(histogram.quantile(0.95), 96.0, "the upper end of [95, 96)");
        let tail = histogram.tail(0.95).unwrap();
        assert_eq!((tail.threshold, tail.intervals), (95, 6));
        assert_eq!(tail.inclusive(ROOT), 95 + 96 + 97 + 98 + 99 + 100);
        assert_eq!(
            (histogram.latency_max(), histogram.bins().count()),
            (100, 100)
        );
    }

    #[test]
    fn nothing_has_no_tail() {
        assert!(of(&[]).tail(0.99).is_none());
        assert_eq!(of(&[]).quantile(0.99), 0.0);
    }
}
