//! Operands of indirect calls, evaluated in a trap.

use evenkeel_wire::Operand;

/// Where a branch's target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// This is it.
    Target(u64),
    /// In the word at this address.
    At(u64),
}

/// Where the call would go: `register(n)` is the value of register `n`.
pub fn evaluate(operand: &Operand, _: u64, register: impl Fn(u8) -> u64) -> Value {
    Value::Target(register(operand.base))
}
