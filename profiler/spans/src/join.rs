//! Joins a profiled process to the spans of its service, to show its activity in a span's own time.
//!
//! An interval of the process names its span (`evenkeel_trace`, W3C's `traceparent`). If the span is on the critical
//! path of a request, it may have own time that no called span covers ("body of service: operation"). This time goes to
//! the functions that the interval's own critical path was in at that time:
//! ```text
//! spans     [cart: GET /cart              [cart: call stock         ]             ]
//! interval    [handle [price          ]     [rpc               ]    [render    ]  ]
//! joined    [ [handle [price          ] ] [cart: call stock         ][handle [render]]]
//! ```
//! So a function with a call to another service in it is counted twice: once before the call, once after. If the two
//! clocks contradict each other, they are corrected (`clock`): an interval lies within its span, or the span within the
//! interval.

mod clock;
pub(crate) mod steps;

use std::collections::{HashMap, HashSet};

use evenkeel_analysis::findings::warnings::SpansWarning;
use evenkeel_analysis::sites::Kind;
use foldhash::fast::RandomState;

use crate::critical::Call;
use crate::span::SpanKind;
use crate::tree::Forest;
use clock::{Clock, Pair};

/// A function of a profiled process, at a call path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Index of the path above; `None` if that is the interval itself.
    pub parent: Option<u32>,
    /// Its name.
    pub name: String,
    /// Whether it is a call. Otherwise it is a state of the process (waiting, without a processor), or unknown time.
    pub is_call: bool,
    /// The kind of its time.
    pub kind: Kind,
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
    /// Index of the function; `None` for the interval itself.
    pub function: Option<u32>,
}

/// An interval of a process that belongs to a span.
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

/// Results for a process's intervals that name a received trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Intervals with spans on critical paths: their functions are in the profile.
    pub joined: u64,
    /// Intervals with spans that nobody waited for, or that ended before others.
    pub off_path: u64,
    /// Intervals with spans that were not received.
    pub without_span: u64,
}

/// A profiled process.
#[derive(Debug, Default)]
pub struct Process {
    /// Its name in messages.
    pub name: String,
    /// Its functions, callers before callees.
    pub functions: Vec<Function>,
    /// By trace.
    pub works: HashMap<u128, Vec<Work>, RandomState>,
    /// Results for its intervals.
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

/// The intervals of a trace's spans.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// By span: the pieces in order of time, on the request's clock.
    pub stretches: HashMap<u32, Vec<Stretch>, RandomState>,
    /// The process of each interval, and its span, if that was received.
    workers: Vec<(usize, Option<u32>)>,
}

impl Joined {
    /// Whether a path goes through one of these operations in a span without a recorded interval. Its time there
    /// would be the service's own, while other requests split theirs into functions. A profile never mixes intervals
    /// with different probes, so such a request is left out.
    pub fn lacks(
        &self,
        forest: &Forest,
        path: &[Call],
        opened: &HashSet<u32, RandomState>,
    ) -> bool {
        let is_opened = |span: u32| opened.contains(&forest.spans[span as usize].operation);
        let mut spans = path.iter().map(|call| call.span);
        !opened.is_empty()
            && spans.any(|span| is_opened(span) && !self.stretches.contains_key(&span))
    }
}

impl Process {
    /// A process without intervals.
    pub fn new(name: String, functions: Vec<Function>) -> Process {
        Process {
            name,
            functions,
            ..Process::default()
        }
    }

    /// Warnings for the user.
    fn warnings(&self) -> Vec<SpansWarning> {
        let Fate {
            joined,
            off_path,
            without_span,
        } = self.fate;
        let process = || self.name.clone();
        let mut warnings = Vec::new();
        if joined == 0 {
            warnings.push(SpansWarning::NothingJoined(process()));
        }
        if off_path > 0 {
            warnings.push(SpansWarning::OffPath {
                process: process(),
                intervals: off_path,
            });
        }
        if without_span > 0 {
            warnings.push(SpansWarning::SpanMissing {
                process: process(),
                intervals: without_span,
            });
        }
        warnings.extend(self.clock.correction(&self.name));
        warnings
    }
}

