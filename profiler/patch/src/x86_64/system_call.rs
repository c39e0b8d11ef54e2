//! A system call without the C library.

use core::arch::asm;

/// The kernel's answer: negative for an error.
///
/// # Safety
/// As the call's.
#[inline]
pub unsafe fn system_call(number: libc::c_long, arguments: [u64; 6]) -> i64 {
    let answer;
    // SAFETY: the caller's; registers as in the psABI, A.2.1.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}
