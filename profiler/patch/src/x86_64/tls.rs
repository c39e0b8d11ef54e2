//! The static thread-local block that holds a [`crate::Thread`].
//!
//! Trampolines need the initial-exec model, in which the block's distance from `fs` is the same in all threads. Rust
//! has no stable way to ask for it, so the symbol is defined here.

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

/// Distance of the block from `fs`; negative.
pub fn offset() -> i32 {
    let offset: i64;
    // SAFETY: reads a constant that the loader filled in.
    unsafe {
        asm!("mov {}, qword ptr [rip + evenkeel_thread@GOTTPOFF]", out(reg) offset, options(pure, readonly, nostack));
    }
    offset as i32
}

/// Address of the calling thread's block.
#[inline]
pub fn address() -> usize {
    let base: usize;
    // SAFETY: the first word at `fs` holds its own address (psABI, TLS variant II).
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(pure, readonly, nostack)) };
    base.wrapping_add_signed(offset() as isize)
}

/// Address of the stub that trampolines call when the top frame looks stale.
pub fn stale_stub() -> usize {
    super::stubs::evenkeel_stale_stub as *const () as usize
}

/// Address of the stub that trampolines call when the top frame is not theirs.
pub fn mismatch_stub() -> usize {
    super::stubs::evenkeel_mismatch_stub as *const () as usize
}
