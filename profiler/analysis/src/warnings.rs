//! What the user should know before trusting the numbers. Each ends in advice.

use std::fmt::{self, Display};

use crate::profile::Profile;

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
#[derive(Clone, Debug, PartialEq)]
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
        reason: &'static str,
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
    /// So many of the recorded intervals are of rounds whose latencies differ from those of the round that the profile rests on.
    RoundsDisagree {
        /// Of those rounds.
        intervals: u64,
        /// Of all.
        kept: u64,
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
    /// Threads found no ring.
    ThreadsWithoutRing {
        /// How many.
        threads: u64,
        /// There was no memory for more; otherwise too many began at once.
        no_memory: bool,
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
    /// A debug file could not be used.
    DebugFile(String),
    /// So many processes could not be changed any more from some moment on, because they did this.
    Frozen {
        /// How many.
        processes: u64,
        /// What they did, as a phrase that "processes that" begins.
        why: String,
    },
    /// Calls were in flight, or suspended, beyond what a thread's shadow stack holds.
    NestedTooDeeply(u64),
    /// Arguments that label intervals could not be read.
    LabelsUnread(u64),
    /// So many intervals were given up because their thread went on with another stack inside of them.
    StacksSwitched(u64),
    /// So many calls were suspended on another stack from one interval to the next.
    CallsSuspended(u64),
    /// So many calls were left in a way that only their stale frames showed.
    CallsLeftUnseen(u64),
    /// The cost of a probe is not known.
    NotCalibrated,
    /// A running process could not be attached to, for this reason.
    NotAttached(String),
    /// The hooks of an idle process could not be taken out at once, for this reason.
    HooksLeft(String),
    /// The recording could not be completed, for this reason.
    RecordingIncomplete(String),
}

impl Warning {
    /// [`Warning::FewRecorded`], if it holds for this profile.
    pub fn few_recorded(profile: &Profile) -> Option<Warning> {
        let left = profile.sampled_out + profile.discarded;
        let recorded = profile.intervals_seen.saturating_sub(left);
        let se = profile.factors.first().map_or(0.0, |factor| factor.se);
        let is_small = recorded as f64 <= RECORDED_FEW * profile.intervals_seen as f64;
        (is_small && profile.sampled_out > 0 && se > SE_HIGH).then_some(Warning::FewRecorded {
            recorded,
            sampled_out: profile.sampled_out,
            se,
        })
    }
}

impl Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NoIntervals => write!(
                f,
                "no interval was completed: check that the interval's function is called by this workload, or run longer"
            ),
            Warning::FewIntervals(count) => {
                write!(
                    f,
                    "only {count} intervals: shares are rough below {INTERVALS_FEW}; run longer or add load"
                )
            }
            Warning::NoVariance => {
                write!(
                    f,
                    "all intervals took equally long: there is no variance to explain; choose another interval"
                )
            }
            Warning::Discarded { fraction, reason } => write!(
                f,
                "{:.1} % of the intervals were left out, mostly \"{reason}\": the rest may not be typical; \
                 fewer probes or less load lose fewer",
                100.0 * fraction
            ),
            &Warning::LossDependsOnLatency {
                intervals,
                lost_ns,
                kept_ns,
                mean_ns,
            } => write!(
                f,
                "{intervals} intervals lost records and are left out: they took {:.1} µs on average, those that are kept {:.1} µs, and the mean \
                 of all is {:.1} µs: what makes intervals slow is understated. Lower --max-probes, or choose an --interval with fewer \
                 calls, until none are lost",
                lost_ns / 1e3,
                kept_ns / 1e3,
                mean_ns / 1e3
            ),
            Warning::ClosureError(ticks) => write!(
                f,
                "some vectors missed their latency by up to {ticks} ticks and were left out: this is a fault of the \
                 profiler; please report it with the recording"
            ),
            &Warning::Overhead { fraction, measured } => write!(
                f,
                "profiling slows intervals by about {:.1} % ({}): small shares may be its own; use fewer probes",
                100.0 * fraction,
                if measured { "measured" } else { "estimated" }
            ),
            Warning::ProbeShare(share) => write!(
                f,
                "{:.1} % of the variance is spent in probes: some probed call is very frequent; use fewer probes",
                100.0 * share
            ),
            Warning::FewBlocks(blocks) => {
                write!(
                    f,
                    "standard errors rest on {blocks} blocks only and are rough; run longer"
                )
            }
            &Warning::RoundsDisagree { intervals, kept } => write!(
                f,
                "{intervals} of {kept} recorded intervals are left out: their latencies differ from those of the others by more than \
                 chance, so the load or the program has changed on the way; profile again under a steady load to use all of them"
            ),
            Warning::Dropped(records) => write!(
                f,
                "{records} records of long intervals were dropped to bound memory, so that some time is \"not seen\"; choose a \
                 shorter interval or fewer probes"
            ),
            &Warning::FewRecorded {
                recorded,
                sampled_out,
                se,
            } => write!(
                f,
                "{recorded} intervals were recorded and {sampled_out} counted only, since there was no idle processor to take more in: shares are \
                 known to ±{:.0} % at best; raise --max-overhead, which the target pays for, or run longer",
                100.0 * se
            ),
            &Warning::RecordedLess {
                fraction,
                measured,
                recorded,
            } => write!(
                f,
                "recorded intervals take {:.1} % longer ({}), more than --max-overhead: at most {:.1} % of them are recorded, so \
                 that the mean over all stays within it; lower --max-probes to record more of them",
                100.0 * fraction,
                if measured {
                    "measured, less its error"
                } else {
                    "estimated"
                },
                100.0 * recorded
            ),
            Warning::ThreadsWithoutRing { threads, no_memory } => {
                let why = if *no_memory {
                    "no shared memory was left"
                } else {
                    "too many started at once"
                };
                write!(
                    f,
                    "{threads} threads were not recorded: {why}; free memory or run fewer threads"
                )
            }
            Warning::NotDrained { records, intervals } => write!(
                f,
                "the profiler did not keep up for a moment: {records} records were dropped and {intervals} intervals not \
                 recorded; they are left out. Lower --max-probes, or give the profiler more of a processor"
            ),
            Warning::KernelEventsLost(events) => write!(
                f,
                "{events} events of the kernel were lost: some time off the processor counts as running; give the profiler more \
                 of a processor"
            ),
            Warning::NoKernelEvents(why) => {
                write!(f, "preempted and blocked time are not told apart: {why}")
            }
            Warning::NoWakers => write!(
                f,
                "the kernel does not report who ended a sleep that no call announced as a wait, nor which sleeps were for a \
                 device: they stand as \"off the processor\", on what was not seen; run evenkeel as root and outside of a \
                 container (it reads the tracepoints sched_waking and sched_switch) to have them explained"
            ),
            Warning::DebugFile(what) => write!(f, "{what}"),
            Warning::NestedTooDeeply(calls) => write!(
                f,
                "{calls} calls were not timed: too many were in flight or suspended on one thread (deep recursion, coroutines); \
                 their time is their callers': name an interval deeper in the program to see them"
            ),
            Warning::Frozen { processes, why } => write!(
                f,
                "processes that {why}: {processes}; what was hooked by then stays hooked, and nothing was opened after. To see \
                 more, hook more at the start: --plant NUMBER, or an --interval further down"
            ),
            Warning::StacksSwitched(intervals) => write!(
                f,
                "{intervals} intervals are left out because their thread went on with another stack inside of them (coroutines, ucontext, boost.context), which is not supported: choose an --interval that stays on one stack"
            ),
            Warning::CallsSuspended(calls) => write!(
                f,
                "{calls} calls were suspended on another stack (coroutines) from one interval to the next: they are not timed, and what ran on that stack counts for who resumed it"
            ),
            Warning::CallsLeftUnseen(calls) => write!(
                f,
                "{calls} calls did not return and were left neither by the unwinder nor by longjmp: their time counts up to the next timed call, which may be later than they ended; choose an --interval further down to see what runs between"
            ),
            Warning::LabelsUnread(labels) => write!(
                f,
                "{labels} labels could not be read; check label= names a string argument"
            ),
            Warning::NotCalibrated => write!(
                f,
                "the cost of a probe could not be calibrated and is not subtracted; profile again on a less busy machine"
            ),
            Warning::NotAttached(why) => write!(f, "nothing is known of one process: {why}"),
            Warning::HooksLeft(why) => write!(
                f,
                "hooks stay in an idle process until its next interval, at which it takes them out: {why}"
            ),
            Warning::RecordingIncomplete(why) => write!(
                f,
                "the recording is incomplete: {why}; free room on its disk and record again"
            ),
            Warning::Folded(calls) => write!(
                f,
                "{calls} calls lie beyond the bounds of the tree (very deep recursion, very many paths, long chains of waits) and \
                 count as their caller's own time, or that of the wait; use fewer probes"
            ),
        }
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
    }
}
