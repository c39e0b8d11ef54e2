//! A loop that calls a function that does nothing, directly or through a trampoline.

use core::arch::global_asm;

global_asm!(
    ".pushsection .text.evenkeel_calibration, \"ax\", @progbits",
    ".hidden evenkeel_calibration, evenkeel_calibration_return, evenkeel_calibration_callee",
    ".globl evenkeel_calibration, evenkeel_calibration_return, evenkeel_calibration_callee",
    // x0: number of calls, x1: what to call, x3: what a trampoline calls.
    "evenkeel_calibration:",
    "stp x29, x30, [sp, #-32]!",
    "stp x19, x20, [sp, #16]",
    "mov x19, x0",
    "mov x20, x1",
    "10:",
    "blr x20",
    "evenkeel_calibration_return:",
    "subs x19, x19, #1",
    "b.ne 10b",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #32",
    "ret",
    "evenkeel_calibration_callee:",
    "ret",
    ".popsection",
);

/// The register that holds what a trampoline in the loop calls: x3.
pub const CALLEE_REGISTER: u8 = 3;

unsafe extern "C" {
    /// Calls `target` so often; a trampoline in its place calls `callee`.
    pub fn evenkeel_calibration(calls: u64, target: u64, _: u64, callee: u64);
    /// Where the call returns to.
    pub static evenkeel_calibration_return: u8;
    /// Does nothing.
    pub static evenkeel_calibration_callee: u8;
}
