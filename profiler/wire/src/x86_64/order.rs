//! Order of memory: when a record becomes visible to another processor.

use core::sync::atomic::{Ordering::Release, compiler_fence};

/// Writes the two words of a record, the second one visible no sooner than the first. The processor keeps stores in order
/// (Intel SDM vol. 3, 9.2.2), so it is enough that the compiler does: trampolines do the same with two plain stores.
///
/// # Safety
/// `slot` leads to two words that this thread alone writes.
#[inline]
pub unsafe fn publish(slot: *mut u64, first: u64, second: u64) {
    // SAFETY: the caller's contract.
    unsafe {
        slot.write_volatile(first);
        compiler_fence(Release);
        slot.add(1).write_volatile(second);
    }
}
