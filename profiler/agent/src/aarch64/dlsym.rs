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
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {notice}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        notice = sym libraries::notice,
    )
}
