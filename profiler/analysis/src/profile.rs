//! The result: everything a report shows, in the JSON of the design (fields may be added, not renamed). Reasons and
//! warnings are types here; `evenkeel-report` puts them into the words that JSON has, and a profile that is read from
//! there has these words.
//!
//! Times are nanoseconds, and shares and contributions are fractions of Var(L). `se` is a standard error from the
//! block jackknife: absent where it cannot be computed, 0 with a single interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::findings::cohorts::model::Cohorts;
pub use crate::findings::model::{Finding, Trade, Uncovered};
use crate::findings::reasons::{NotSplit, NotTimed};
use crate::findings::warnings::Warning;
pub use crate::intervals::interval::{LeftOut, Reason};
use crate::sites::{Function, Kind};
use crate::slow::model::SlowStacks;

mod classes;
mod listening;
mod machine;
mod over_time;
mod run_details;
mod sampling;
mod time;

pub use classes::{Attribute, AttributeFit, AttributeValue, Class, ClassPath, Classes};
pub use listening::{ListenQueue, join as join_queues};
pub use machine::{Machine, SLOW_ENOUGH};
pub use over_time::{OverTime, TimeColumn};
pub use run_details::{RunDetails, add_new};
pub use sampling::{NotSeenInside, Sampling, SamplingRule};
pub use time::{Activity, SlowInterval, SlowPart, Span, TimeSpent, Timeline, WaitedFor};

/// Version of the JSON.
pub const PROFILE_VERSION: u32 = 1;

/// A whole variance profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`PROFILE_VERSION`].
    pub version: u32,
    /// The command that was profiled.
    pub target: String,
    /// The interval's name.
    pub interval: String,
    /// Intervals the profile rests on: those of one round, all with the same probes, or of several on the call paths
    /// that all of them timed.
    pub intervals: u64,
    /// Intervals left out, all reasons, whole run.
    pub discarded: u64,
    /// The same by reason.
    pub discarded_by_reason: BTreeMap<LeftOut, u64>,
    /// Intervals seen to the end in the whole run, every round, discarded ones included.
    pub intervals_seen: u64,
    /// Of them, counted and not recorded so that profiling stays within its budget: chosen at random, one by one.
    #[serde(default)]
    pub sampled_out: u64,
    /// All intervals of the run, whether their inside was seen or not; absent where the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Stacks of intervals that were slow already, seen while they lasted; absent where none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_stacks: Option<SlowStacks>,
    /// Mean latency of the intervals that the profile rests on.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Variance.
    pub variance_ns2: f64,
    /// Percentiles by name: `p50`, `p90`, `p95`, `p99`, `p999`, `max`.
    pub percentiles_ns: BTreeMap<String, f64>,
    /// Latency histogram, ascending, without empty bins.
    pub histogram: Vec<Bin>,
    /// How latency, and where it is spent, changed while the run went on; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Does every interval's vector add up to its latency?
    pub closure: Closure,
    /// What profiling cost.
    pub overhead: Overhead,
    /// Number of the round that it rests on, from 1; 0 where the file does not say.
    #[serde(default)]
    pub round: usize,
    /// Rounds of refinement, in order.
    pub rounds: Vec<Round>,
    /// Where it rests on several rounds taken together: their numbers, from 1, ascending. `round` is the one that
    /// looked deepest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_together: Vec<usize>,
    /// Paths that explained much of the variance in another round, and are not in the tree of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_elsewhere: Vec<PathSeen>,
    /// What makes the latency vary, one cause each, largest share first: they do not overlap.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What is in no finding.
    #[serde(default)]
    pub uncovered: Uncovered,
    /// Functions that trade work: their covariance takes much off the variance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trades: Vec<Trade>,
    /// The slowest 1 % against the middle. Absent where no interval is slower than the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohorts: Option<Cohorts>,
    /// Factors, best score first (dissertation 2.3.2.2, algorithm 1).
    pub factors: Vec<Factor>,
    /// Classes of intervals and what of the variance lies between them.
    pub classes: Classes,
    /// Attributes that the target set, what explains most of the variance first. Empty where it set none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Attribute>,
    /// The variance tree.
    pub tree: Node,
    /// Where waits are followed: what the time was, summed up. Empty without.
    #[serde(rename = "doing", default, skip_serializing_if = "Vec::is_empty")]
    pub time_spent: Vec<TimeSpent>,
    /// Where waits are followed: waiters and holders, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitedFor>,
    /// The slowest intervals of the run, slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowInterval>,
    /// Where intervals were picked, or waits are followed: critical paths of single intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// Call sites that could not be timed.
    pub unpatched: Vec<Unpatched>,
    /// What of the variance could not be split further, largest share first, at most eight; absent where nobody kept
    /// the reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Vec<Unseen>>,
    /// Facts that the session knows.
    #[serde(flatten)]
    pub details: RunDetails,
    /// What the user should know before trusting the numbers, each with advice.
    pub warnings: Vec<Warning>,
}

