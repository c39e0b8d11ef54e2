//! The layout's facts about x86-64: its clock, its order of memory, its instructions.

pub(crate) mod clock;
pub mod code;
pub mod order;

/// The processor's name in messages.
pub const NAME: &str = "x86-64";
/// Whether programs can be profiled on it.
pub const SUPPORTED: bool = true;
/// Numbers of the instruction pointer, the stack pointer and the frame pointer in perf events (`asm/perf_regs.h` of Linux).
pub const PERF_REGISTERS: [u32; 3] = [8, 7, 6];
