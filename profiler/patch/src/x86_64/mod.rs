//! Everything that knows the processor. Another architecture mirrors this directory file by file.

pub mod clock;
pub mod counter;
pub mod flip;
pub mod jump;
pub mod kernel;
pub mod operand;
pub mod stubs;
pub mod templates;
pub mod tls;
pub mod trampoline;
pub mod trap;
pub mod unwind;

/// Reach of a 32-bit relative branch, less a page for the instruction itself.
pub const REACH_BYTES: u64 = (1 << 31) - 4096;
/// The breakpoint instruction.
pub const BREAKPOINT: u8 = 0xcc;
