//! What a thread does that meets a breakpoint of ours: there are none on this architecture.

use evenkeel_wire::{Displaced, Probe};

/// The address of the breakpoint a thread has just executed: the program counter stays there.
pub fn breakpoint_address(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.pc
}

/// An argument of the call at a breakpoint, 0 for the first; `None` for one that is on the stack (AAPCS64, section 6.8.2).
pub fn argument(context: &libc::ucontext_t, number: usize) -> Option<u64> {
    let registers = context.uc_mcontext.regs.get(..8)?;
    registers.get(number).copied()
}

/// A site in this process.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Its probe in the plan.
    pub probe: &'a Probe,
    /// Where the probe's instruction lies in this process.
    pub address: u64,
    /// Bias of its module.
    pub bias: u64,
    /// For an entry: the plan's displaced instructions and where this process has them.
    pub displaced: Option<(&'a Displaced, u64)>,
}

/// Nothing is to be carried out.
///
/// # Safety
/// None is needed.
pub unsafe fn emulate(_: &mut libc::ucontext_t, _: &Site<'_>) -> Option<u64> {
    None
}
