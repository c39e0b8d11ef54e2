//! Which intervals are kept, once their latency is known.
//!
//! An interval of latency class `c` is kept with probability 2^-k, where k is the table's entry for `c`. Its weight
//! is then 2^k: the number of intervals that it represents. Slow intervals have k = 0, so all of them are kept. A sum
//! over kept intervals, each times its weight, estimates the sum over all without bias, whatever the table holds
//! (Horvitz and Thompson 1952). Weights are powers of two, so sums stay integers.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::latencies::{LATENCY_CLASSES, latency_class};

/// With which probability an interval is kept: 2^-k, with k up to [`KeepRate::LOG2_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeepRate(u8);

impl KeepRate {
    /// Every one.
    pub const ALL: KeepRate = KeepRate(0);
    /// The largest k: one interval in 1,024.
    pub const LOG2_MAX: u8 = 10;
    /// The largest weight.
    pub const MOST: KeepRate = KeepRate(KeepRate::LOG2_MAX);

    /// Weight 2^k. A k that no session writes keeps every interval.
    pub const fn of_log2(k: u8) -> KeepRate {
        if k <= KeepRate::LOG2_MAX {
            KeepRate(k)
        } else {
            KeepRate::ALL
        }
    }

    /// The k.
    pub const fn log2(self) -> u8 {
        self.0
    }

    /// For how many intervals a kept one stands.
    pub const fn weight(self) -> u64 {
        1 << self.0
    }

    /// Whether an interval is kept for which these uniform bits were drawn.
    pub const fn keeps(self, random: u32) -> bool {
        random & ((1 << self.0) - 1) == 0
    }
}

/// The table: by class of latency. The session writes it, agents read it. Zero keeps everything.
#[repr(C)]
pub struct KeepTable {
    log2_by_class: [AtomicU8; LATENCY_CLASSES],
}

impl KeepTable {
    /// For an interval of this latency, ticks.
    pub fn of(&self, ticks: u64) -> KeepRate {
        let entry = self.log2_by_class.get(latency_class(ticks));
        entry.map_or(KeepRate::ALL, |k| KeepRate::of_log2(k.load(Relaxed)))
    }

    /// Sets the entry of a class.
    pub fn set(&self, class: usize, keep: KeepRate) {
        if let Some(entry) = self.log2_by_class.get(class) {
            entry.store(keep.log2(), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_power_of_two_is_kept() {
        for k in 0..=KeepRate::LOG2_MAX {
            let keep = KeepRate::of_log2(k);
            let kept = (0..1 << KeepRate::LOG2_MAX).filter(|&random| keep.keeps(random));
            assert_eq!(kept.count() as u64 * keep.weight(), 1 << KeepRate::LOG2_MAX);
        }
    }

    /// Memory that another program has written over.
    #[test]
    fn an_impossible_entry_keeps_everything() {
        // SAFETY: atomic bytes; every value is valid.
        let table: KeepTable = unsafe { core::mem::transmute([0xa5_u8; LATENCY_CLASSES]) };
        for ticks in [0, 1, 1 << 20, u64::MAX] {
            assert_eq!(table.of(ticks), KeepRate::ALL);
        }
        table.set(latency_class(1 << 20), KeepRate::of_log2(3));
        assert_eq!(table.of(1 << 20).weight(), 8);
    }
}
