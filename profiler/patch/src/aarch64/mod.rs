//! Everything that knows 64-bit ARM. Code is not redirected yet: what would write it answers that it cannot
//! (`evenkeel_wire::arch::SUPPORTED`), and the patcher refuses every probe with `Refusal::Architecture` before it asks. What needs
//! no redirected code (system calls, counters, registers of a call) is whole.

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
pub mod tls;
pub mod trampoline;
pub mod trap;
pub mod unwind;

/// Reach of a branch, less a page for the instruction itself.
pub const REACH_BYTES: u64 = (1 << 27) - 4096;
