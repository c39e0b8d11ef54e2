//! What the user should know before trusting the numbers. Each ends in advice.

use std::fmt::{self, Display};

/// Intervals below which shares are rough.
pub const INTERVALS_FEW: u64 = 1000;
/// Fraction of intervals left out above which the rest may not be typical.
pub const DISCARDED_HIGH: f64 = 0.01;
/// Overhead above which profiling itself may change what is measured.
pub const OVERHEAD_HIGH: f64 = 0.03;
/// Share of the variance spent in probes above which it is pointed out.
pub const PROBE_SHARE_HIGH: f64 = 0.01;
/// Blocks below which standard errors are rough.
pub const BLOCKS_FEW: usize = 20;

/// A reason for caution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// No interval was kept.
    NoIntervals,
    /// Fewer than [`INTERVALS_FEW`] intervals.
    FewIntervals(u64),
    /// Every interval took equally long: nothing to explain.
    NoVariance,
    /// A fraction above [`DISCARDED_HIGH`] was left out.
    Discarded {
        /// The fraction.
        fraction: f64,
        /// The most frequent reason.
        reason: &'static str,
    },
    /// Vectors did not add up to their latency.
    ClosureError(u64),
    /// Profiling slows intervals by more than [`OVERHEAD_HIGH`].
    Overhead {
        /// The fraction.
        fraction: f64,
        /// Measured against bypassed probes, not estimated from their cost.
        measured: bool,
    },
    /// Probes make up more than [`PROBE_SHARE_HIGH`] of the variance.
    ProbeShare(f64),
    /// Fewer than [`BLOCKS_FEW`] blocks.
    FewBlocks(usize),
    /// Calls beyond the bounds of the tree were counted as their caller's own time.
    Folded(u64),
    /// Records were dropped that a critical path might have led to.
    Dropped(u64),
}

impl Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
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
            Warning::ClosureError(ticks) => write!(
                f,
                "some vectors missed their latency by up to {ticks} ticks and were left out: this is a fault of the \
                 profiler; please report it with the recording"
            ),
            Warning::Overhead { fraction, measured } => write!(
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
            Warning::Dropped(records) => write!(
                f,
                "{records} records of long intervals were dropped to bound memory, so that some time is \"not seen\"; choose a \
                 shorter interval or fewer probes"
            ),
            Warning::Folded(calls) => write!(
                f,
                "{calls} calls lie beyond the bounds of the tree (very deep recursion or very many paths) and count as \
                 their caller's own time; use fewer probes"
            ),
        }
    }
}
