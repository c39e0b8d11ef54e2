//! Code as the plan describes it.

/// Bytes of the jump that a hooked entry begins with.
pub const JUMP_BYTES: usize = 5;

/// The memory operand of an indirect call, for emulation. Registers have the processor's numbers, from rax (0), rcx
/// (1), rdx (2), rbx (3), rsp (4), rbp (5), rsi (6) and rdi (7) to r15 (15). [`Operand::NONE`] means no register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Operand {
    /// Base register, [`Operand::RIP`] for the next instruction.
    pub base: u8,
    /// Index register.
    pub index: u8,
    /// 1, 2, 4 or 8.
    pub scale: u8,
    /// 1: the call's target is the register `base` itself, nothing is loaded.
    pub register: u8,
    /// Displacement.
    pub displacement: i32,
}

impl Operand {
    /// All that distinguishes it from another.
    pub const fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.displacement.to_le_bytes();
        [self.base, self.index, self.scale, self.register, a, b, c, d]
    }

    /// No register.
    pub const NONE: u8 = 0xff;
    /// The address of the next instruction.
    pub const RIP: u8 = 0x10;

    /// A call through the register of this number.
    pub const fn register(number: u8) -> Operand {
        Operand {
            base: number,
            index: Operand::NONE,
            scale: 1,
            register: 1,
            displacement: 0,
        }
    }
}

const _: () = assert!(Operand::RIP != Operand::NONE);

/// Adjustment of a piece to the place where it is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PieceFix {
    /// Not at all.
    #[default]
    None = 0,
    /// Its 32-bit field at `at` is relative to the end of the piece.
    Relative = 1,
    /// Its field takes the low half of the absolute address.
    AbsoluteLow = 2,
    /// Its field takes the high half of the absolute address.
    AbsoluteHigh = 3,
}
