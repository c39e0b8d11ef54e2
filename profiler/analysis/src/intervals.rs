//! From the records of one thread to its intervals.
//!
//! ```text
//! Begin [Label.. | LabelInteger]  call call call ...  [Open ..]  End
//! ```
//! An interval that lost anything is discarded with its reason and never patched up (dissertation 2.3.3.1 assumes
//! complete traces; a patched vector would not close).

use evenkeel_wire::record::{MARKER_FIRST, Marker, Record};

use crate::labels::{LabelBuffer, RawLabel};

/// Calls kept of one interval, at most: 16 MiB.
pub const CALLS_MAX: usize = 1 << 20;
/// Calls for which a thread's buffer is kept from one interval to the next: 256 KiB.
const CALLS_RETAINED: usize = 1 << 14;

/// Width of a latency in ticks; longer intervals are malformed (34 hours at 2.3 GHz): sums of squares must fit.
pub const LATENCY_BITS: u32 = 48;

/// Why an interval was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Another interval began on the thread before this one ended.
    LeftEarly,
    /// The agent reported a gap.
    RecordsLost,
    /// The agent gave it up.
    Abandoned,
    /// It ended under another plan than it began.
    PlanChanged,
    /// Its calls do not nest.
    Malformed,
    /// It has more than [`CALLS_MAX`] calls.
    TooManyCalls,
    /// It began under a plan older than the first round.
    BeforeFirstRound,
    /// Its end was never told, and too many like it were open.
    NeverEnded,
}

impl Reason {
    /// All reasons; a reason's discriminant is its index here.
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

    /// The reason in words, as the profile shows it.
    pub fn text(self) -> &'static str {
        match self {
            Reason::LeftEarly => "left early (longjmp, exception or error)",
            Reason::RecordsLost => "records lost",
            Reason::Abandoned => "plan changed or thread forked",
            Reason::PlanChanged => "plan changed under it",
            Reason::Malformed => "malformed records",
            Reason::TooManyCalls => "too many calls to keep",
            Reason::BeforeFirstRound => "began before the first round",
            Reason::NeverEnded => "end never told",
        }
    }
}

/// A complete interval as recorded.
#[derive(Clone, Copy, Debug)]
pub struct RawInterval<'a> {
    /// Begin, ticks.
    pub start: u64,
    /// End, ticks.
    pub end: u64,
    /// Generation of the plan under which it ran.
    pub generation: u32,
    /// Whether its probes were on.
    pub probed: bool,
    /// What was asked for.
    pub label: RawLabel<'a>,
    /// Completed calls in order of their end; those with `start` 0 are void.
    pub calls: &'a [Record],
    /// [`Marker::Open`] records: calls still running at `end`, outermost first.
    pub open: &'a [Record],
}

impl RawInterval<'_> {
    /// Latency in ticks; nothing where it is negative or wider than [`LATENCY_BITS`].
    pub fn latency(&self) -> Option<i64> {
        latency(self.start, self.end)
    }
}

/// Ticks from `begin` to `end`; nothing where they are negative or wider than [`LATENCY_BITS`].
pub fn latency(begin: u64, end: u64) -> Option<i64> {
    let ticks = end.checked_sub(begin)?;
    (ticks >> LATENCY_BITS == 0).then_some(ticks as i64)
}

/// What became of an interval.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// It is complete.
    Interval(RawInterval<'a>),
    /// It is left out.
    Discarded(Reason),
}

/// Assembles the intervals of one thread. Holds at most one interval.
#[derive(Debug, Default)]
pub struct Assembler {
    /// Start and payload of the open interval's Begin.
    begin: Option<(u64, u64)>,
    calls: Vec<Record>,
    open: Vec<Record>,
    label: LabelBuffer,
}

impl Assembler {
    /// Takes the next records of the thread, in order; `sink` receives each interval that ends or is discarded.
    pub fn push(&mut self, records: &[Record], sink: &mut impl FnMut(Outcome<'_>)) {
        let mut rest = records;
        while !rest.is_empty() {
            let calls = rest
                .iter()
                .position(|record| record.id() >= MARKER_FIRST)
                .unwrap_or(rest.len());
            if self.begin.is_some() {
                self.push_calls(&rest[..calls], sink);
            }
            rest = &rest[calls..];
            if let Some((&record, after)) = rest.split_first() {
                self.push_marker(record, sink);
                rest = after;
            }
        }
    }

    /// Whether an interval has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.begin.is_some()
    }

    fn push_calls(&mut self, calls: &[Record], sink: &mut impl FnMut(Outcome<'_>)) {
        if self.calls.len() + calls.len() > CALLS_MAX {
            self.discard(Reason::TooManyCalls, sink);
        } else {
            self.calls.extend_from_slice(calls);
        }
    }

    fn push_marker(&mut self, record: Record, sink: &mut impl FnMut(Outcome<'_>)) {
        let Some(marker) = record.as_marker() else {
            return;
        };
        if marker == Marker::Begin {
            self.discard(Reason::LeftEarly, sink);
            self.clear();
            self.begin = Some((record.start, record.duration()));
            return;
        }
        let Some((start, payload)) = self.begin else {
            return;
        };
        match marker {
            Marker::Begin => unreachable!("handled above"),
            // Edges and intervals that move between threads are assembled elsewhere.
            Marker::Wait
            | Marker::Object
            | Marker::Wake
            | Marker::Enqueue
            | Marker::Dequeue
            | Marker::Work
            | Marker::BeginKeyed
            | Marker::EndKeyed
            | Marker::Class
            | Marker::Attribute => {}
            Marker::Label | Marker::LabelInteger => self.label.push(record),
            Marker::Open if self.open.len() == CALLS_MAX => {
                self.discard(Reason::TooManyCalls, sink)
            }
            Marker::Open => self.open.push(record),
            Marker::Gap => self.discard(Reason::RecordsLost, sink),
            Marker::Abandon => self.discard(Reason::Abandoned, sink),
            Marker::End if payload >> 1 != record.duration() >> 1 => {
                self.discard(Reason::PlanChanged, sink)
            }
            Marker::End => {
                self.begin = None;
                sink(Outcome::Interval(self.interval(
                    start,
                    record.start,
                    payload,
                )));
            }
        }
    }

    fn interval(&self, start: u64, end: u64, payload: u64) -> RawInterval<'_> {
        RawInterval {
            start,
            end,
            generation: (payload >> 1) as u32,
            probed: payload & 1 == 1,
            label: self.label.label(),
            calls: &self.calls,
            open: &self.open,
        }
    }

    fn discard(&mut self, reason: Reason, sink: &mut impl FnMut(Outcome<'_>)) {
        if self.begin.take().is_some() {
            sink(Outcome::Discarded(reason));
        }
    }

    fn clear(&mut self) {
        self.calls.clear();
        self.calls.shrink_to(CALLS_RETAINED);
        self.open.clear();
        self.label.clear();
    }
}
