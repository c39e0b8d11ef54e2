//! Reasons for caution with the numbers. `evenkeel-report` has the texts and the advice for the user.

use serde::{Deserialize, Serialize};

use crate::intervals::interval::Reason;

mod spans;

pub use spans::{SpansDefect, SpansWarning};

/// Intervals below which shares are rough.
pub const INTERVALS_FEW: u64 = 1000;
/// Fraction of intervals left out above which the rest may not be typical.
pub(crate) const DISCARDED_HIGH: f64 = 0.01;
/// The same of intervals that were left early. They failed, and "slow requests are often the failing ones" (`variance.md`, section 3).
pub(crate) const LEFT_EARLY_HIGH: f64 = 0.001;
/// Change of the mean latency, as a fraction, by intervals that lost records above which a warning is given.
pub(crate) const LOSS_BIAS_HIGH: f64 = 0.01;
/// Overhead above which profiling itself may change what is measured.
pub(crate) const OVERHEAD_HIGH: f64 = 0.03;
/// Share of the variance spent in probes above which a warning is given.
pub(crate) const PROBE_SHARE_HIGH: f64 = 0.01;
/// Blocks below which standard errors are rough.
pub(crate) const BLOCKS_FEW: usize = 20;
/// Part of the intervals that must lie on either side of a load change for a warning. Fewer may be the start of the
/// load.
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
    /// A fraction above `DISCARDED_HIGH` was left out, or one above `LEFT_EARLY_HIGH` for being left early.
    Discarded {
        /// The fraction.
        fraction: f64,
        /// The most frequent reason.
        reason: Reason,
    },
    /// The latency of intervals that lost records differs from that of the kept ones.
    LossDependsOnLatency {
        /// How many lost records.
        intervals: u64,
        /// Their mean latency.
        lost_ns: f64,
        /// Mean latency of the kept intervals.
        kept_ns: f64,
        /// Mean latency of all intervals.
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
    /// Recording slows intervals by more than `--max-overhead`, so only a part of them is recorded.
    RecordedLess {
        /// By this fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
        /// The fraction that is recorded, at most.
        recorded: f64,
    },
    /// Most intervals were skipped by sampling to spare the target's processor time, and the standard errors are large
    /// for it.
    FewRecorded {
        /// Intervals with records.
        recorded: u64,
        /// Intervals skipped by sampling.
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
        /// The reason why there were no more; `None` if too many threads began at once.
        #[serde(default)]
        refused: Option<RingsRefused>,
    },
    /// The session did not drain the rings in time.
    NotDrained {
        /// Records lost: of an interval, the first, since the others are not written.
        records: u64,
        /// Intervals that could not begin.
        intervals: u64,
    },
    /// Events of the kernel were lost.
    KernelEventsLost(u64),
    /// The kernel does not report when threads do not run; the text is the reason.
    NoKernelEvents(String),
    /// The kernel does not report wakers.
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
    /// The code of some processes could not be changed any more, for this reason.
    Frozen {
        /// How many.
        processes: u64,
        /// The reason.
        why: FrozenBy,
    },
    /// Calls exceeded the capacity of a thread's shadow stack, while in flight or suspended.
    NestedTooDeeply(u64),
    /// Arguments that label intervals could not be read.
    LabelsUnread(u64),
    /// Number of intervals given up because their thread switched to another stack.
    StacksSwitched(u64),
    /// Intervals were left out, and intervals ended on threads that had begun none.
    EndedElsewhere {
        /// Intervals left out.
        left: u64,
        /// Ends, as far as they were counted.
        ends: u64,
    },
    /// Number of calls that stayed suspended on another stack from one interval to the next.
    CallsSuspended(u64),
    /// Number of calls left neither by a return nor by the unwinder nor by longjmp: only their stale frames showed it.
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
        /// The functions that contain the copies.
        holders: String,
    },
    /// Intervals take only this part of the target's processor time: most of its load may be outside of them.
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
    /// A process has mapped this file, or a copy of it, at two addresses, and calls in one of them are not timed.
    MappedTwice(String),
    /// Calls through pointers at this number of call sites are so frequent that only a sample was followed.
    CalleesSampled(u64),
    /// The cost of a probe is not known.
    NotCalibrated,
    /// Running processes could not be attached to, for the same reason.
    NotAttached {
        /// How many.
        processes: u64,
        /// The reason for the first of them.
        first: String,
    },
    /// Processes that started while the session ran were not attached to: attaching would have cost more than is
    /// permitted.
    StartedUnseen {
        /// How many, at least: those that end between two looks are not known of.
        unseen: u64,
        /// Processes that were attached to, those that ran at the beginning included.
        attached: u64,
    },
    /// Processes of the command have the interval's functions but run without the agent; the text is the reason.
    Unprofiled(String),
    /// The hooks of idle processes could not be removed at once, for the same reason.
    HooksLeft {
        /// How many.
        processes: u64,
        /// The reason for the first of them.
        first: String,
    },
    /// The recording could not be completed; the text is the reason.
    RecordingIncomplete(String),
    /// The recording has no end: the profiler was killed, ran out of space, or is still running.
    RecordingCut,
    /// One of several recordings holds no complete interval.
    RecordingEmpty {
        /// Its file.
        path: String,
    },
    /// Call sites that some recordings have not timed are part of their callers' own time.
    TimedInSome {
        /// How many.
        sites: usize,
        /// The functions that the first of them call.
        callees: Vec<String>,
    },
    /// Java virtual machines stopped to load classes again, with or without probes.
    JavaStopped {
        /// Number of stops.
        times: usize,
        /// The longest stop, at most, ns.
        longest_ns: u64,
        /// All stops together, at most, ns.
        total_ns: u64,
    },
    /// Loading classes again threw compiled code away.
    JavaCompiled {
        /// Time until it was compiled again, ns.
        time_ns: u64,
        /// Intervals that ended in this time, a second.
        rate: f64,
        /// The same later.
        rate_later: f64,
    },
    /// Number of intervals that began on virtual threads, which are not followed.
    VirtualThreads(u64),
    /// Java methods were not opened because the virtual machine would have stopped for too long.
    JavaPauseLimit {
        /// How many.
        methods: usize,
        /// The one with most time.
        first: String,
        /// Duration of the last stop, ns.
        pause_ns: u64,
        /// Longest permitted stop, ns.
        limit_ns: u64,
    },
    /// The Java virtual machine refused classes with probes.
    JavaNotOpened {
        /// How many.
        classes: usize,
        /// The reason.
        why: String,
    },
    /// The profile is of distributed traces.
    Spans(SpansWarning),
    /// A text, from a profile that has only the text.
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
    /// All rings, of this number, were in use.
    TooMany(usize),
    /// The system refused memory for more, with this error.
    NoMemory(String),
}

/// The reason why the code of a process cannot be changed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrozenBy {
    /// It installed a filter of system calls.
    Filter,
    /// It runs Go.
    Runtime,
    /// It gave up the right to change code.
    WriteExecute,
    /// It may install a filter by a system call instruction in its own code.
    Unseen,
    /// It was forked while another thread held the loader's lock.
    Loader,
    /// It started a thread that shares the thread-local memory of its creator.
    SharedThread,
}
