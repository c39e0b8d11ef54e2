//! `dlsym`, so that libraries opened at run time are noticed before their functions are called.
//!
//! The C library's own function takes its caller from its return address (`RTLD_NEXT`). So this one jumps to it, with
//! the original stack. `dlopen` is not replaced for the same reason: it searches the caller's run path.

use core::arch::naked_asm;
use core::ffi::{c_char, c_void};

use crate::libraries;

/// As the C library's.
///
/// # Safety
/// As dlsym(3).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // A function's entry has to preserve only the arguments, apart from the callee-saved registers.
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {notice}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        notice = sym libraries::notice,
    )
}
