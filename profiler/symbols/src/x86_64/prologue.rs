//! Rewriting the first instructions of a function to run elsewhere.
//!
//! A jump over a function's entry replaces at least five bytes. The instructions there move, each as a [`Piece`] that
//! says how it depends on its place:
//!
//! | original | moved |
//! |---|---|
//! | RIP-relative operand | the same bytes, the offset adjusted |
//! | `jcc`, `jmp`, short or near | the near form |
//! | `call f` | `push` the original return address, `jmp f` |
//! | `call *operand` | the same, `jmp *operand` |
//! | anything else | the same bytes |
//!
//! A moved call returns to the original code, which may rely on its address (unwinding, stack walks). It is therefore
//! the last instruction that moves, and must end after the jump.

use evenkeel_wire::plan::PIECES_MAX;
use evenkeel_wire::{Displaced, Piece, PieceFix};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

use super::operand::operand;
use crate::unpatchable::Unpatchable;

/// Bytes of a near jump.
const JUMP_LEN: usize = 5;

/// Facts about a function that moving its first instructions needs.
pub(crate) struct Entry<'m> {
    pub(crate) address: u64,
    /// The bytes from the entry on, at least up to the end of the function's first part if that is near.
    pub(crate) code: &'m [u8],
    /// Bytes of the function's first part; `code` may continue after it.
    pub(crate) bytes: usize,
    /// Bytes until another function begins, at least `bytes`.
    pub(crate) free_bytes: usize,
}

impl Entry<'_> {
    /// The first instructions as pieces. The caller still has to check that no branch leads into them.
    pub(crate) fn displaced(&self) -> Result<Displaced, Unpatchable> {
        let own = &self.code[..self.bytes.min(self.code.len())];
        let mut decoder = Decoder::with_ip(64, own, self.address, DecoderOptions::NONE);
        let mut pieces = Pieces::default();
        let mut len = 0;
        while len < JUMP_LEN {
            if !decoder.can_decode() {
                return Err(Unpatchable::TooShort);
            }
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                let cut = len + instruction.len() >= own.len();
                return Err(if cut {
                    Unpatchable::TooShort
                } else {
                    Unpatchable::Undecodable
                });
            }
            pieces.boundaries |= 1 << len;
            let moved = Original {
                instruction,
                bytes: &own[len..len + instruction.len()],
                fields: decoder.get_constant_offsets(&instruction),
                origin: len as u8,
            };
            len += instruction.len();
            let falls_through = moved.rewrite(&mut pieces)?;
            if !falls_through && len < JUMP_LEN {
                if is_call(&instruction) {
                    return Err(Unpatchable::CallEndsEarly);
                }
                self.check_padding(len)?;
                return Ok(pieces.finish(JUMP_LEN, 0));
            }
            if !falls_through {
                return Ok(pieces.finish(len, 0));
            }
        }
        Ok(pieces.finish(len, self.address + len as u64))
    }

    /// The bytes from `from` to the end of the jump must be padding that belongs to nobody else.
    fn check_padding(&self, from: usize) -> Result<(), Unpatchable> {
        let early = if self.bytes < JUMP_LEN {
            Unpatchable::TooShort
        } else {
            Unpatchable::EndsEarly
        };
        if self.free_bytes < JUMP_LEN || self.code.len() < JUMP_LEN {
            return Err(early);
        }
        let ip = self.address + from as u64;
        let mut decoder = Decoder::with_ip(64, &self.code[from..], ip, DecoderOptions::NONE);
        let mut at = from;
        while at < JUMP_LEN {
            let instruction = decoder.decode();
            if !is_padding(&instruction) {
                return Err(early);
            }
            at += instruction.len();
        }
        Ok(())
    }
}

fn is_padding(instruction: &Instruction) -> bool {
    use Code::{Int3, Nop_rm16, Nop_rm32, Nop_rm64, Nopd, Nopq, Nopw};
    matches!(
        instruction.code(),
        Int3 | Nop_rm16 | Nop_rm32 | Nop_rm64 | Nopd | Nopq | Nopw
    )
}

fn is_call(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    )
}

/// The pieces so far.
#[derive(Default)]
struct Pieces {
    pieces: [Piece; PIECES_MAX],
    count: usize,
    boundaries: u32,
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        // Four one-byte instructions before the last one, which takes at most three pieces.
        assert!(self.count < PIECES_MAX, "an entry never takes more pieces");
        self.pieces[self.count] = piece;
        self.count += 1;
    }

    /// Pushes an address, as a call does, without a register: the low half sign-extended, then the high half.
    fn push_address(&mut self, address: u64, origin: u8) {
        let push = [0x68, 0, 0, 0, 0];
        self.push(Piece::new(&push, origin, PieceFix::AbsoluteLow, 1, address));
        let mov_rsp_4 = [0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0];
        self.push(Piece::new(
            &mov_rsp_4,
            origin,
            PieceFix::AbsoluteHigh,
            4,
            address,
        ));
    }

    fn finish(self, len: usize, resume: u64) -> Displaced {
        Displaced {
            pieces: self.pieces,
            count: self.count as u32,
            len: len as u32,
            resume,
            boundaries: self.boundaries,
            call: 0,
        }
    }
}

