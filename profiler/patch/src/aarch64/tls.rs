//! The static thread-local block that holds a [`crate::Thread`].

use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss, \"awT\", @nobits",
    ".balign 64",
    ".globl evenkeel_thread",
    ".hidden evenkeel_thread",
    ".type evenkeel_thread, @object",
    ".size evenkeel_thread, {size}",
    "evenkeel_thread: .zero {size}",
    ".popsection",
    size = const size_of::<crate::Thread>(),
);

/// Address of the calling thread's block: initial-exec (ELF for the Arm 64-bit Architecture, 8.5).
#[inline]
pub fn address() -> usize {
    let (base, offset): (usize, usize);
    // SAFETY: reads the thread pointer and a constant that the loader filled in.
    unsafe {
        asm!(
            "mrs {base}, tpidr_el0",
            "adrp {offset}, :gottprel:evenkeel_thread",
            "ldr {offset}, [{offset}, :gottprel_lo12:evenkeel_thread]",
            base = out(reg) base,
            offset = out(reg) offset,
            options(pure, readonly, nostack),
        );
    }
    base.wrapping_add(offset)
}

/// Address of the stub that trampolines call when the top frame looks stale: there are no trampolines.
pub fn stale_stub() -> usize {
    0
}

/// Address of the stub that trampolines call when the top frame is not theirs: there are no trampolines.
pub fn mismatch_stub() -> usize {
    0
}
