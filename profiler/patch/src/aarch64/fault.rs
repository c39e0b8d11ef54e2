//! Faults of the agent's own code: nothing is hooked on this architecture, so there is nothing to leave.

/// A word that the program cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its address.
    pub address: u64,
}

/// Nothing is carried out for the program, so nothing fails.
pub fn fail_again(_: &mut libc::ucontext_t, _: Fault) {}

/// Reads a word as the program would.
///
/// # Safety
/// The program was about to read this word.
pub unsafe fn read(address: u64) -> Result<u64, Fault> {
    // SAFETY: the caller's contract.
    Ok(unsafe { (address as *const u64).read_unaligned() })
}

/// Where the instruction that failed lies.
pub fn program_counter(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.pc
}

/// Where the stack of a thread ends.
pub fn stack_pointer(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.sp
}

/// The agent's reads are not recoverable here.
///
/// # Safety
/// None is needed.
pub unsafe fn answer_read(_: &mut libc::ucontext_t) -> bool {
    false
}

/// No boundary's function runs.
///
/// # Safety
/// None is needed.
pub unsafe fn leave_boundary(_: &mut libc::ucontext_t) -> Option<u32> {
    None
}

/// There are no trampolines.
///
/// # Safety
/// None is needed.
pub unsafe fn leave_trampoline(
    _: &mut libc::ucontext_t,
    _: &super::trampoline::Hook,
    _: u64,
) -> bool {
    false
}
