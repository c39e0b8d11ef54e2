//! A profiled process joined to the spans of its service: what it did while a span had the time to itself.
//!
//! An interval of the process names the span that it works for (`evenkeel_trace`, W3C's `traceparent`). Where that span is on the critical path of a
//! request, the time that no called span covers, else "body of service: operation", goes to the functions that the interval's own critical path was in
//! just then:
//! ```text
//! spans     [cart: GET /cart              [cart: call stock         ]             ]
//! interval    [handle [price          ]     [rpc               ]    [render    ]  ]
//! joined    [ [handle [price          ] ] [cart: call stock         ][handle [render]]]
//! ```
//! So a function that goes on through a call to another service counts as one call before and one after. The two clocks are brought together where they
//! contradict each other (`clock`): of a span and the interval that works for it, one lies within the other.

mod clock;
pub(crate) mod steps;

use std::collections::HashMap;

use evenkeel_analysis::sites::Kind as SiteKind;
use foldhash::fast::RandomState;

use crate::span::Kind;
use crate::tree::Forest;
use clock::Clock;

/// A function of a profiled process, at a call path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Index of the path above; nothing where that is the interval itself.
    pub parent: Option<u32>,
    /// Its name.
    pub name: String,
    /// It is called, and no state that the process is in (waiting, without a processor) or time of what is not known.
    pub is_call: bool,
    /// What its time is spent on.
    pub kind: SiteKind,
    /// Source file of the call.
    pub file: Option<String>,
    /// Line of the call.
    pub line: Option<u32>,
}

/// A stretch of an interval's critical path in one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// From, nanoseconds since 1970.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// Index of the function; nothing for the interval itself.
    pub function: Option<u32>,
}

/// What a process did for a span: one of its intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The span that it names.
    pub span: u64,
    /// When it began, nanoseconds since 1970.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// In order of time.
    pub pieces: Vec<Piece>,
}

/// What became of a process's intervals that name a trace which is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Their spans are on critical paths: their functions are in the profile.
    pub joined: u64,
    /// Their spans are there and nobody waited for them, or for others longer.
    pub off_path: u64,
    /// Their spans are not there.
    pub without_span: u64,
}

/// A profiled process.
#[derive(Debug, Default)]
pub struct Process {
    /// What messages call it.
    pub name: String,
    /// Its functions, callers before callees.
    pub functions: Vec<Function>,
    /// By trace.
    pub works: HashMap<u128, Vec<Work>, RandomState>,
    /// What became of them.
    pub fate: Fate,
    clock: Clock,
}

/// Profiled processes.
#[derive(Debug, Default)]
pub struct Processes {
    /// All of them.
    pub all: Vec<Process>,
}

/// A stretch of a critical path, of the process with this index.
pub(crate) type Stretch = (usize, Piece);

/// By span: what was done for it, in order of time, on the request's clock.
pub(crate) type Joined = HashMap<u32, Vec<Stretch>, RandomState>;

impl Process {
    /// A process without intervals.
    pub fn new(name: String, functions: Vec<Function>) -> Process {
        Process {
            name,
            functions,
            ..Process::default()
        }
    }

    /// What the user should know.
    fn warnings(&self) -> Vec<String> {
        let Fate {
            joined,
            off_path,
            without_span,
        } = self.fate;
        let name = &self.name;
        let mut warnings = Vec::new();
        if joined == 0 {
            warnings.push(format!(
                "nothing of {name} could be joined: no interval of it works for a span on a critical path; record it while these traces are made"
            ));
        }
        if off_path > 0 {
            warnings.push(format!(
                "{off_path} intervals of {name} work for spans that nobody waited for, or that were not the last to end: they are on no critical path"
            ));
        }
        if without_span > 0 {
            warnings.push(format!(
                "{without_span} intervals of {name} name spans that are missing in their traces: name the span of the service itself, or of its caller"
            ));
        }
        warnings.extend(self.clock.correction(name));
        warnings
    }
}

impl Processes {
    /// Learns how far the clocks of processes and spans are apart. Times of the spans are as they came.
    pub(crate) fn observe(&mut self, forests: &[Forest]) {
        for process in &mut self.all {
            for forest in forests {
                for work in process.works.get(&forest.trace()).into_iter().flatten() {
                    if let Some(span) = worker(forest, work.span) {
                        process.clock.observe(&forest.spans[span as usize], work);
                    }
                }
            }
            process.clock.settle();
        }
    }

    /// What was done for the spans of a trace.
    pub(crate) fn of(&self, forest: &Forest) -> Joined {
        let mut joined = Joined::default();
        for (at, process) in self.all.iter().enumerate() {
            for work in process.works.get(&forest.trace()).into_iter().flatten() {
                let Some(span) = worker(forest, work.span) else {
                    continue;
                };
                let offset_ns = process.clock.correction_ns() + forest.offsets_ns[span as usize];
                let moved = |ns: u64| ns.saturating_add_signed(offset_ns);
                let pieces = work.pieces.iter().map(|piece| {
                    let piece = Piece {
                        from_ns: moved(piece.from_ns),
                        to_ns: moved(piece.to_ns),
                        ..*piece
                    };
                    (at, piece)
                });
                joined.entry(span).or_default().extend(pieces);
            }
        }
        joined.values_mut().for_each(in_order);
        joined
    }

    /// Counts what became of the intervals of a trace; `is_on_path` says it of a span.
    pub(crate) fn count(&mut self, forest: &Forest, is_on_path: impl Fn(u32) -> bool) {
        for process in &mut self.all {
            for work in process.works.get(&forest.trace()).into_iter().flatten() {
                let count = match worker(forest, work.span) {
                    Some(span) if is_on_path(span) => &mut process.fate.joined,
                    Some(_) => &mut process.fate.off_path,
                    None => &mut process.fate.without_span,
                };
                *count += 1;
            }
        }
    }

    /// What the user should know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.all.iter().flat_map(Process::warnings).collect()
    }
}

/// In order of time, without overlaps: of several intervals that work for a span at a time, the one that began first goes before.
fn in_order(stretches: &mut Vec<Stretch>) {
    stretches.sort_by_key(|(_, piece)| piece.from_ns);
    let mut until_ns = 0;
    stretches.retain_mut(|(_, piece)| {
        piece.from_ns = piece.from_ns.max(until_ns);
        until_ns = until_ns.max(piece.to_ns);
        piece.from_ns < piece.to_ns
    });
}

/// The span of a trace that has this number and did the work: of a call to another service, the one by which that answers.
fn worker(forest: &Forest, id: u64) -> Option<u32> {
    let named = forest.spans.iter().position(|span| span.id == id)?;
    let is_answer = |&&callee: &&u32| forest.spans[callee as usize].kind == Kind::Server;
    let answer = match forest.spans[named].kind {
        Kind::Client => forest.children[named].iter().find(is_answer),
        _ => None,
    };
    Some(answer.copied().unwrap_or(named as u32))
}