/// A bin of the latency histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower bound, inclusive.
    pub from_ns: f64,
    /// Upper bound, exclusive.
    pub to_ns: f64,
    /// Intervals.
    pub count: u64,
}

/// The closure check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Closure {
    /// Largest |sum of a vector - latency| over all intervals, in ticks. Zero, or the profiler is wrong.
    pub max_abs_error_ticks: u64,
    /// Intervals checked.
    pub intervals: u64,
}

/// What profiling cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Calibrated cost of one probe.
    pub probe_ns: f64,
    /// Probe cost times calls, as a fraction of the mean latency.
    pub estimated_fraction: f64,
    /// Mean latency with probes against without (random windows, class by class), minus one. Absent without such
    /// windows, and where its error is as large as a relevant value.
    pub measured_fraction: Option<f64>,
    /// Its standard error, also where that is too large.
    pub measured_se: Option<f64>,
    /// Calls that were trapped to learn their callees, or that hit a breakpoint during a change of code.
    #[serde(default)]
    pub traps: u64,
    /// What that took, estimated, as a fraction of the time of all intervals of the run.
    #[serde(default)]
    pub trapping_fraction: f64,
    /// Threads that were stopped in order to attach.
    #[serde(default)]
    pub stops: Stops,
}

/// Attaching stops one thread of each process that was there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stops {
    /// Processes that were attached to.
    pub processes: u64,
    /// For how long their threads stood still, all together.
    pub sum_ns: f64,
    /// The longest of these times.
    pub max_ns: f64,
}

impl Stops {
    /// Adds those of other processes.
    pub fn add(&mut self, other: Stops) {
        self.processes += other.processes;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Cost of a trap, from the breakpoint to the next instruction, nanoseconds: mostly the kernel's way into the handler
/// and back.
pub const TRAP_NS: f64 = 3000.0;

/// One round of refinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Probes planted.
    pub probes: u32,
    /// Plans under which its intervals began: what a plan adds may never run, and then it begins no round.
    #[serde(default)]
    pub plans: u32,
    /// Intervals kept.
    pub intervals: u64,
}

/// A path that another round of refinement has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathSeen {
    /// As in [`Factor::paths`].
    pub path: String,
    /// Number of the round, from 1.
    pub round: usize,
    /// Intervals of that round.
    pub intervals: u64,
    /// Cov(X, L) / Var(L) of the path's inclusive time, in that round.
    pub share: f64,
    /// Its standard error.
    pub se: f64,
    /// Mean inclusive time an interval.
    pub mean_ns: f64,
}

/// Which kind of factor.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum FactorKind {
    /// One function's variance.
    #[default]
    Variance,
    /// Twice the covariance of two functions.
    Covariance,
}

