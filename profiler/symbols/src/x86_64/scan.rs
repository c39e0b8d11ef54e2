//! The scan of a module's code: calls and jumps with their targets.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use crate::flow::{Flow, Transfer, TransferKind};

/// A displaced entry never covers more bytes: four of them, and the longest instruction.
pub(crate) const ENTRY_BYTES_MAX: u64 = 4 + 15;

/// Adds the branches of part `index`. Bytes that are no instruction are skipped. A wrong guess about the next
/// instruction adds branches that do not exist, which only makes other parts of the analysis more careful.
pub(crate) fn scan(code: &[u8], range: &Range<u64>, index: u32, flow: &mut Flow) {
    let mut decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        match instruction.flow_control() {
            FlowControl::Next => note_address(&instruction, flow),
            FlowControl::Call if instruction.is_call_near() => {
                add(flow, range, index, &instruction, TransferKind::Call);
            }
            FlowControl::UnconditionalBranch if has_target(&instruction) => {
                add(flow, range, index, &instruction, TransferKind::Jump);
            }
            FlowControl::ConditionalBranch if has_target(&instruction) => {
                add(
                    flow,
                    range,
                    index,
                    &instruction,
                    TransferKind::ConditionalJump,
                );
            }
            FlowControl::IndirectCall if flow.call_pointers.last() != Some(&index) => {
                flow.call_pointers.push(index);
            }
            _ => {}
        }
    }
}

fn add(
    flow: &mut Flow,
    range: &Range<u64>,
    part: u32,
    instruction: &Instruction,
    kind: TransferKind,
) {
    let target = instruction.near_branch_target();
    let inside = range.contains(&target);
    if inside && (1..ENTRY_BYTES_MAX).contains(&(target - range.start)) {
        flow.near_start.push(target);
    }
    if !inside || kind == TransferKind::Call {
        flow.transfers.push(Transfer {
            part,
            site: instruction.ip(),
            target,
            kind,
        });
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
