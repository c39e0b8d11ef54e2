//! The layout's facts about 64-bit ARM. Nothing can be redirected there yet: `SUPPORTED` is false, sessions refuse to
//! begin, and agents stay idle.

pub(crate) mod clock;
pub mod code;
pub mod order;

/// The processor's name in messages.
pub const NAME: &str = "aarch64";
/// Whether programs can be profiled on it.
pub const SUPPORTED: bool = false;
/// Numbers of the instruction pointer, the stack pointer and the frame pointer in perf events (`asm/perf_regs.h` of Linux).
pub const PERF_REGISTERS: [u32; 3] = [32, 31, 29];
