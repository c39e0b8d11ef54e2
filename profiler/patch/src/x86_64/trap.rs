//! What a thread does that meets a breakpoint of ours: carry out the original instruction, from its trap frame.

use evenkeel_wire::{Displaced, Form, Probe};

use super::operand;

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

/// Those of a call's integer arguments, in their order (System V ABI, section 3.2.3).
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

/// Continues the thread as if the original instruction at the breakpoint had been executed. Returns the callee if it was
/// one through a pointer or a call.
///
/// # Safety
/// `context` is that of a thread that has just executed a breakpoint inside `site`.
pub unsafe fn emulate(context: &mut libc::ucontext_t, site: &Site<'_>) -> Option<u64> {
    let at = breakpoint_address(context);
    let registers = &mut context.uc_mcontext.gregs;
    if let Some((displaced, body)) = site.displaced {
        registers[libc::REG_RIP as usize] =
            displaced_address(displaced, body, (at - site.address) as u8) as i64;
        return None;
    }
    let probe = site.probe;
    let next = site.address + probe.len as u64;
    if probe.form == Form::TailJump as u8 {
        registers[libc::REG_RIP as usize] = (probe.target + site.bias) as i64;
        return None;
    }
    let target = if probe.form == Form::Call as u8 {
        probe.target + site.bias
    } else {
        // SAFETY: the processor was about to read the operand with these registers.
        unsafe {
            operand::evaluate(&probe.operand, next, |n| {
                registers[REGISTERS[n as usize & 15] as usize] as u64
            })
        }
    };
    if probe.form == Form::IndirectJump as u8 {
        registers[libc::REG_RIP as usize] = target as i64;
        return Some(target);
    }
    let sp = registers[libc::REG_RSP as usize] - 8;
    // SAFETY: the call would have written this word; the kernel keeps signal frames 128 bytes below.
    unsafe { *(sp as *mut u64) = next };
    registers[libc::REG_RSP as usize] = sp;
    registers[libc::REG_RIP as usize] = target as i64;
    Some(target)
}

/// Where a displaced copy goes on for a thread that stood `offset` bytes into the entry.
fn displaced_address(displaced: &Displaced, body: u64, offset: u8) -> u64 {
    let mut address = body;
    for piece in &displaced.pieces[..displaced.count as usize] {
        if piece.origin >= offset {
            break;
        }
        address += piece.len as u64;
    }
    address
}
