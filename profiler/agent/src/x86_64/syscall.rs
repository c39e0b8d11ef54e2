//! `syscall`: all but `futex` are left by a jump, with registers and stack as they were, since some of them return twice.

use core::arch::naked_asm;
use core::ffi::c_long;

use crate::edges::futexes::futex;
use crate::next::Next;

#[unsafe(link_section = "evenkeel_next")]
static NEXT: Next = Next::of("syscall\0", "\0");

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
        "cmp rdi, {number}",
        "je {futex}",
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
        number = const libc::SYS_futex,
        futex = sym futex,
        real = sym real,
    )
}
