//! A system call without the C library.

use core::arch::asm;

/// The kernel's answer: negative for an error.
///
/// # Safety
/// As the call's.
#[inline]
pub unsafe fn system_call(number: libc::c_long, arguments: [u64; 6]) -> i64 {
    let answer;
    // SAFETY: the caller's; registers as in syscall(2).
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arguments[0] => answer,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    answer
}
