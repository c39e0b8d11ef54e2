//! Two words changed at once.

use core::arch::asm;

/// Zeroes two words if they hold `expected`; at once, as other threads see it. (Every processor with the 64-bit systems that
/// can run this has `cmpxchg16b`.)
///
/// # Safety
/// `at` is aligned to 16 bytes, and both words may be written.
pub unsafe fn zero_pair(at: *mut u64, expected: (u64, u64)) -> bool {
    let done: u8;
    // SAFETY: the caller's contract. rbx is reserved by the compiler, so it is saved.
    unsafe {
        asm!(
            "xchg rbx, {new}",
            "lock cmpxchg16b [{at}]",
            "sete {done}",
            "mov rbx, {new}",
            at = in(reg) at,
            new = inout(reg) 0u64 => _,
            done = out(reg_byte) done,
            inout("rax") expected.0 => _,
            inout("rdx") expected.1 => _,
            in("rcx") 0u64,
            options(nostack),
        );
    }
    done != 0
}
