//! Counters of one thread, which others only read.

use core::arch::asm;
use core::sync::atomic::AtomicU64;

/// Adds to a counter that no other thread writes, and returns its earlier value. It is one instruction, so that
/// handlers of signals on the same thread lose nothing. It has no lock prefix, which would take longer than
/// everything around it.
#[inline]
pub fn add(counter: &AtomicU64, more: u64) -> u64 {
    let before;
    // SAFETY: memory that the reference vouches for; readers see the old value or the new one.
    unsafe {
        asm!(
            "xadd qword ptr [{}], {}",
            in(reg) counter.as_ptr(),
            inout(reg) more => before,
            options(nostack),
        );
    }
    before
}
