//! Operands of indirect calls, evaluated in a trap.

use evenkeel_wire::Operand;

/// Where the call would go: `register(n)` is the value of register `n`.
///
/// # Safety
/// The instruction itself would have been executed now with these registers.
pub unsafe fn evaluate(operand: &Operand, _: u64, register: impl Fn(u8) -> u64) -> u64 {
    register(operand.base)
}
