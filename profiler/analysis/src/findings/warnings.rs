//! What the user should know before trusting the numbers. Each ends in advice, which stands above it.

use thiserror::Error;

use crate::profile::Profile;
use crate::sums::paths::DEPTH_MAX;

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
/// Part of the recorded intervals that may lie in rounds that differ: before a load is steady there are always some.
pub(crate) const DISAGREEING_HIGH: f64 = 0.1;
/// Part of the intervals at or below which it is pointed out how few were recorded, ...
const RECORDED_FEW: f64 = 0.1;
/// ... if the standard error of the first factor's share is above this.
const SE_HIGH: f64 = 0.02;

/// A reason for caution.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Warning {
    /// No interval was kept.
    #[error(
        "no interval was completed: check that the interval's function is called by this workload, or run longer"
    )]
    NoIntervals,
    /// Fewer than [`INTERVALS_FEW`] intervals.
    #[error("only {0} intervals: shares are rough below {INTERVALS_FEW}; run longer or add load")]
    FewIntervals(u64),
    /// Every interval took equally long: nothing to explain.
    #[error(
        "all intervals took equally long: there is no variance to explain; choose another interval"
    )]
    NoVariance,
    /// A fraction above `DISCARDED_HIGH` was left out.
    #[error("{:.1} % of the intervals were left out, mostly \"{reason}\": the rest may not be typical; fewer probes or less load lose fewer", 100.0 * .fraction)]
    Discarded {
        /// The fraction.
        fraction: f64,
        /// The most frequent reason.
        reason: &'static str,
    },
    /// Intervals that lost records took another time than those that are kept.
    #[error("{intervals} intervals lost records and are left out: they took {:.1} µs on average, those that are kept {:.1} µs, and the mean of all is \
         {:.1} µs: what makes intervals slow is understated. Lower --max-probes, or choose an --interval with fewer calls, until none are lost", .lost_ns / 1e3, .kept_ns / 1e3, .mean_ns / 1e3)]
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
    #[error(
        "some vectors missed their latency by up to {0} ticks and were left out: this is a fault of the profiler; please report it with the \
         recording"
    )]
    ClosureError(u64),
    /// Profiling slows intervals by more than `OVERHEAD_HIGH`.
    #[error("profiling slows intervals by about {:.1} % ({}): small shares may be its own; use fewer probes", 100.0 * .fraction, if *.measured { "measured" } else { "estimated" })]
    Overhead {
        /// The fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
    },
    /// Probes make up more than `PROBE_SHARE_HIGH` of the variance.
    #[error("{:.1} % of the variance is spent in probes: some probed call is very frequent; use fewer probes", 100.0 * .0)]
    ProbeShare(f64),
    /// Fewer than `BLOCKS_FEW` blocks.
    #[error("standard errors rest on {0} blocks only and are rough; run longer")]
    FewBlocks(usize),
    /// Calls beyond the bounds of the tree were counted as their caller's own time.
    #[error(
        "{0} calls lie beyond the bounds of the tree (more than {depth} calls deep, very many paths, long chains of waits) and count as their \
         caller's own time, or that of the wait: what varies there may lie further in; fewer probes leave room, or, of spans, fewer levels that \
         only call the next", depth = DEPTH_MAX
    )]
    Folded(u64),
    /// Records were dropped that a critical path might have led to.
    #[error(
        "{0} records of long intervals were dropped to bound memory, so that some time is \"not seen\"; choose a shorter interval or fewer probes"
    )]
    Dropped(u64),
    /// So many of the intervals that the profile rests on are of rounds whose latencies differ from those of the others.
    #[error(
        "{intervals} of {kept} recorded intervals have latencies that differ from those of the others by more than chance: the load or the program has \
         changed on the way, and this profile is of all of it; to tell one state from another, profile each by itself"
    )]
    LoadChanged {
        /// Of those rounds.
        intervals: u64,
        /// Of all.
        kept: u64,
    },
    /// Other rounds than those that the profile rests on varied more.
    #[error(
        "{intervals} recorded intervals that are not in this profile varied more (standard deviation {:.1} µs, here {:.1} µs), as when data are loaded, \
         or while not all of what this profile shows was timed; what they spent their time in, as far as it was known then, is under FOUND IN OTHER \
         ROUNDS; profile again while they are made to find out more", .sd_ns / 1e3, .profile_sd_ns / 1e3
    )]
    VariedMore {
        /// Those intervals.
        intervals: u64,
        /// Their standard deviation, ns.
        sd_ns: f64,
        /// The profile's, ns.
        profile_sd_ns: f64,
    },
    /// So many of the recorded intervals are of rounds whose latencies differ from those of the round that the profile rests on.
    #[error(
        "{intervals} of {kept} recorded intervals are left out: their latencies differ from those of the others by more than chance, so the load \
         or the program has changed on the way; profile again under a steady load to use all of them"
    )]
    RoundsDisagree {
        /// Of those rounds.
        intervals: u64,
        /// Of all.
        kept: u64,
    },
    /// Recorded intervals take longer by more than `--max-overhead`, so that not all of them are recorded.
    #[error("recorded intervals take {:.1} % longer ({}), more than --max-overhead: at most {:.1} % of them are recorded, so that the mean over all \
         stays within it; lower --max-probes to record more of them", 100.0 * .fraction, if *.measured { "measured, less its error" } else { "estimated" }, 100.0 * .recorded)]
    RecordedLess {
        /// By this fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
        /// The fraction that is recorded, at most.
        recorded: f64,
    },
    /// Most intervals were counted only, so that taking them in would not take processor time from the target, and it shows in the errors.
    #[error("{recorded} intervals were recorded and {sampled_out} counted only, since there was no idle processor to take more in: shares are known to \
         ±{:.0} % at best; raise --max-overhead, which the target pays for, or run longer", 100.0 * .se)]
    FewRecorded {
        /// Intervals whose records were taken in.
        recorded: u64,
        /// Intervals counted only.
        sampled_out: u64,
        /// Standard error of the first factor's share of the variance.
        se: f64,
    },
    /// Every interval was counted, and none recorded.
    #[error(
        "{0} intervals were counted and none was recorded, to stay within --max-overhead: give --max-overhead more room, or profile for longer"
    )]
    OnlyCounted(u64),
    /// Threads found no ring.
    #[error("{threads} threads were not recorded: {}; free memory or run fewer threads", if *.no_memory { "no shared memory was left" } else { "too many started at once" })]
    ThreadsWithoutRing {
        /// How many.
        threads: u64,
        /// There was no memory for more; otherwise too many began at once.
        no_memory: bool,
    },
    /// The session did not drain the rings in time.
    #[error(
        "the profiler did not keep up for a moment: {records} records were dropped and {intervals} intervals not recorded; they are left out. \
         Lower --max-probes, or give the profiler more of a processor"
    )]
    NotDrained {
        /// Records lost.
        records: u64,
        /// Intervals that could not begin.
        intervals: u64,
    },
    /// Events of the kernel were lost.
    #[error(
        "{0} events of the kernel were lost: some time off the processor counts as running; give the profiler more of a processor"
    )]
    KernelEventsLost(u64),
    /// The kernel does not report when threads do not run, for this reason.
    #[error("preempted and blocked time are not told apart: {0}")]
    NoKernelEvents(String),
    /// The kernel does not report who ended a sleep.
    #[error(
        "the kernel does not report who ended a sleep that no call announced as a wait, nor which sleeps were for a device: they stand as \
         \"off the processor\", on what was not seen; run evenkeel as root and outside of a container (it reads the tracepoints sched_waking \
         and sched_switch) to have them explained"
    )]
    NoWakers,
    /// A debug file could not be used.
    #[error("{0}")]
    DebugFile(String),
    /// So many processes could not be changed any more from some moment on, because they did this.
    #[error(
        "processes that {why}: {processes}; what was hooked by then stays hooked, and nothing was opened after. To see more, hook more at the \
         start: --plant NUMBER, or an --interval further down"
    )]
    Frozen {
        /// How many.
        processes: u64,
        /// What they did, as a phrase that "processes that" begins.
        why: String,
    },
    /// Calls were in flight, or suspended, beyond what a thread's shadow stack holds.
    #[error(
        "{0} calls were not timed: too many were in flight or suspended on one thread (deep recursion, coroutines); their time is their \
         callers': name an interval deeper in the program to see them"
    )]
    NestedTooDeeply(u64),
    /// Arguments that label intervals could not be read.
    #[error("{0} labels could not be read; check label= names a string argument")]
    LabelsUnread(u64),
    /// So many intervals were given up because their thread went on with another stack inside of them.
    #[error(
        "{0} intervals are left out because their thread went on with another stack inside of them (coroutines, ucontext, boost.context), which \
         is not supported: choose an --interval that stays on one stack"
    )]
    StacksSwitched(u64),
    /// Intervals were left out, and ends were met on threads that had begun none.
    #[error(
        "{left} intervals are left out because they did not end on the thread on which they began, and {ends} ends or more were met on threads \
         that had begun none: if intervals go on on another thread, what is reported is no sample of all; say by which value they are told \
         apart: key=0:0 (argument 0 of both functions, or returned:0)"
    )]
    EndedElsewhere {
        /// Intervals left out.
        left: u64,
        /// Ends, as far as they were counted.
        ends: u64,
    },
    /// So many calls were suspended on another stack from one interval to the next.
    #[error(
        "{0} calls were suspended on another stack (coroutines) from one interval to the next: they are not timed, and what ran on that stack \
         counts for who resumed it"
    )]
    CallsSuspended(u64),
    /// So many calls were left in a way that only their stale frames showed.
    #[error(
        "{0} calls did not return and were left neither by the unwinder nor by longjmp: their time counts up to the next timed call, which may be \
         later than they ended; choose an --interval further down to see what runs between"
    )]
    CallsLeftUnseen(u64),
    /// Some call sites of a boundary, or of a function that the user named, cannot be hooked.
    #[error(
        "{} of the {} call sites of {point} cannot be hooked, so that what passes there is missing ({}): name another function, or one of the \
         other call sites as caller>callee", .refused.len(), .hooked + .refused.len(), .refused.join("; ")
    )]
    BoundaryPartlyHooked {
        /// The function or call sites, as the user typed them.
        point: String,
        /// How many call sites are hooked.
        hooked: usize,
        /// The others, each with its reason.
        refused: Vec<String>,
    },
    /// The interval's function is inlined into others, too.
    #[error(
        "{function} is inlined into {holders}, too: intervals that run there are not seen. Name what contains them as the --interval, or build the \
         program with {function} not inlined (__attribute__((noinline)))"
    )]
    InlinedElsewhere {
        /// The function.
        function: String,
        /// What contains the copies.
        holders: String,
    },
    /// The compiler made specialised copies of the interval's function.
    #[error(
        "the compiler has made copies of {function} for some of its callers, or of a part of it: {copies}. Intervals that run there alone are not seen: \
         name them as the --interval as well, with | between"
    )]
    SpecialisedCopies {
        /// The function.
        function: String,
        /// The copies.
        copies: String,
    },
    /// Calls through pointers are made so often, from this number of call sites, that only a sample was followed.
    #[error(
        "calls through pointers are made so often, from {0} call sites, that only a sample of them was followed to the functions they call, to stay within \
         --max-overhead: functions that are called rarely may be missing below them; raise --max-overhead, or choose an --interval further down"
    )]
    CalleesSampled(u64),
    /// The cost of a probe is not known.
    #[error(
        "the cost of a probe could not be calibrated and is not subtracted; profile again on a less busy machine"
    )]
    NotCalibrated,
    /// Running processes could not be attached to, for the same reason.
    #[error("nothing is known of {}: {first}{}", counted(*.processes, "one process"), others(*.processes))]
    NotAttached {
        /// How many.
        processes: u64,
        /// Why, of the first of them.
        first: String,
    },
    /// Processes of the command that have the interval's functions run without the agent, for this reason.
    #[error("intervals are missing: {0}")]
    Unprofiled(String),
    /// The hooks of idle processes could not be taken out at once, for the same reason.
    #[error(
        "hooks stay in {} until the next interval there, at which they are taken out: {first}{}", counted(*.processes, "an idle process"), others(*.processes)
    )]
    HooksLeft {
        /// How many.
        processes: u64,
        /// Why, of the first of them.
        first: String,
    },
    /// The recording could not be completed, for this reason.
    #[error("the recording is incomplete: {0}; free room on its disk and record again")]
    RecordingIncomplete(String),
}

