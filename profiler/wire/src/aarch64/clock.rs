//! The clock of all records: the virtual count of the generic timer (Arm ARM, D12.2), which Linux lets programs read.

/// Present time in ticks. Not serialising: it may drift a few instructions, which costs less than a barrier would.
#[inline]
pub fn now_ticks() -> u64 {
    let ticks;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}
