//! Order of memory: when a record becomes visible to another processor.

use core::sync::atomic::{AtomicU64, Ordering::Release};

/// Writes the two words of a record; the second becomes visible no sooner than the first. The processor may reorder
/// plain stores (Arm ARM, B2.3), so the second store releases.
///
/// # Safety
/// `slot` leads to two words that this thread alone writes.
#[inline]
pub unsafe fn publish(slot: *mut u64, first: u64, second: u64) {
    // SAFETY: the caller's contract.
    unsafe {
        slot.write_volatile(first);
        AtomicU64::from_ptr(slot.add(1)).store(second, Release);
    }
}
