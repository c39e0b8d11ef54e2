//! Code as the plan describes it.

/// Bytes of the jump that a hooked entry begins with: one instruction.
pub const JUMP_BYTES: usize = 4;

/// The operand of an indirect call, for emulation: a register, since only loads read memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Operand {
    /// Its number.
    pub base: u8,
    _reserved: [u8; 7],
}

impl Operand {
    /// All that distinguishes it from another.
    pub const fn to_bytes(self) -> [u8; 8] {
        [self.base, 0, 0, 0, 0, 0, 0, 0]
    }

    /// A call through the register of this number.
    pub const fn register(number: u8) -> Operand {
        Operand {
            base: number,
            _reserved: [0; 7],
        }
    }
}

/// Adjustment of a piece to the place where it is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PieceFix {
    /// Not at all.
    #[default]
    None = 0,
}
