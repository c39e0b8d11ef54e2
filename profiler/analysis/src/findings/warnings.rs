//! What the user should know before trusting the numbers. What a reader is told, and what to do, `evenkeel-report` says.

use serde::{Deserialize, Serialize};

use crate::intervals::interval::Reason;

/// Intervals below which shares are rough.
pub const INTERVALS_FEW: u64 = 1000;
/// Fraction of intervals left out above which the rest may not be typical.
pub(crate) const DISCARDED_HIGH: f64 = 0.01;
/// By what fraction the mean may change with the intervals that lost records before it is pointed out.
pub(crate) const LOSS_BIAS_HIGH: f64 = 0.01;
/// Overhead above which profiling itself may change what is measured.
pub(crate) const OVERHEAD_HIGH: f64 = 0.03;
/// Share of the variance spent in probes above which it is pointed out.
pub(crate) const PROBE_SHARE_HIGH: f64 = 0.01;
/// Blocks below which standard errors are rough.
pub(crate) const BLOCKS_FEW: usize = 20;
/// Part of the intervals on either side of a change of the load from which on it is pointed out: before a load is steady there are
/// always some.
pub(crate) const CHANGED_HIGH: f64 = 0.1;
/// A reason for caution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Warning {
    /// No interval was kept.
    NoIntervals,
    /// Fewer than [`INTERVALS_FEW`] intervals.
    FewIntervals(u64),
    /// Every interval took equally long: nothing to explain.
    NoVariance,
    /// A fraction above `DISCARDED_HIGH` was left out.
    Discarded {
        /// The fraction.
        fraction: f64,
        /// The most frequent reason.
        reason: Reason,
    },
    /// Intervals that lost records took another time than those that are kept.
    LossDependsOnLatency {
        /// How many lost records.
        intervals: u64,
        /// Their mean latency.
        lost_ns: f64,
        /// That of those that are kept.
        kept_ns: f64,
        /// That of all.
        mean_ns: f64,
    },
    /// Vectors did not add up to their latency.
    ClosureError(u64),
    /// Profiling slows intervals by more than `OVERHEAD_HIGH`.
    Overhead {
        /// The fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
    },
    /// Probes make up more than `PROBE_SHARE_HIGH` of the variance.
    ProbeShare(f64),
    /// Fewer than `BLOCKS_FEW` blocks.
    FewBlocks(usize),
    /// Calls beyond the bounds of the tree were counted as their caller's own time.
    Folded(u64),
    /// Records were dropped that a critical path might have led to.
    Dropped(u64),
    /// The load, or the program, changed once during the run, for good.
    LoadChanged {
        /// What came before.
        before: LoadPart,
        /// What came after.
        after: LoadPart,
    },
    /// Recorded intervals take longer by more than `--max-overhead`, so that not all of them are recorded.
    RecordedLess {
        /// By this fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
        /// The fraction that is recorded, at most.
        recorded: f64,
    },
    /// Most intervals were counted only, so that taking them in would not take processor time from the target, and it shows in the errors.
    FewRecorded {
        /// Intervals whose records were taken in.
        recorded: u64,
        /// Intervals counted only.
        sampled_out: u64,
        /// Standard error of the first factor's share of the variance.
        se: f64,
    },
    /// Every interval was counted, and none recorded.
    OnlyCounted(u64),
    /// Threads found no ring.
    ThreadsWithoutRing {
        /// How many.
        threads: u64,
        /// Why there were no more; otherwise too many began at once.
        #[serde(default)]
        refused: Option<RingsRefused>,
    },
    /// The session did not drain the rings in time.
    NotDrained {
        /// Records lost.
        records: u64,
        /// Intervals that could not begin.
        intervals: u64,
    },
    /// Events of the kernel were lost.
    KernelEventsLost(u64),
    /// The kernel does not report when threads do not run, for this reason.
    NoKernelEvents(String),
    /// The kernel does not report who ended a sleep.
    NoWakers,
    /// Stacks of slow intervals could not be read.
    NoStacks {
        /// The process.
        pid: u32,
        /// Why.
        why: String,
    },
    /// A debug file could not be used.
    DebugFile(String),
    /// So many processes could not be changed any more from some moment on, because they did this.
    Frozen {
        /// How many.
        processes: u64,
        /// What they did.
        why: FrozenBy,
    },
    /// Calls were in flight, or suspended, beyond what a thread's shadow stack holds.
    NestedTooDeeply(u64),
    /// Arguments that label intervals could not be read.
    LabelsUnread(u64),
    /// So many intervals were given up because their thread went on with another stack inside of them.
    StacksSwitched(u64),
    /// Intervals were left out, and ends were met on threads that had begun none.
    EndedElsewhere {
        /// Intervals left out.
        left: u64,
        /// Ends, as far as they were counted.
        ends: u64,
    },
    /// So many calls were suspended on another stack from one interval to the next.
    CallsSuspended(u64),
    /// So many calls were left in a way that only their stale frames showed.
    CallsLeftUnseen(u64),
    /// Some call sites of a boundary, or of a function that the user named, cannot be hooked.
    BoundaryPartlyHooked {
        /// The function or call sites, as the user typed them.
        point: String,
        /// How many call sites are hooked.
        hooked: usize,
        /// The others, each with its reason.
        refused: Vec<String>,
    },
    /// The interval's function is inlined into others, too.
    InlinedElsewhere {
        /// The function.
        function: String,
        /// What contains the copies.
        holders: String,
    },
    /// Intervals take this part of the processor time that the target used: most of its load is perhaps not in them.
    IntervalsRare {
        /// The part.
        fraction: f64,
    },
    /// The compiler made specialised copies of the interval's function.
    SpecialisedCopies {
        /// The function.
        function: String,
        /// The copies.
        copies: String,
    },
    /// Calls through pointers are made so often, from this number of call sites, that only a sample was followed.
    CalleesSampled(u64),
    /// The cost of a probe is not known.
    NotCalibrated,
    /// Running processes could not be attached to, for the same reason.
    NotAttached {
        /// How many.
        processes: u64,
        /// Why, of the first of them.
        first: String,
    },
    /// Processes of the command that have the interval's functions run without the agent, for this reason.
    Unprofiled(String),
    /// The hooks of idle processes could not be taken out at once, for the same reason.
    HooksLeft {
        /// How many.
        processes: u64,
        /// Why, of the first of them.
        first: String,
    },
    /// The recording could not be completed, for this reason.
    RecordingIncomplete(String),
    /// The recording has no end: the profiler was killed, found no room for it, or is still at work.
    RecordingCut,
    /// A recording that is taken together with others holds no complete interval.
    RecordingEmpty {
        /// Its file.
        path: String,
    },
    /// Call sites that some recordings have not timed count as their callers' own time.
    TimedInSome {
        /// How many.
        sites: usize,
        /// The functions that the first of them call.
        callees: Vec<String>,
    },
    /// A Java virtual machine stood still so that classes were loaded again, with probes or without.
    JavaStopped {
        /// How often.
        times: usize,
        /// The longest time, ns, at most.
        longest_ns: u64,
        /// All in all, ns, at most.
        total_ns: u64,
    },
    /// So many intervals began on virtual threads, which are not followed.
    VirtualThreads(u64),
    /// Methods of Java were not opened, as the virtual machine would have stood still for too long.
    JavaPauseLimit {
        /// How many.
        methods: usize,
        /// The one with most time.
        first: String,
        /// How long it stood still the last time, ns.
        pause_ns: u64,
        /// How long it may, ns.
        limit_ns: u64,
    },
    /// The Java virtual machine refused classes with probes.
    JavaNotOpened {
        /// How many.
        classes: usize,
        /// Why.
        why: String,
    },
    /// In words, from a recording or a profile that has no more, or of spans.
    #[serde(untagged)]
    Said(String),
}

/// Intervals before or after a change of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPart {
    /// How many.
    pub intervals: u64,
    /// Their mean latency.
    pub mean_ns: f64,
    /// Its standard deviation.
    pub sd_ns: f64,
}

/// Why there was no ring for a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RingsRefused {
    /// All of so many were in use.
    TooMany(usize),
    /// The system gave no memory for more, with this error.
    NoMemory(String),
}

/// Why the code of a process cannot be changed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrozenBy {
    /// It installed a filter of system calls.
    Filter,
    /// It runs Go.
    Runtime,
    /// It gave up the right to change code.
    WriteExecute,
    /// It may install a filter by an instruction of its own.
    Unseen,
    /// It was forked while another thread held the loader's lock.
    Loader,
}
