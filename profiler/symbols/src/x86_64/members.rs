//! Members of the structure that a function's first argument points to, as its code has them.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess,
    Register,
};

use crate::variables::MemberUse;

/// The register of the first argument (System V ABI, 3.2.3).
const FIRST: Register = Register::RDI;

/// Uses in order of address up to the first call, through the argument's register and copies of it, whatever branches do.
pub(crate) fn used(code: &[u8], start: u64) -> Vec<MemberUse> {
    let mut factory = InstructionInfoFactory::new();
    let mut holders = vec![FIRST];
    let mut uses = Vec::new();
    for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
        if is_end(&instruction) || holders.is_empty() {
            break;
        }
        let info = factory.info(&instruction);
        for memory in info.used_memory() {
            let of_member = holders.contains(&memory.base())
                && memory.index() == Register::None
                && !matches!(memory.segment(), Register::FS | Register::GS);
            if of_member && let Ok(offset) = u32::try_from(memory.displacement() as i64) {
                uses.push(MemberUse {
                    offset,
                    bytes: memory.memory_size().size(),
                    is_written: is_write(memory.access()),
                });
            }
        }
        let is_copy =
            instruction.code() == Code::Mov_r64_rm64 || instruction.code() == Code::Mov_rm64_r64;
        let copy = is_copy && holders.contains(&instruction.op1_register());
        let written = info
            .used_registers()
            .iter()
            .filter(|used| is_write(used.access()));
        for used in written {
            holders.retain(|&holder| holder != used.register().full_register());
        }
        if copy && instruction.op0_register() != Register::None {
            holders.push(instruction.op0_register());
        }
    }
    uses
}

fn is_end(instruction: &Instruction) -> bool {
    let flow = instruction.flow_control();
    instruction.is_invalid() || matches!(flow, FlowControl::Call | FlowControl::IndirectCall)
}

fn is_write(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}
