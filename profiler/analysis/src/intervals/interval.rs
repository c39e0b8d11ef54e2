//! An interval, as the rest of the analysis sees it, and the reasons to leave one out.

use serde::{Deserialize, Serialize};

use crate::intervals::trace_context::TraceContext;

/// Width of a latency in ticks; longer intervals are malformed (34 hours at 2.3 GHz): sums of squares must fit.
pub const LATENCY_BITS: u32 = 48;

/// Why an interval was left out: one that lost anything is discarded and never patched up (dissertation 2.3.3.1 assumes
/// complete traces; a patched vector would not close).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Another interval began on the thread before this one ended.
    LeftEarly,
    /// The agent reported a gap.
    RecordsLost,
    /// The agent gave it up: its calls could not be followed to another stack.
    Abandoned,
    /// It ended under another plan than it began.
    PlanChanged,
    /// Its calls do not nest.
    Malformed,
    /// It has more calls than are kept of one thread.
    TooManyCalls,
    /// It began under a plan older than the first round.
    BeforeFirstRound,
    /// No end of it was recorded, and too many like it were open.
    NeverEnded,
    /// It could not begin, because its thread's ring was full: the session counts these.
    RingFull,
}

/// Why intervals were left out, as a profile has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LeftOut {
    /// A known reason.
    Known(Reason),
    /// In words, from a profile that has no more.
    Said(String),
}

impl Reason {
    /// All reasons that the analysis counts; a reason's discriminant is its index here.
    pub const ALL: [Reason; 8] = [
        Reason::LeftEarly,
        Reason::RecordsLost,
        Reason::Abandoned,
        Reason::PlanChanged,
        Reason::Malformed,
        Reason::TooManyCalls,
        Reason::BeforeFirstRound,
        Reason::NeverEnded,
    ];
}

/// The calls of an interval do not nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Attributes of an interval by number ([`crate::intervals::attributes::AttributeTable`]), each once, with its last
/// value.
pub type AttributeValues = Vec<(u16, i64)>;

/// Where an interval lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Begin, ticks.
    pub begin: u64,
    /// End, ticks.
    pub end: u64,
    /// Its thread's value of `Serving`.
    pub serving: Serving,
    /// For an interval that stays on its thread, the number of the mark at its beginning.
    pub begin_mark: Option<u64>,
    /// The thread on which it ended.
    pub thread: u64,
    /// Number of the mark there.
    pub mark: u64,
}

impl Extent {
    /// Latency in ticks; nothing where it is negative or wider than [`LATENCY_BITS`].
    pub fn latency(&self) -> Option<i64> {
        let ticks = self.end.checked_sub(self.begin)?;
        (ticks >> LATENCY_BITS == 0).then_some(ticks as i64)
    }
}

/// An interval that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Where it lies.
    pub subject: Extent,
    /// Generation of the plan under which it began.
    pub generation: u32,
    /// Whether its probes were on.
    pub probed: bool,
    /// For how many intervals it stands.
    pub weight: u64,
    /// Its class.
    pub class: u16,
    /// Its attributes.
    pub attributes: AttributeValues,
    /// The span that it belongs to.
    pub trace: Option<TraceContext>,
}

/// The interval that a thread works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serving {
    /// No interval.
    #[default]
    Nobody,
    /// An interval that stays on the thread, by its serial number.
    Interval(u64),
    /// An interval with a key.
    Keyed(u64),
}
