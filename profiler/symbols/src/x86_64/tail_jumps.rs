//! Distinguishing an indirect tail call from a `switch`.

use iced_x86::{Code, Instruction, InstructionInfoFactory, OpAccess, Register};

/// Instructions before a jump that are searched for the source of its register. Code that moves six arguments into
/// place and restores six registers may lie in between, and so may the end of another path.
pub(crate) const WINDOW: usize = 32;

/// Instructions before a jump marked `notrack` that is taken for a call: a `switch` compares before it jumps.
const UNTRACKED_MAX: usize = 2;

/// Whether the operand of an indirect jump looks like a function pointer, given the instructions before it (the last
/// is the one just before). A `switch` jumps through a table: its target has an index, or is computed by an addition.
/// Compilers mark it `notrack`, which may also stand before a call of a function (`nocf_check`). The caller checks that the stack is that at the function's entry.
pub(crate) fn takes_pointer(jump: &Instruction, before: &[Instruction]) -> bool {
    // The prefix 3e is DS as a segment, notrack on an indirect branch.
    let is_untracked = jump.segment_prefix() != Register::None;
    if jump.code() != Code::Jmp_rm64 || is_untracked && before.len() > UNTRACKED_MAX {
        return false;
    }
    if jump.op0_register() == Register::None {
        return jump.memory_index() == Register::None;
    }
    let register = jump.op0_register();
    let mut factory = InstructionInfoFactory::new();
    let writer = before.iter().rev().take(WINDOW).find(|instruction| {
        let info = factory.info(instruction);
        info.used_registers().iter().any(|used| {
            let writes = matches!(
                used.access(),
                OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite
            );
            writes && used.register().full_register() == register
        })
    });
    match writer {
        Some(load) => load.code() == Code::Mov_r64_rm64 && load.memory_index() == Register::None,
        // An argument of the function, if the search reached its beginning.
        None => before.len() < WINDOW,
    }
}

/// Whether the instruction just before the jump took the frame down: a `switch` keeps it.
pub(crate) fn follows_leave(before: &[Instruction]) -> bool {
    before
        .last()
        .is_some_and(|instruction| instruction.code() == Code::Leaveq)
}
