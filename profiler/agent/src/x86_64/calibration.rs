//! A loop that calls a function that does nothing, directly or through a trampoline.

use core::arch::global_asm;

global_asm!(
    ".pushsection .text.evenkeel_calibration, \"ax\", @progbits",
    ".hidden evenkeel_calibration, evenkeel_calibration_return, evenkeel_calibration_callee",
    ".globl evenkeel_calibration, evenkeel_calibration_return, evenkeel_calibration_callee",
    // rdi: number of calls, rsi: what to call, rcx: what a trampoline calls.
    "evenkeel_calibration:",
    "push rbx",
    "mov rbx, rdi",
    "10:",
    "call rsi",
    "evenkeel_calibration_return:",
    "dec rbx",
    "jnz 10b",
    "pop rbx",
    "ret",
    "evenkeel_calibration_callee:",
    "ret",
    ".popsection",
);

/// The register that holds what a trampoline in the loop calls: rcx.
pub const CALLEE_REGISTER: u8 = 1;

unsafe extern "C" {
    /// Calls `target` so often; a trampoline in its place calls `callee`.
    pub fn evenkeel_calibration(calls: u64, target: u64, _: u64, callee: u64);
    /// Where the call returns to.
    pub static evenkeel_calibration_return: u8;
    /// Does nothing.
    pub static evenkeel_calibration_callee: u8;
}