/// An instruction in its place.
struct Original<'m> {
    instruction: Instruction,
    bytes: &'m [u8],
    fields: iced_x86::ConstantOffsets,
    /// Offset from the entry.
    origin: u8,
}

impl Original<'_> {
    /// Adds its pieces. Returns whether the code continues after it.
    fn rewrite(&self, pieces: &mut Pieces) -> Result<bool, Unpatchable> {
        let instruction = &self.instruction;
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                pieces.push(self.near_conditional()?);
                Ok(true)
            }
            FlowControl::UnconditionalBranch => {
                if !matches!(instruction.code(), Code::Jmp_rel8_64 | Code::Jmp_rel32_64) {
                    return Err(Unpatchable::ImmovableInstruction);
                }
                pieces.push(self.near_jump(instruction.near_branch_target()));
                Ok(false)
            }
            FlowControl::Call if instruction.code() == Code::Call_rel32_64 => {
                pieces.push_address(instruction.next_ip(), self.origin);
                pieces.push(self.near_jump(instruction.near_branch_target()));
                Ok(false)
            }
            FlowControl::IndirectCall => {
                pieces.push_address(instruction.next_ip(), self.origin);
                pieces.push(self.jump_instead_of_call()?);
                Ok(false)
            }
            // The other calls are system calls.
            FlowControl::Call if is_system_call(instruction) => {
                pieces.push(self.same()?);
                Ok(true)
            }
            FlowControl::Call | FlowControl::XbeginXabortXend => Err(Unpatchable::ImmovableBranch),
            FlowControl::Interrupt => Err(Unpatchable::ImmovableInstruction),
            FlowControl::Next => {
                pieces.push(self.same()?);
                Ok(true)
            }
            FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => {
                pieces.push(self.same()?);
                Ok(false)
            }
        }
    }

    /// The same bytes, with a RIP-relative operand adjusted.
    fn same(&self) -> Result<Piece, Unpatchable> {
        self.with_operand(self.bytes)
    }

    fn with_operand(&self, bytes: &[u8]) -> Result<Piece, Unpatchable> {
        match self.instruction.memory_base() {
            Register::EIP => Err(Unpatchable::ImmovableInstruction),
            Register::RIP => {
                assert_eq!(
                    self.fields.displacement_size(),
                    4,
                    "a RIP-relative displacement has 32 bits"
                );
                let at = self.fields.displacement_offset() as u8;
                let target = self.instruction.ip_rel_memory_address();
                Ok(Piece::new(
                    bytes,
                    self.origin,
                    PieceFix::Relative,
                    at,
                    target,
                ))
            }
            _ => Ok(Piece::new(bytes, self.origin, PieceFix::None, 0, 0)),
        }
    }

    fn near_jump(&self, target: u64) -> Piece {
        Piece::new(
            &[0xe9, 0, 0, 0, 0],
            self.origin,
            PieceFix::Relative,
            1,
            target,
        )
    }

    fn near_conditional(&self) -> Result<Piece, Unpatchable> {
        let instruction = &self.instruction;
        let has_near_form =
            instruction.is_jcc_short_or_near() && instruction.op0_kind() == OpKind::NearBranch64;
        if !has_near_form {
            return Err(Unpatchable::ImmovableBranch);
        }
        // The condition is the low half of the opcode in both forms: 70+cc and 0f 80+cc.
        let opcode = self.bytes[self.fields.immediate_offset() - 1];
        let near = [0x0f, 0x80 | (opcode & 0x0f), 0, 0, 0, 0];
        Ok(Piece::new(
            &near,
            self.origin,
            PieceFix::Relative,
            2,
            instruction.near_branch_target(),
        ))
    }

    /// `ff /2` becomes `ff /4`. The return address is on the stack by then, which an operand based on the stack
    /// pointer would notice.
    fn jump_instead_of_call(&self) -> Result<Piece, Unpatchable> {
        let operand = operand(&self.instruction).ok_or(Unpatchable::ImmovableInstruction)?;
        if operand.base == Register::RSP.number() as u8 {
            return Err(Unpatchable::ImmovableInstruction);
        }
        let opcode = self
            .bytes
            .iter()
            .position(|&byte| byte == 0xff)
            .expect("the opcode of an indirect call");
        let mut bytes = [0; 16];
        bytes[..self.bytes.len()].copy_from_slice(self.bytes);
        bytes[opcode + 1] ^= (2 ^ 4) << 3;
        self.with_operand(&bytes[..self.bytes.len()])
    }
}

fn is_system_call(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Syscall | Code::Sysenter)
}

#[cfg(test)]
mod tests;
