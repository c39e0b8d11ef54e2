//! The clock of all records: the time stamp counter.

/// Present time in ticks. Not serialising: it may drift a few instructions, which costs less than a fence would.
#[inline]
pub fn now_ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}
