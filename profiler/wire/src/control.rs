//! The control page.

use crate::keeping::KeepTable;
use crate::table_lock::TableLock;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64};

/// Modes of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Nothing yet: intervals are not recorded.
    Idle = 0,
    /// Intervals and the probes below them are recorded.
    Record = 1,
    /// Intervals are recorded, the probes below them are bypassed: the windows that measure the profiler's own cost.
    IntervalsOnly = 2,
    /// Intervals are counted; neither they nor what happens outside of them is recorded.
    Count = 4,
    /// The session is over: every process takes its hooks out and never looks again.
    Detach = 3,
}

/// In [`Control::fault_probe`]: the instruction was in no hook, but in one of the agent's replacements of C library
/// functions.
pub const FAULT_IN_FUNCTION: u32 = u32::MAX;
/// Bytes of [`Control::fault_function`].
pub const FAULT_FUNCTION_BYTES: usize = 32;

/// First page of the arena. The session writes, agents read, but for the counters at the end.
#[repr(C, align(64))]
pub struct Control {
    /// [`crate::MAGIC`].
    pub magic: AtomicU64,
    /// [`crate::VERSION`].
    pub version: AtomicU32,
    /// Process id of the session.
    pub session_pid: AtomicI32,
    /// A [`Mode`].
    pub mode: AtomicU32,
    /// Bumped after each change of the plan; agents that see a new value apply the plan.
    pub generation: AtomicU32,
    /// Probes in the plan that agents may look at.
    pub probes: AtomicU32,
    /// Rings that are backed by memory.
    pub rings: AtomicU32,
    /// The session is taken for dead when the time stamp counter passes this.
    pub lease_ticks: AtomicU64,
    /// Cost of a probe outside the duration it records, in 1/256 tick; 0: not calibrated yet.
    pub probe_outer_ticks_256: AtomicU64,
    /// Cost of a probe inside the duration it records, in 1/256 tick.
    pub probe_inner_ticks_256: AtomicU64,
    /// Cost of a probe that records nothing, in 1/256 tick. Set before the two above.
    pub probe_passed_ticks_256: AtomicU64,
    /// 1: the plan has gates ([`crate::Role::Gate`]).
    pub gated: AtomicU32,
    /// Fraction of the intervals that are counted and not recorded, in 1/65536: the session raises it where recording all
    /// of them would cost more than its budget.
    pub skip_65536: AtomicU32,
    /// 1: agents write the groups of [`crate::waits`]. Set before the target starts, and never changed.
    pub waits: AtomicU32,
    /// Set by the process that calibrates.
    pub calibration_claimed: AtomicU32,
    /// Modules in the table.
    pub modules: AtomicU32,
    /// Held while a module is added.
    pub modules_lock: TableLock,
    /// Processes that loaded the agent.
    pub processes: AtomicU32,
    /// Processes in which probes were planted.
    pub processes_hooked: AtomicU32,
    /// Threads that found no free ring: nothing of them was recorded.
    pub threads_without_ring: AtomicU32,
    /// Times a plan was applied.
    pub applications: AtomicU32,
    /// Breakpoints hit: at calls that are trapped to learn their callees, and at instructions that were being
    /// changed.
    pub traps: AtomicU64,
    /// Calls that may still be trapped to learn their callees, in all processes: the session adds to it in small
    /// steps, each trap takes one.
    pub traps_left: AtomicI64,
    /// Calls not recorded because a shadow stack was full.
    pub shadow_full: AtomicU64,
    /// Label reads that failed (a wild pointer, or a system that forbids them).
    pub labels_unread: AtomicU64,
    /// Intervals whose calls, or whose own end, could not be followed because the thread went on with another stack.
    pub intervals_switched: AtomicU64,
    /// Calls that returned in a later interval than they began in, on a stack that was left in between: not timed.
    pub calls_suspended: AtomicU64,
    /// Calls that were left in a way that only their stale frames showed: neither by the unwinder nor by `longjmp`.
    pub calls_left_unseen: AtomicU64,
    /// Ends of intervals without a key on threads that had none open, up to [`Control::ENDS_ELSEWHERE_MAX`].
    pub ends_elsewhere: AtomicU64,
    /// 1: the session has seen from outside that a process installed a filter of system calls which its agent did not notice.
    /// All agents make no system calls any more.
    pub filter_seen: AtomicU32,
    /// Processes whose code is not changed, by [`Frozen`].
    pub frozen: [AtomicU32; Frozen::COUNT],
    /// Instructions of the agent's that failed and were left: their processes went on without hooks.
    pub faults: AtomicU32,
    /// The signal of the first.
    pub fault_signal: AtomicU32,
    /// The probe in whose hook the first was, plus one; [`FAULT_IN_FUNCTION`]; 0: there was none. Written last.
    pub fault_probe: AtomicU32,
    /// The name of the C library's function in whose place the agent's was that failed, or its beginning; the rest is zeros.
    pub fault_function: [AtomicU8; FAULT_FUNCTION_BYTES],
    /// Which intervals are kept when they end.
    pub keep: KeepTable,
    /// Intervals that would have begun on virtual threads of a Java virtual machine, and are not followed.
    pub virtual_intervals: AtomicU64,
}

impl Control {
    /// Ends on other threads are counted up to this number. From then on the counter is only read, which costs
    /// threads that share it nothing.
    pub const ENDS_ELSEWHERE_MAX: u64 = 1000;
}

/// Why the code of a process cannot be changed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Frozen {
    /// It has installed a filter of system calls (seccomp(2)).
    Filter = 0,
    /// Its runtime takes breakpoints for its own (Go).
    Runtime = 1,
    /// It has given up the right to make code writable (`PR_SET_MDWE`).
    WriteExecute = 2,
    /// It may install a filter by an inline instruction ([`Fixed::Unseen`]), and so is treated as if it had.
    Unseen = 3,
    /// It was forked while another thread of its parent held the lock of the loader's list of files, which belongs to nobody there.
    Loader = 4,
    /// It starts a thread that shares the thread-local memory of its creator (clone(2) without `CLONE_SETTLS`). Its hooks were taken out.
    SharedThread = 5,
}

impl Frozen {
    /// Number of reasons.
    pub const COUNT: usize = 6;
}

/// Why the code of a process may be changed before its first instruction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fixed {
    /// It may be changed at any time.
    No = 0,
    /// Its runtime takes breakpoints for its own (Go).
    Runtime = 1,
    /// It may install a filter of system calls by an inline instruction, which the agent would not notice.
    Unseen = 2,
}
