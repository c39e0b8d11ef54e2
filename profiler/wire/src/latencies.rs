//! Classes of latency, by which a thread counts the intervals that it does not record.
//!
//! ```text
//! ticks   0 1 .. 31 | 32 34 .. 62 | 64 68 .. 124 | ...      16 classes an octave: at most 1/16 = 6 % wide
//! class   0 1 .. 31 | 32 33 .. 47 | 48 49 ..  63 | ...
//! ```

use core::sync::atomic::AtomicU64;

const OCTAVE_LOG2: u32 = 4;
const OCTAVE: u64 = 1 << OCTAVE_LOG2;
/// Classes, for latencies of 64 bits.
pub const LATENCY_CLASSES: usize = (65 - OCTAVE_LOG2 as usize) * OCTAVE as usize;

/// Latencies of intervals, counted by class. A thread writes, the session reads.
#[repr(C)]
pub struct LatencyCounts {
    /// All of them. Written last: a reader that sees it grow finds the class.
    pub intervals: AtomicU64,
    /// The largest, ticks.
    pub max_ticks: AtomicU64,
    /// By class.
    pub by_class: [AtomicU64; LATENCY_CLASSES],
}

/// Class of a latency in ticks.
pub const fn latency_class(ticks: u64) -> usize {
    let shift = (ticks | OCTAVE).ilog2() - OCTAVE_LOG2;
    (shift as u64 * OCTAVE + (ticks >> shift)) as usize
}

/// Smallest latency of a class, ticks. The start of the class after the last one is the largest number.
pub const fn latency_class_start(class: usize) -> u64 {
    if class >= LATENCY_CLASSES {
        return u64::MAX;
    }
    let class = class as u64;
    let shift = (class / OCTAVE).saturating_sub(1);
    (class - shift * OCTAVE) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_latencies_and_is_narrow() {
        let powers = (0..64).map(|power| 1_u64 << power);
        let around = powers.flat_map(|power| [power - 1, power, power + 1, power + power / 3]);
        for ticks in around.chain([u64::MAX - 1]) {
            let class = latency_class(ticks);
            let (from, to) = (latency_class_start(class), latency_class_start(class + 1));
            assert!(from <= ticks && ticks < to, "{ticks}");
            assert!(
                to - from <= 1 || (to - from) / 2 * 16 <= from / 2,
                "{ticks}"
            );
        }
        assert_eq!(latency_class(u64::MAX), LATENCY_CLASSES - 1);
    }
}
