//! Memory operands of indirect calls: encoding them in a trampoline, evaluating them in a trap.

use evenkeel_wire::Operand;

/// `call` through an operand: `ff /2`.
pub const CALL: u8 = 2;
/// `jmp` through an operand: `ff /4`.
pub const JUMP: u8 = 4;

const RSP: u8 = 4;

/// Encodes `ff /digit` with `operand` at address `at`, always with a 32-bit displacement. `lifted` bytes more lie on the
/// stack than where the original call stood; `next_ip` is the address after the original instruction. Returns the bytes
/// and their number, or `None` if the operand is out of reach.
pub fn encode(
    digit: u8,
    operand: &Operand,
    at: u64,
    next_ip: u64,
    lifted: i32,
) -> Option<([u8; 9], usize)> {
    if operand.register == 1 {
        return Some(encode_register(digit, operand.base));
    }
    if operand.base == Operand::RIP {
        let slot = next_ip.wrapping_add_signed(operand.displacement as i64);
        return encode_relative(digit, slot, at);
    }
    let displacement = match operand.base {
        RSP => operand.displacement.checked_add(lifted)?,
        _ => operand.displacement,
    };
    Some(encode_memory(digit, operand, displacement))
}

/// Through a register.
fn encode_register(digit: u8, register: u8) -> ([u8; 9], usize) {
    let mut code = [0; 9];
    let mut len = 0;
    if register & 8 != 0 {
        code[0] = 0x41;
        len = 1;
    }
    code[len] = 0xff;
    code[len + 1] = 0xc0 | digit << 3 | register & 7;
    (code, len + 2)
}

/// Through the word at `slot`, by its distance from the instruction's end.
fn encode_relative(digit: u8, slot: u64, at: u64) -> Option<([u8; 9], usize)> {
    let mut code = [0; 9];
    let relative = i32::try_from(slot.wrapping_sub(at + 6) as i64).ok()?;
    code[0] = 0xff;
    code[1] = digit << 3 | 5;
    code[2..6].copy_from_slice(&relative.to_le_bytes());
    Some((code, 6))
}

/// Through the word at base + scale * index + displacement, always with a SIB byte.
fn encode_memory(digit: u8, operand: &Operand, displacement: i32) -> ([u8; 9], usize) {
    let mut code = [0; 9];
    let has = |register: u8| register != Operand::NONE;
    let high_bit = |register: u8| if has(register) { register >> 3 } else { 0 };
    let rex = 0x40 | high_bit(operand.base) | high_bit(operand.index) << 1;
    let mut len = 0;
    let mut put = |byte: u8| {
        code[len] = byte;
        len += 1;
    };
    if rex != 0x40 {
        put(rex);
    }
    put(0xff);
    // Without a base the SIB byte means displacement only, with mod 00.
    put(if has(operand.base) { 0x80 } else { 0 } | digit << 3 | 4);
    let low_bits = |register: u8, none: u8| if has(register) { register & 7 } else { none };
    let scale = operand.scale.max(1).trailing_zeros() as u8;
    put(scale << 6 | low_bits(operand.index, 4) << 3 | low_bits(operand.base, 5));
    displacement.to_le_bytes().into_iter().for_each(put);
    (code, len)
}

/// Where a branch's target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// This is it.
    Target(u64),
    /// In the word at this address.
    At(u64),
}

/// Where the call would go, with `register(n)` the value of register `n`.
pub fn evaluate(operand: &Operand, next_ip: u64, register: impl Fn(u8) -> u64) -> Value {
    if operand.register == 1 {
        return Value::Target(register(operand.base));
    }
    let base = match operand.base {
        Operand::NONE => 0,
        Operand::RIP => next_ip,
        n => register(n),
    };
    let index = match operand.index {
        Operand::NONE => 0,
        n => register(n).wrapping_mul(operand.scale as u64),
    };
    let address = base
        .wrapping_add(index)
        .wrapping_add_signed(operand.displacement as i64);
    Value::At(address)
}
