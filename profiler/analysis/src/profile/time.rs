//! Where the time of intervals went: what they waited for, what single ones did when, and how much of it they ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sites::Kind;

/// Waits of intervals at one call site, for one kind of object, ended by one holder at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitedFor {
    /// The call that waits, with its site, or "(not timed)"; for what is counted together, "(others)".
    pub waiter: String,
    /// The innermost calls that wait, at most `crate::critical::blocking::WAITER_CALLS_MAX`, outermost first, each with
    /// its site.
    #[serde(default)]
    pub waiter_calls: Vec<String>,
    /// The awaited object, in words.
    pub object: String,
    /// The object as a kind of node.
    pub kind: Kind,
    /// Different objects, at most `crate::critical::blocking::OBJECTS_MAX`.
    pub objects: usize,
    /// There were more.
    pub more_objects: bool,
    /// Key of the object waited for longest, in hexadecimal.
    pub longest_object: String,
    /// The class of intervals that the waker served, or none; absent where the waker is unknown.
    pub holder: Option<String>,
    /// What the waker's thread is called, where it served no interval; `holder` has this name, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder_thread: Option<String>,
    /// Its open calls when it released, outermost first, each with its site.
    pub holder_calls: Vec<String>,
    /// Waits.
    pub count: u64,
    /// All of them together, over all intervals.
    pub total_ns: f64,
    /// Mean of one wait.
    pub mean_ns: f64,
    /// Cov(X, L) / Var(L), X being an interval's waits of this line.
    pub share: f64,
    /// Var(X) / Var(L).
    pub variance_fraction: f64,
}

/// One of the slowest intervals of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowInterval {
    /// Its number in the run: `--timeline id:N`.
    pub id: u64,
    /// When it began, after the run's first interval did.
    pub since_ns: f64,
    /// Its beginning on the target's clock: only differences mean anything.
    pub begin_ns: f64,
    /// The same in nanoseconds since 1970; absent where the recording does not say when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ns: Option<u64>,
    /// Its latency.
    pub latency_ns: f64,
    /// Its class.
    pub class: String,
    /// The thread on which it ended.
    pub thread: String,
    /// Number of the round that it was in, from 1.
    pub round: usize,
    /// Where most of its time went, most first: at most three.
    pub top: Vec<SlowPart>,
}

/// Where some of an interval's time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowPart {
    /// Name of the node.
    pub name: String,
    /// Path to it.
    pub path: String,
    /// What the time was spent on.
    pub kind: Kind,
    /// Time at the node itself.
    pub own_ns: f64,
}

/// The critical path of one interval, across threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The pick: `p99`, `max`, `#2`, `id:123`.
    pub pick: String,
    /// Its number in the run.
    pub id: u64,
    /// Its class.
    pub class: String,
    /// Its beginning, on the target's clock: only differences mean anything.
    #[serde(default)]
    pub begin_ns: f64,
    /// Its latency.
    pub latency_ns: f64,
    /// Its attributes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, i64>,
    /// The trace that it belongs to, in hexadecimal; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace_id: String,
    /// The span of that trace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub span_id: String,
    /// The threads of the path, the one on which it ended first.
    pub lanes: Vec<String>,
    /// In order of time, without gaps or overlaps.
    pub spans: Vec<Span>,
    /// Spans near the beginning were left out.
    pub is_cut: bool,
}

/// A stretch of a critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Index into [`Timeline::lanes`].
    pub lane: usize,
    /// From, since the interval's begin.
    pub from_ns: f64,
    /// To.
    pub to_ns: f64,
    /// Name of the node.
    pub name: String,
    /// The kind of time.
    pub kind: Kind,
    /// The node, as in [`super::Factor::paths`].
    pub path: String,
    /// The call that encloses it, with its site; empty directly in the interval.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub within: String,
}

/// What time is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Work of the interval's own.
    #[default]
    Running,
    /// Could run, and does not.
    OffProcessor,
    /// Others' work is waited for.
    Blocked,
    /// Its turn has not come.
    Queued,
    /// A device is waited for.
    Device,
    /// A page is waited for.
    Fault,
    /// Something outside of the target is waited for.
    Outside,
    /// Something is waited for, and nobody saw what.
    Asleep,
    /// A time is waited for.
    Timer,
    /// Waiting is the purpose.
    Idle,
    /// Nothing is known.
    Unknown,
}

impl Activity {
    /// All of them.
    pub const ALL: [Activity; 11] = [
        Activity::Running,
        Activity::OffProcessor,
        Activity::Blocked,
        Activity::Queued,
        Activity::Device,
        Activity::Fault,
        Activity::Outside,
        Activity::Asleep,
        Activity::Timer,
        Activity::Idle,
        Activity::Unknown,
    ];
}

/// A line of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// Activity of the thread on the critical path.
    #[serde(rename = "doing")]
    pub activity: Activity,
    /// Mean time an interval.
    pub mean_ns: f64,
    /// The time as a fraction of the mean latency.
    pub fraction: f64,
    /// Cov(X, L) / Var(L); the lines add up to 1.
    pub share: f64,
}
