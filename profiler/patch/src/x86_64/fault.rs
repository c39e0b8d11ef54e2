//! Faults of the agent's own instructions: where the thread continues.
//!
//! | the instruction that failed | the thread continues |
//! |---|---|
//! | reads an operand for the program ([`read`]) | there, with an error; the fault is the program's ([`fail_again`]) |
//! | lies in an inner hook, before or after the call | at the hook's exit: the call runs, or returns, as if unhooked |
//! | lies in a function that a boundary hook calls | in the hook, as if the function had declined |
//!
//! The stubs keep where a boundary's function returns to in the thread's state ([`crate::Thread::guard`]), so that no stack is unwound.
//! The hook then takes all registers from where it saved them.

use core::arch::global_asm;

use super::stubs::Registers;
use super::trampoline::Hook;
use crate::thread::current;

/// A word that the program cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its address.
    pub address: u64,
}

/// The word, and 1 if there is one.
#[repr(C)]
struct Word {
    value: u64,
    is_there: u64,
}

// `evenkeel_read` takes an address in rdi, and returns a Word in rax and rdx. `evenkeel_fail` reads from the address in rax.
global_asm!(
    ".pushsection .text.evenkeel_stubs, \"ax\", @progbits",
    ".globl evenkeel_read, evenkeel_read_failed, evenkeel_fail, evenkeel_failed_not",
    ".hidden evenkeel_read, evenkeel_read_failed, evenkeel_fail, evenkeel_failed_not",
    "evenkeel_read:",
    "mov rax, [rdi]",
    "mov edx, 1",
    "ret",
    "evenkeel_read_failed:",
    "xor edx, edx",
    "ret",
    "evenkeel_fail:",
    "mov rax, [rax]",
    "evenkeel_failed_not:",
    "ud2",
    ".popsection",
);

unsafe extern "C" {
    fn evenkeel_read(address: u64) -> Word;
    fn evenkeel_read_failed();
    fn evenkeel_fail();
    fn evenkeel_failed_not();
}

/// Reads a word as the program would. Its fault is returned where faults are handled ([`answer_read`]), and otherwise the program's end.
///
/// # Safety
/// The program was about to read this word.
pub unsafe fn read(address: u64) -> Result<u64, Fault> {
    // SAFETY: the caller's contract.
    let word = unsafe { evenkeel_read(address) };
    if word.is_there == 1 {
        Ok(word.value)
    } else {
        Err(Fault { address })
    }
}

/// Lets a thread meet the fault of the program's instruction that it stands before. The thread reads the word itself, so that the kernel
/// calls the program's handler with the stack and the mask it asked for. [`answer_read`] puts the thread back before the instruction.
pub fn fail_again(context: &mut libc::ucontext_t, fault: Fault) {
    let registers = &mut context.uc_mcontext.gregs;
    current().failing = [libc::REG_RAX, libc::REG_RIP].map(|at| registers[at as usize] as u64);
    registers[libc::REG_RAX as usize] = fault.address as i64;
    registers[libc::REG_RIP as usize] = evenkeel_fail as *const () as i64;
}

/// Where the instruction that failed lies.
pub fn program_counter(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64
}

/// Where the stack of a thread ends.
pub fn stack_pointer(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as u64
}

/// Lets [`read`] return the fault, if it was its instruction that failed. After [`fail_again`] the thread is put back before the program's
/// instruction, whose fault this is, and that is not answered here.
///
/// # Safety
/// Called from the handler of a fault, with what the kernel passes.
pub unsafe fn answer_read(context: &mut libc::ucontext_t) -> bool {
    let at = program_counter(context);
    let registers = &mut context.uc_mcontext.gregs;
    if at == evenkeel_read as *const () as u64 {
        registers[libc::REG_RIP as usize] = evenkeel_read_failed as *const () as i64;
        return true;
    }
    // The word may have arrived in between: then the instruction is tried again.
    let did_not = at == evenkeel_failed_not as *const () as u64;
    if did_not || at == evenkeel_fail as *const () as u64 {
        let [rax, site] = current().failing;
        registers[libc::REG_RAX as usize] = rax as i64;
        registers[libc::REG_RIP as usize] = site as i64;
    }
    did_not
}

/// Bytes of stack that a boundary's function may use: what lies further away is another stack.
const STACK_BYTES: u64 = 256 << 10;

/// Lets a boundary's function return at once as if it declined, if the thread is in one. Returns the probe.
///
/// # Safety
/// Called from the handler of a fault, with the context of an instruction of the agent's.
pub unsafe fn leave_boundary(context: &mut libc::ucontext_t) -> Option<u32> {
    let thread = current();
    let (guard, base) = (thread.guard, thread.guard_base);
    let registers = &mut context.uc_mcontext.gregs;
    let sp = registers[libc::REG_RSP as usize] as u64;
    if guard == 0 || !(guard.saturating_sub(STACK_BYTES)..guard).contains(&sp) {
        return None;
    }
    // SAFETY: the layout of `evenkeel_call_boundary`; behind its own call of the long way lies that one's frame.
    unsafe {
        let saved = |base: u64| base.wrapping_sub(304) & !15;
        let outer = if saved(base) == guard {
            base
        } else {
            *(base as *const u64)
        };
        let place = saved(outer) as *const u64;
        let (id, hook, after) = (*place.add(32) as u32, *place.add(33), *place.add(34));
        let back = *(outer as *const u64).add(1);
        // After the call, a hook that does not know where it returns to has the address in its frame.
        let frame = &mut *(hook as *mut Registers);
        if back > after && frame.return_slot == after {
            frame.return_slot = thread.abandon(frame.sp(), after)?;
        }
        registers[libc::REG_RIP as usize] = *(guard as *const i64).sub(1);
        registers[libc::REG_RSP as usize] = guard as i64;
        registers[libc::REG_RBP as usize] = base as i64;
        registers[libc::REG_RAX as usize] = 0;
        Some(id)
    }
}

/// Leads a thread to the exit of the inner hook whose trampoline begins at `start`. False where the instruction that failed is the
/// program's: the hook's call through a pointer.
///
/// # Safety
/// As for [`leave_boundary`], with an instruction of this trampoline.
pub unsafe fn leave_trampoline(context: &mut libc::ucontext_t, hook: &Hook, start: u64) -> bool {
    let template = hook.template();
    let Some(exits) = template.exits else {
        return false;
    };
    let at = (program_counter(context) - start) as usize;
    let registers = &mut context.uc_mcontext.gregs;
    let exit = if exits.entering.iter().any(|span| span.contains(&at)) {
        exits.undo
    } else if exits.leaving.iter().any(|span| span.contains(&at)) {
        let slot = registers[libc::REG_RSP as usize] as u64 + 32;
        let after = start + template.after as u64;
        // SAFETY: the slot of the return address, above the four registers that were saved.
        let holds = unsafe { *(slot as *const u64) };
        if template.moving && holds == after {
            let Some(back) = current().abandon(slot, after) else {
                return false;
            };
            // SAFETY: the same.
            unsafe { *(slot as *mut u64) = back };
        }
        exits.left
    } else {
        return false;
    };
    registers[libc::REG_RIP as usize] = (start + exit as u64) as i64;
    true
}
