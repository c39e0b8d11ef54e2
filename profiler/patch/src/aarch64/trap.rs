//! Handling of the agent's breakpoints: this architecture has none.

use evenkeel_wire::Displaced;

use super::fault::Fault;
use crate::site::Branch;

/// The address of the breakpoint a thread has just executed: the program counter stays there.
pub fn breakpoint_address(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.pc
}

/// An argument of the call at a breakpoint, 0 for the first; `None` for one that is on the stack (AAPCS64, section 6.8.2).
pub fn argument(context: &libc::ucontext_t, number: usize) -> Option<u64> {
    let registers = context.uc_mcontext.regs.get(..8)?;
    registers.get(number).copied()
}

/// Result of carrying out an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Carried {
    /// The thread continues; at this callee, if it was a call or a tail call.
    On(Option<u64>),
    /// The instruction itself cannot be executed.
    Faulted(Fault),
}

/// The thread continues elsewhere, at a copy of the instruction that it was about to execute.
pub fn go_on_at(context: &mut libc::ucontext_t, address: u64) -> Carried {
    context.uc_mcontext.pc = address;
    Carried::On(None)
}

/// No breakpoint is ever put anywhere.
///
/// # Safety
/// None is needed.
pub unsafe fn is_no_breakpoint(_: u64) -> bool {
    false
}

/// The thread stands where it was before it executed the breakpoint: the program counter stayed there.
pub fn step_back(_: &mut libc::ucontext_t) {}

/// Nothing is to be carried out.
///
/// # Safety
/// None is needed.
pub unsafe fn carry_out(_: &mut libc::ucontext_t, _: &Branch<'_>) -> Carried {
    Carried::On(None)
}

/// Nothing is displaced.
pub fn displaced_address(_: &Displaced, body: u64, _: u8) -> u64 {
    body
}
