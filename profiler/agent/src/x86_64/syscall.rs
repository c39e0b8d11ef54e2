//! `syscall`: all but what concerns waits, signal masks and seccomp is left by a jump, with registers and stack as they were, since
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
        "cmp rdi, {futex_number}",
        "je {futex}",
        "cmp rdi, {mask_number}",
        "je {mask}",
        "cmp rdi, {seccomp_number}",
        "je {confine}",
        "cmp rdi, {prctl_number}",
        "je {confine}",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "call {real}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
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
