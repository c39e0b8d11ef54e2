//! Everything that knows x86-64. Another architecture mirrors this directory: the same files, the same public items, but for
//! `templates`, which is for this directory alone.

pub(crate) mod claim;
pub mod counter;
pub(crate) mod displaced;
pub mod fault;
pub(crate) mod flip;
pub mod here;
pub mod jump;
pub mod operand;
pub mod stubs;
pub(crate) mod system_call;
mod templates;
pub mod tls;
pub mod trampoline;
pub mod trap;
pub mod unwind;

/// Reach of a 32-bit relative branch, less a page for the instruction itself.
pub const REACH_BYTES: u64 = (1 << 31) - 4096;
/// The breakpoint instruction.
const BREAKPOINT: u8 = 0xcc;
