//! `syscall`: all but what concerns waits and signal masks is left by a jump, with registers and stack as they were, since
//! some of them return twice.

use core::arch::naked_asm;
use core::ffi::c_long;

use crate::arch::replacement::define_replacement;
use crate::confinement::confine;
use crate::masks::change_mask;
use crate::next::Next;
use crate::waits::futexes::futex;

#[unsafe(link_section = "evenkeel_next")]
static NEXT: Next = Next::replaced("syscall\0", "\0", syscall as *const ());

define_replacement! {
    always
    /// `syscall(SYS_futex, ...)`.
    enter_futex(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long, NEXT, futex
}
define_replacement! {
    always
    /// `syscall(SYS_rt_sigprocmask, ...)`.
    enter_mask(number: c_long, a: u64, b: u64, c: u64, d: u64) -> c_long, NEXT, change_mask
}
define_replacement! {
    always
    /// A call that may confine the process.
    enter_confine(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64) -> c_long, NEXT, confine
}

extern "C" fn real() -> usize {
    NEXT.get()
}

/// As the C library's.
///
/// # Safety
/// As syscall(2).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        "cmp x0, {futex_number}",
        "b.eq {futex}",
        "cmp x0, {mask_number}",
        "b.eq {mask}",
        "cmp x0, {seccomp_number}",
        "b.eq {confine}",
        "cmp x0, {prctl_number}",
        "b.eq {confine}",
        "stp x29, x30, [sp, #-80]!",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "bl {real}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "br x16",
        futex_number = const libc::SYS_futex,
        futex = sym enter_futex,
        mask_number = const libc::SYS_rt_sigprocmask,
        mask = sym enter_mask,
        seccomp_number = const libc::SYS_seccomp,
        prctl_number = const libc::SYS_prctl,
        confine = sym enter_confine,
        real = sym real,
    )
}