impl Processes {
    /// Measures the offsets between the clocks of processes and spans. Times of the spans are as received.
    pub(crate) fn observe(&mut self, forests: &[Forest]) {
        for forest in forests {
            let works = self.works(forest).into_iter();
            let pairs = works.filter_map(|(process, work, span)| {
                let span = &forest.spans[span? as usize];
                Some((process, Pair::of(span, work)))
            });
            for (process, pair) in pairs.collect::<Vec<_>>() {
                self.all[process].clock.observe(pair);
            }
        }
        self.all
            .iter_mut()
            .for_each(|process| process.clock.settle());
    }

    /// The intervals of a trace's spans.
    pub(crate) fn of(&self, forest: &Forest) -> Joined {
        let mut joined = Joined::default();
        for (process, work, span) in self.works(forest) {
            joined.workers.push((process, span));
            let Some(span) = span else { continue };
            let clock = &self.all[process].clock;
            let offset_ns = clock.correction_ns() + forest.offsets_ns[span as usize];
            let moved = |ns: u64| ns.saturating_add_signed(offset_ns);
            let pieces = work.pieces.iter().map(|piece| Piece {
                from_ns: moved(piece.from_ns),
                to_ns: moved(piece.to_ns),
                ..*piece
            });
            let stretches = joined.stretches.entry(span).or_default();
            stretches.extend(pieces.map(|piece| (process, piece)));
        }
        joined.stretches.values_mut().for_each(in_order);
        joined
    }

    /// Counts the results of joining a trace's intervals; `paths` are the trace's.
    pub(crate) fn count(&mut self, joined: &Joined, paths: &[Vec<Call>]) {
        if joined.workers.is_empty() {
            return;
        }
        let on_paths: HashSet<u32, RandomState> =
            paths.iter().flatten().map(|call| call.span).collect();
        for &(process, span) in &joined.workers {
            let fate = &mut self.all[process].fate;
            let count = match span {
                Some(span) if on_paths.contains(&span) => &mut fate.joined,
                Some(_) => &mut fate.off_path,
                None => &mut fate.without_span,
            };
            *count += 1;
        }
    }

    /// Intervals of a trace, each with its process and its span, where that was received.
    fn works(&self, forest: &Forest) -> Vec<(usize, &Work, Option<u32>)> {
        let of_trace = |process: &'_ Process| process.works.contains_key(&forest.trace());
        if !self.all.iter().any(of_trace) {
            return Vec::new();
        }
        let ids = (0..).zip(&forest.spans).map(|(at, span)| (span.id, at));
        let ids: HashMap<u64, u32, RandomState> = ids.collect();
        let mut works = Vec::new();
        for (at, process) in self.all.iter().enumerate() {
            let of_trace = process.works.get(&forest.trace()).into_iter().flatten();
            works.extend(of_trace.map(|work| {
                let named = ids.get(&work.span);
                (at, work, named.map(|&named| worker(forest, named)))
            }));
        }
        works
    }

    /// Warnings for the user.
    pub(crate) fn warnings(&self) -> Vec<SpansWarning> {
        self.all.iter().flat_map(Process::warnings).collect()
    }
}

/// In order of time, without overlaps: of several intervals of one span at the same time, the one that began first
/// comes first.
fn in_order(stretches: &mut Vec<Stretch>) {
    stretches.sort_by_key(|(_, piece)| piece.from_ns);
    let mut until_ns = 0;
    stretches.retain_mut(|(_, piece)| {
        piece.from_ns = piece.from_ns.max(until_ns);
        until_ns = until_ns.max(piece.to_ns);
        piece.from_ns < piece.to_ns
    });
}

/// The span that did the work of one that was named: of a call to another service, the one by which that answers.
fn worker(forest: &Forest, named: u32) -> u32 {
    let callees = &forest.children[named as usize];
    let is_answer = |&&callee: &&u32| forest.spans[callee as usize].kind == SpanKind::Server;
    let answer = match forest.spans[named as usize].kind {
        SpanKind::Client => callees.iter().find(is_answer),
        _ => None,
    };
    answer.copied().unwrap_or(named)
}
