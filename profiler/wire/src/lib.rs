//! The shared memory between the session and the agents inside the target: layout only.
//!
//! One anonymous memory file, the **arena**, serves a whole session. The session creates it, every process of the
//! target maps it once when its agent loads, and children inherit the mapping over `fork`. Nothing has a name in a
//! file system, so nothing can be left behind and nobody else can open it.
//!
//! ```text
//! 0            CONTROL_AT   Control      what the session wants, who is alive, calibration, counters
//!              MODULES_AT   [Module]     ELF files seen in the target: announced by agents, judged by the session
//!              WAITERS_AT   [Waiters]    who waits for what, hashed: releasers look before they write (see `waiters`)
//!              PROBES_AT    [Probe]      the plan: every site ever wanted, with its present state
//!              DISPLACED_AT [Displaced]  relocatable first instructions of functions hooked at their entry
//!              STACKS_AT    [StackCopy]  stacks of threads that held others up, for the session to unwind
//!              RINGS_AT     [Ring]       one per thread: header, then RING_BYTES of records
//! ARENA_BYTES
//! ```
//!
//! Everything is `repr(C)`, little-endian, and changes only with [`VERSION`]. All zero bytes are a valid arena.
//!
//! The processor's part is in [`arch`], one directory for each with the same interface.

#![no_std]

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "no directory for this architecture: see docs/decisions/042-one-directory-per-processor.md"
);

#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
pub mod arch;

extern crate alloc;

pub mod control;
pub mod event;
pub mod in_flight;
pub mod jvm;
mod keeping;
mod latencies;
pub mod module_table;
pub mod plan;
pub mod record;
pub mod ring;
mod stacks;
mod table_lock;
pub mod waiters;
pub mod waits;

pub use arch::clock::now_ticks;
pub use arch::code::{Operand, PieceFix};
pub use control::{Control, FAULT_FUNCTION_BYTES, FAULT_IN_FUNCTION, Fixed, Frozen, Mode};
pub use event::{Decoder, Event, LabelValue, Object, Open, Stamp};
pub use keeping::{KeepRate, KeepTable};
pub use latencies::{LATENCY_CLASSES, LatencyCounts, latency_class, latency_class_start};
pub use module_table::{Module, ModuleState, ModuleTable};
pub use plan::{Displaced, Form, Label, Members, Piece, Probe, Refusal, Role, Wanted};
pub use record::{Marker, Record};
pub use ring::{RingHeader, RingState};
pub use stacks::{CopiedAt, CopyState, STACKS_LEN, StackCopy};
pub use table_lock::TableLock;
pub use waiters::{WAITERS_LEN, Waiters};
pub use waits::ObjectKind;

/// First eight bytes of every arena.
pub const MAGIC: u64 = u64::from_le_bytes(*b"EVENKEEL");
/// Version of this layout; agent and session refuse each other when it differs.
pub const VERSION: u32 = 7;

/// ELF files one session can tell apart.
pub const MODULES_MAX: usize = 512;
/// Probes one session can ever plan: every call site of the largest server measured (MariaDB, 157,724) fits.
pub const PROBES_MAX: usize = 1 << 18;
/// Functions that can be hooked at their entry.
pub const DISPLACED_MAX: usize = 1 << 15;
/// Threads that can be recorded at the same time.
pub const RINGS_MAX: usize = 2048;

/// Where [`Control`] lies.
pub const CONTROL_AT: usize = 0;
/// Where the module table lies.
pub const MODULES_AT: usize = 4096;
/// Where the table of waiters lies.
pub const WAITERS_AT: usize = page_up(MODULES_AT + MODULES_MAX * size_of::<Module>());
/// Where the plan lies.
pub const PROBES_AT: usize = page_up(WAITERS_AT + WAITERS_LEN * size_of::<Waiters>());
/// Where the displaced entries lie.
pub const DISPLACED_AT: usize = page_up(PROBES_AT + PROBES_MAX * size_of::<Probe>());
/// Where copies of stacks lie.
pub const STACKS_AT: usize = page_up(DISPLACED_AT + DISPLACED_MAX * size_of::<Displaced>());
/// Where the rings lie.
pub const RINGS_AT: usize = page_up(STACKS_AT + STACKS_LEN * size_of::<StackCopy>());
/// Distance between two rings: a header and the records.
pub const RING_STRIDE: usize = ring::RECORDS_AT + ring::RING_BYTES;
/// Size of the memory file. Sparse: only what is used takes memory.
pub const ARENA_BYTES: usize = RINGS_AT + RINGS_MAX * RING_STRIDE;

/// Environment variable that leads an agent to its arena: `fd:pid:inode` (see [`ARENA_FD_MIN`]).
pub const ARENA_VARIABLE: &str = "EVENKEEL_ARENA";
/// The inherited file descriptor of the arena is at least this high, out of the way of the target's own numbering.
pub const ARENA_FD_MIN: i32 = 900;

const fn page_up(bytes: usize) -> usize {
    (bytes + 4095) & !4095
}

const _: () = assert!(size_of::<Control>() <= MODULES_AT);