/// So many processes; `one` for a single one.
fn counted(processes: u64, one: &str) -> String {
    match processes {
        1 => one.to_owned(),
        _ => format!("{processes} processes"),
    }
}

/// What follows the reason of the first of so many processes.
fn others(processes: u64) -> String {
    match processes {
        1 => String::new(),
        2 => " (the same of another)".to_owned(),
        _ => format!(" (the same of {} others)", processes - 1),
    }
}

impl Warning {
    /// [`Warning::FewRecorded`] or [`Warning::OnlyCounted`], if it holds for this profile.
    pub fn few_recorded(profile: &Profile) -> Option<Warning> {
        let left = profile.sampled_out + profile.discarded;
        let recorded = profile.intervals_seen.saturating_sub(left);
        if recorded == 0 && profile.sampled_out > 0 {
            return Some(Warning::OnlyCounted(profile.sampled_out));
        }
        let se = profile.factors.first().map_or(0.0, |factor| factor.se);
        let is_small = recorded as f64 <= RECORDED_FEW * profile.intervals_seen as f64;
        (is_small && profile.sampled_out > 0 && se > SE_HIGH).then_some(Warning::FewRecorded {
            recorded,
            sampled_out: profile.sampled_out,
            se,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Factor;

    fn profile(sampled_out: u64, se: f64) -> Profile {
        Profile {
            intervals_seen: 10_000,
            discarded: 100,
            sampled_out,
            factors: vec![Factor {
                se,
                ..Factor::default()
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn few_recorded_are_pointed_out_where_it_shows() {
        let Some(warning) = Warning::few_recorded(&profile(9_000, 0.04)) else {
            panic!("900 of 10,000 are few");
        };
        let text = warning.to_string();
        assert!(text.starts_with("900 intervals were recorded and 9000 counted only"));
        assert!(text.contains("±4 %"), "{text}");
        assert_eq!(Warning::few_recorded(&profile(9_000, 0.01)), None);
        assert_eq!(Warning::few_recorded(&profile(5_000, 0.04)), None);
        assert_eq!(Warning::few_recorded(&profile(0, 0.04)), None);
        let only_counted = Warning::few_recorded(&profile(9_900, 0.0));
        assert_eq!(only_counted, Some(Warning::OnlyCounted(9_900)));
    }
}
