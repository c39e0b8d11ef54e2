//! One pass over the code of a module: who calls and jumps where.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

/// A displaced entry never covers more bytes: four of them, and the longest instruction.
pub(crate) const ENTRY_BYTES_MAX: u64 = 4 + 15;

/// A direct call, or a jump out of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Index of the part that holds the instruction.
    pub(crate) part: u32,
    pub(crate) site: u64,
    pub(crate) target: u64,
    pub(crate) kind: TransferKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferKind {
    Call,
    Jump,
    ConditionalJump,
}

/// What the scan found.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) transfers: Vec<Transfer>,
    /// Targets of branches within a part that lie just behind its start.
    pub(crate) near_start: Vec<u64>,
    /// Parts that call through a pointer, ascending, each once.
    pub(crate) call_pointers: Vec<u32>,
    /// Addresses that the code computes, or (at a fixed address) loads as a constant.
    pub(crate) computed: Vec<u64>,
}

/// Adds what part `index` does. Bytes that are no instruction are skipped: a wrong guess about where the next
/// instruction begins adds branches that do not exist, and those only make other parts of the analysis more careful.
pub(crate) fn scan(code: &[u8], range: &Range<u64>, index: u32, flow: &mut Flow) {
    let mut decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        match instruction.flow_control() {
            FlowControl::Next => note_address(&instruction, flow),
            FlowControl::Call if instruction.is_call_near() => {
                flow.add(range, index, &instruction, TransferKind::Call);
            }
            FlowControl::UnconditionalBranch if has_target(&instruction) => {
                flow.add(range, index, &instruction, TransferKind::Jump);
            }
            FlowControl::ConditionalBranch if has_target(&instruction) => {
                flow.add(range, index, &instruction, TransferKind::ConditionalJump);
            }
            FlowControl::IndirectCall if flow.call_pointers.last() != Some(&index) => {
                flow.call_pointers.push(index);
            }
            _ => {}
        }
    }
}

impl Flow {
    fn add(
        &mut self,
        range: &Range<u64>,
        part: u32,
        instruction: &Instruction,
        kind: TransferKind,
    ) {
        let target = instruction.near_branch_target();
        let inside = range.contains(&target);
        if inside && (1..ENTRY_BYTES_MAX).contains(&(target - range.start)) {
            self.near_start.push(target);
        }
        if !inside || kind == TransferKind::Call {
            self.transfers.push(Transfer {
                part,
                site: instruction.ip(),
                target,
                kind,
            });
        }
    }
}

/// A near branch to a fixed place, not a far one.
fn has_target(instruction: &Instruction) -> bool {
    matches!(
        instruction.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    )
}

fn note_address(instruction: &Instruction, flow: &mut Flow) {
    match instruction.code() {
        Code::Lea_r64_m if instruction.is_ip_rel_memory_operand() => {
            flow.computed.push(instruction.ip_rel_memory_address());
        }
        Code::Mov_r32_imm32 | Code::Pushq_imm32 => {
            flow.computed.push(u64::from(instruction.immediate32()))
        }
        Code::Mov_rm64_imm32 => flow.computed.push(instruction.immediate32to64() as u64),
        Code::Mov_r64_imm64 => flow.computed.push(instruction.immediate64()),
        _ => {}
    }
}
