//! Where threads begin: a jump leads to the target's start function, so that no frame of the agent is on its stack
//! when it ends, is cancelled, or is inspected.

use core::arch::naked_asm;
use core::ffi::c_void;

/// The start routine that the C library sees.
///
/// # Safety
/// The argument leads to a function, which gets the argument and returns a start routine and that routine's argument.
#[unsafe(naked)]
pub unsafe extern "C" fn thread_entry(start: *mut c_void) -> *mut c_void {
    naked_asm!(
        "sub rsp, 8",
        "call qword ptr [rdi]",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
    )
}
