//! Where a thread is.

use core::arch::asm;

/// Instruction pointer, stack pointer and frame pointer, in the function that this is inlined into.
#[inline(always)]
pub fn registers() -> [u64; 3] {
    let (pc, sp, fp);
    // SAFETY: reads registers.
    unsafe {
        asm!(
            "adr {}, .",
            "mov {}, sp",
            "mov {}, x29",
            out(reg) pc,
            out(reg) sp,
            out(reg) fp,
            options(nomem, nostack, preserves_flags),
        );
    }
    [pc, sp, fp]
}
