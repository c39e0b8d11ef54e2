//! Operands of indirect calls, in the numbers of the processor.

use evenkeel_wire::Operand;
use iced_x86::{Instruction, OpKind, Register};

/// Where an indirect call or jump takes its target from. `None` if an agent could not emulate it: a far pointer,
/// another segment, or addresses of 16 or 32 bits.
pub(crate) fn operand(instruction: &Instruction) -> Option<Operand> {
    match instruction.op0_kind() {
        OpKind::Register => Some(Operand {
            base: number(instruction.op0_register())?,
            index: Operand::NONE,
            scale: 1,
            register: 1,
            displacement: 0,
        }),
        OpKind::Memory => memory(instruction),
        _ => None,
    }
}

fn memory(instruction: &Instruction) -> Option<Operand> {
    if !matches!(
        instruction.segment_prefix(),
        Register::None | Register::DS | Register::ES | Register::CS | Register::SS
    ) {
        return None;
    }
    if instruction.memory_size().size() != 8 {
        return None;
    }
    let base = match instruction.memory_base() {
        Register::None => Operand::NONE,
        Register::RIP => Operand::RIP,
        register => number(register)?,
    };
    let index = match instruction.memory_index() {
        Register::None => Operand::NONE,
        register => number(register)?,
    };
    // The decoder adds the address of the next instruction to the displacement of a RIP-relative operand.
    let displacement = instruction.memory_displacement64();
    let displacement = if base == Operand::RIP {
        displacement.wrapping_sub(instruction.next_ip())
    } else if base == Operand::NONE && index == Operand::NONE && is_32_bit_absolute(instruction) {
        return None;
    } else {
        displacement
    };
    Some(Operand {
        base,
        index,
        scale: instruction.memory_index_scale() as u8,
        register: 0,
        displacement: displacement as i64 as i32,
    })
}

/// `call [disp32]` with an address-size prefix: the displacement is not sign-extended, which matters from 2 GiB on.
fn is_32_bit_absolute(instruction: &Instruction) -> bool {
    instruction.memory_displ_size() == 4
        && instruction.memory_displacement64() >= 1 << 31
        && instruction.memory_displacement64() < 1 << 32
}

/// The number of a 64-bit general register.
fn number(register: Register) -> Option<u8> {
    register.is_gpr64().then(|| register.number() as u8)
}
