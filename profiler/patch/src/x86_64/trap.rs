//! Handling of the agent's breakpoints: carries out the original instruction in the thread's trap frame.

use evenkeel_wire::Displaced;

use super::BREAKPOINT;
use super::fault::{self, Fault};
use super::operand;
use crate::site::{Branch, To};

/// ucontext register numbers (sys/ucontext.h) in the processor's numbering.
const REGISTERS: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Registers of a call's integer arguments, in their order (System V ABI, section 3.2.3).
const ARGUMENTS: [i32; 6] = [
    libc::REG_RDI,
    libc::REG_RSI,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_R8,
    libc::REG_R9,
];

/// An argument of the call at a breakpoint, 0 for the first; `None` for one that is on the stack.
pub fn argument(context: &libc::ucontext_t, number: usize) -> Option<u64> {
    let register = *ARGUMENTS.get(number)?;
    Some(context.uc_mcontext.gregs[register as usize] as u64)
}

/// The address of the breakpoint a thread has just executed.
pub fn breakpoint_address(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64 - 1
}

/// Result of carrying out an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Carried {
    /// The thread continues; at this callee, if it was a call or a tail call.
    On(Option<u64>),
    /// The instruction itself cannot be executed, since its operand leads nowhere: the program's own fault. The thread stands before the
    /// instruction.
    Faulted(Fault),
}

/// The thread continues elsewhere, at a copy of the instruction that it was about to execute.
pub fn go_on_at(context: &mut libc::ucontext_t, address: u64) -> Carried {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = address as i64;
    Carried::On(None)
}

/// Whether the instruction that trapped, whose last byte is at `at`, is neither of the two that do so.
///
/// # Safety
/// A thread has executed it.
pub unsafe fn is_no_breakpoint(at: u64) -> bool {
    // SAFETY: the caller's contract. `int 3` in two bytes is cd 03.
    unsafe {
        let last = *(at as *const u8);
        let is_long = last == 3 && *(at as *const u8).sub(1) == 0xcd;
        last != BREAKPOINT && !is_long
    }
}

/// The thread stands where it was before it executed the breakpoint.
pub fn step_back(context: &mut libc::ucontext_t) {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = breakpoint_address(context) as i64;
}

/// Continues the thread as if the branch at the breakpoint had been executed.
///
/// # Safety
/// `context` is that of a thread that has just executed a breakpoint that replaces this branch.
pub unsafe fn carry_out(context: &mut libc::ucontext_t, branch: &Branch<'_>) -> Carried {
    let registers = &mut context.uc_mcontext.gregs;
    let target = match branch.to {
        To::Address(target) => target,
        To::Pointer(pointer) => {
            let value_of = |n: u8| registers[REGISTERS[n as usize & 15] as usize] as u64;
            let address = match operand::evaluate(pointer, branch.next, value_of) {
                operand::Value::Target(target) => Ok(target),
                // SAFETY: the processor was about to read this word.
                operand::Value::At(address) => unsafe { fault::read(address) },
            };
            match address {
                Ok(target) => target,
                Err(fault) => {
                    step_back(context);
                    return Carried::Faulted(fault);
                }
            }
        }
    };
    if branch.is_call {
        let sp = registers[libc::REG_RSP as usize] - 8;
        // SAFETY: the call would have written this word; the kernel keeps signal frames 128 bytes below.
        unsafe { *(sp as *mut u64) = branch.next };
        registers[libc::REG_RSP as usize] = sp;
    }
    registers[libc::REG_RIP as usize] = target as i64;
    let told = match branch.to {
        To::Address(_) if !branch.is_call => None,
        _ => Some(target),
    };
    Carried::On(told)
}

/// Where a displaced copy continues for a thread that stood `offset` bytes into the entry.
pub fn displaced_address(displaced: &Displaced, body: u64, offset: u8) -> u64 {
    let mut address = body;
    for piece in &displaced.pieces[..displaced.count as usize] {
        if piece.origin >= offset {
            break;
        }
        address += piece.len as u64;
    }
    address
}