/// A factor: a function's variance, or a pair's covariance, summed over its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Variance of one function, or covariance of two.
    pub kind: FactorKind,
    /// One function, or two in order of name. A function's own time is `body of NAME`.
    pub functions: Vec<String>,
    /// Only calls from this function are summed ([`crate::findings::factors`] says when). Without it all, or all that
    /// are no factor of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Who calls it, largest contribution first: they add up to the factor's. Empty where one path leads to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// Contribution to Var(L), signed.
    pub contribution: f64,
    /// Its standard error.
    pub se: f64,
    /// specificity x contribution.
    pub score: f64,
    /// Height in the static call graph; for a pair the larger.
    pub height: u32,
    /// The next factor's score lies within one standard error of the difference: their order means nothing.
    pub tied_with_next: bool,
    /// Paths of the nodes it sums, largest contribution first, at most eight: `root > f [f+0x10] > g [g+0x2f]`.
    pub paths: Vec<String>,
    /// By path, [`Node::id`] of its end; of a pair both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Vec<u32>>,
    /// Where it is the own time of a function: that function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_time_of: Option<String>,
    /// What the function's time is spent on.
    pub what: Kind,
}

/// What of a factor is in calls that one function makes, directly or through others that are alone in calling the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// The function; the interval's name at the root.
    pub function: String,
    /// Its part of [`Factor::contribution`], signed.
    pub contribution: f64,
}

/// A call path. `children` includes the body (`kind: body`, or `not_opened` where not every call is timed) where the
/// node has timed calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its number in this tree.
    #[serde(default)]
    pub id: u32,
    /// Function called, `body of NAME`, or the interval's name at the root. Where time is no call's, words
    /// (`crate::critical::states`).
    pub name: String,
    /// Call site, empty at the root and for bodies.
    pub site: String,
    /// Probe id of the call site; none at the root and for bodies.
    pub probe: Option<u32>,
    /// Source file of the call.
    pub file: Option<String>,
    /// Line of the call.
    pub line: Option<u32>,
    /// What the time is spent on.
    pub kind: Kind,
    /// Mean inclusive time an interval.
    pub mean_ns: f64,
    /// Standard deviation of the inclusive time over intervals.
    pub sd_ns: f64,
    /// Mean number of calls an interval.
    pub calls_mean: f64,
    /// Var(X) / Var(L): the paper's contribution of this node.
    pub variance_fraction: f64,
    /// Its standard error, where refinement looks (`crate::rounds::evidence`); a report's tree does without.
    #[serde(skip)]
    pub variance_se: f64,
    /// Cov(X, L) / Var(L); children add up to their parent, the root is 1.
    pub share: f64,
    /// Standard error of the share.
    pub se: f64,
    /// Of Var(X), the part explained by the number of calls (regression of X on N); absent where N never varies.
    pub calls_explained: Option<f64>,
    /// Share of the tail by percentile name (`p95`, `p99`, `p999`): the part of the slowest intervals' excess over
    /// the mean that is spent here. The root has 1. The tail begins at the histogram's bucket boundary nearest the
    /// percentile from below. Absent where the tail is no slower than the mean.
    pub tail_share: BTreeMap<String, f64>,
    /// Height of the function in the static call graph.
    pub height: u32,
    /// Signed covariances among the children, as 2 Cov / Var(L), largest magnitude first; indices into `children`.
    /// Those below `crate::sums::shares::COVARIANCE_MIN` in magnitude are left out.
    pub covariances: Vec<Covariance>,
    /// Calls below, largest share first; the body among them.
    pub children: Vec<Node>,
}

/// A covariance between two children of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Covariance {
    /// Index of one child.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// 2 Cov(a, b) / Var(L).
    pub contribution: f64,
    /// Its standard error.
    pub se: f64,
}

/// Time whose inside the profile does not show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unseen {
    /// As [`Node::name`]; nodes of one name are added up.
    pub name: String,
    /// Cov(X, L) / Var(L).
    pub share: f64,
    /// Its standard error.
    pub se: f64,
    /// Why.
    pub why: NotSplit,
}

/// A call site that could not be timed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unpatched {
    /// The site.
    pub site: String,
    /// Why.
    pub reason: NotTimed,
    /// Its probe, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<u32>,
    /// The function that makes the call; absent where that is not known, or it is a function's entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Function>,
    /// It runs, or may run, and its time is part of its caller's own, which therefore is no own code
    /// ([`crate::findings::not_opened`]).
    #[serde(default)]
    pub hides_time: bool,
}
