//! Counters of one thread, which others only read.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds to a counter that no other thread writes, and returns its earlier value; handlers of signals on the same
/// thread lose nothing.
#[inline]
pub fn add(counter: &AtomicU64, more: u64) -> u64 {
    counter.fetch_add(more, Relaxed)
}
