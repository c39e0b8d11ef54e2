//! From traces to the records of intervals.

use std::collections::{HashMap, HashSet};

use evenkeel_analysis::findings::warnings::SpansWarning;
use evenkeel_analysis::sites::{Kind, Site, SiteTable};
use evenkeel_wire::record::DURATION_BITS;
use evenkeel_wire::record::LABEL_CHUNK;
use evenkeel_wire::{Marker, Record};
use foldhash::fast::RandomState;

use crate::clocks::Clocks;
use crate::counts::Counts;
use crate::critical::{self, Call};
use crate::join::steps::{Step, What, steps};
use crate::join::{Joined, Processes};
use crate::names::Names;
use crate::span::{Span, SpanKind};
use crate::tree::Forest;

/// Name of the interval.
pub const INTERVAL: &str = "request";
/// The plan that all intervals are of: the first, with probes.
const STAMP: u64 = 1 << 1 | 1;
/// No operation: the request itself.
const NOBODY: u32 = u32::MAX;

/// A request, as records of one interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its trace.
    pub trace: u128,
    /// When it ended, nanoseconds since 1970.
    pub end_ns: u64,
    /// A tick is a nanosecond since 1970.
    pub records: Vec<Record>,
}

/// A call of an operation or function by another.
#[derive(Clone, Debug, Default)]
struct Called {
    caller: u32,
    callee: u32,
    kind: Kind,
    file: Option<String>,
    line: Option<u32>,
}

/// Makes requests of traces.
#[derive(Debug, Default)]
pub struct Converter {
    /// Names of operations and clocks.
    pub names: Names,
    /// Counts of spans and requests.
    pub counts: Counts,
    /// Knowledge about the hosts' clocks.
    pub clocks: Clocks,
    /// Profiled processes whose functions go into the paths; before the first conversion.
    pub processes: Processes,
    /// By process, function and the span's operation: the function's.
    functions: HashMap<(usize, u32, u32), u32, RandomState>,
    /// By caller's operation and callee's.
    sites: HashMap<(u32, u32), u32, RandomState>,
    /// By site.
    calls: Vec<Called>,
    /// By operation: longest chain of calls below it that was met.
    heights: Vec<u32>,
}

impl Converter {
    /// The requests of some traces, in order of their ends. Clocks are corrected by all that is known by then.
    pub fn convert(&mut self, traces: Vec<Vec<Span>>) -> Vec<Request> {
        let counts = &mut self.counts;
        let forests = traces.into_iter().map(|spans| Forest::new(spans, counts));
        let mut forests: Vec<Forest> = forests.collect();
        for forest in &forests {
            forest.observe(&mut self.clocks);
        }
        self.clocks.settle();
        self.processes.observe(&forests);
        let mut found = Vec::with_capacity(forests.len());
        for forest in &mut forests {
            forest.align(&self.clocks);
            let joined = self.processes.of(forest);
            let roots = forest.roots.iter();
            let paths = roots.filter_map(|&root| path(forest, root, &mut self.counts));
            let paths: Vec<Vec<Call>> = paths.collect();
            self.processes.count(&joined, &paths);
            found.push((joined, paths));
        }
        let opened = opened(&forests, &found);
        let mut requests = Vec::with_capacity(forests.len());
        for (forest, (joined, paths)) in forests.iter().zip(&found) {
            for path in paths {
                if joined.lacks(forest, path, &opened) {
                    self.counts.not_joined += 1;
                } else {
                    requests.push(self.request(forest, path, joined));
                }
            }
        }
        requests.sort_by_key(|request| request.end_ns);
        requests
    }

    fn request(&mut self, forest: &Forest, path: &[Call], joined: &Joined) -> Request {
        self.counts.requests += 1;
        let span = &forest.spans[path[0].span as usize];
        let path = steps(path, joined, &self.processes);
        let operations: Vec<u32> = path
            .iter()
            .map(|step| self.operation(forest, step))
            .collect();
        self.note_heights(&operations, &path);
        let mut records = Vec::with_capacity(path.len() + 8);
        records.push(Record::marker(Marker::Begin, span.start_ns, STAMP));
        let label = self.names.of_operation(span.operation).as_bytes();
        records.extend(label.chunks(LABEL_CHUNK).map(Record::from_label_chunk));
        // Calls are recorded when they return: the path from its end is in that order.
        for (at, step) in path.iter().enumerate().rev() {
            let caller = match at {
                0 => NOBODY,
                _ => operations[step.within as usize],
            };
            let site = self.site(caller, operations[at], forest, step.what);
            let duration_ns = step.end_ns - step.start_ns;
            records.push(Record::new(step.start_ns, duration_ns, site));
        }
        records.push(Record::marker(Marker::End, span.end_ns, STAMP));
        Request {
            trace: span.trace,
            end_ns: span.end_ns,
            records,
        }
    }

    /// The operation of a step; a function belongs to the service whose span it serves.
    fn operation(&mut self, forest: &Forest, step: &Step) -> u32 {
        match step.what {
            What::Span(span) => forest.spans[span as usize].operation,
            What::Function {
                process,
                function,
                span,
            } => {
                let of_span = forest.spans[span as usize].operation;
                let Converter {
                    names,
                    functions,
                    processes,
                    ..
                } = self;
                let number = functions.entry((process, function, of_span));
                *number.or_insert_with(|| {
                    let function = &processes.all[process].functions[function as usize];
                    names.function(of_span, &function.name, function.is_call)
                })
            }
        }
    }

    fn site(&mut self, caller: u32, callee: u32, forest: &Forest, what: What) -> u32 {
        let Converter {
            sites,
            calls,
            processes,
            ..
        } = self;
        *sites.entry((caller, callee)).or_insert_with(|| {
            let called = match what {
                What::Span(span) => Called {
                    // Of a client's time what its server does not explain is spent on the way, or in a service that is not traced.
                    kind: match forest.spans[span as usize].kind {
                        SpanKind::Client => Kind::Socket,
                        _ => Kind::Call,
                    },
                    ..Called::default()
                },
                What::Function {
                    process, function, ..
                } => {
                    let function = &processes.all[process].functions[function as usize];
                    Called {
                        kind: function.kind,
                        file: function.file.clone(),
                        line: function.line,
                        ..Called::default()
                    }
                }
            };
            calls.push(Called {
                caller,
                callee,
                ..called
            });
            calls.len() as u32 - 1
        })
    }

    fn note_heights(&mut self, operations: &[u32], path: &[Step]) {
        let mut below = vec![0; path.len()];
        for (at, call) in path.iter().enumerate().rev() {
            let operation = operations[at] as usize;
            if self.heights.len() <= operation {
                self.heights.resize(operation + 1, 0);
            }
            self.heights[operation] = self.heights[operation].max(below[at]);
            let within = call.within as usize;
            if within < at {
                below[within] = below[within].max(below[at] + 1);
            }
        }
    }

    /// Call sites met so far, by probe id. Their heights may grow.
    pub fn sites(&self) -> SiteTable {
        let name = |operation: u32| match operation {
            NOBODY => INTERVAL,
            operation => self.names.of_operation(operation),
        };
        let height = |operation: u32| self.heights.get(operation as usize).copied().unwrap_or(0);
        let site = |called: &Called| Site {
            callee: name(called.callee).to_owned(),
            caller: name(called.caller).to_owned(),
            site: format!("{} > {}", name(called.caller), name(called.callee)),
            file: called.file.clone(),
            line: called.line,
            kind: called.kind,
            height: height(called.callee),
            ..Site::default()
        };
        SiteTable {
            root: INTERVAL.to_owned(),
            root_height: self.heights.iter().max().map_or(0, |height| height + 1),
            sites: self.calls.iter().map(site).collect(),
        }
    }

    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<SpansWarning> {
        let mut warnings = self.counts.warnings();
        warnings.extend(self.clocks.corrections(&self.names));
        warnings.extend(self.processes.warnings());
        warnings.extend(self.names.warnings());
        warnings
    }
}

/// The critical path of a request, the request first; nothing where it is too long for a record.
fn path(forest: &Forest, root: u32, counts: &mut Counts) -> Option<Vec<Call>> {
    let span = &forest.spans[root as usize];
    if (span.end_ns - span.start_ns) >> DURATION_BITS != 0 {
        counts.too_long += 1;
        return None;
    }
    Some(critical::path(forest, root, counts))
}

/// Operations into whose functions a process leads, somewhere on the paths.
fn opened(forests: &[Forest], found: &[(Joined, Vec<Vec<Call>>)]) -> HashSet<u32, RandomState> {
    let all = forests.iter().zip(found);
    all.flat_map(|(forest, (joined, paths))| {
        let spans = paths.iter().flatten().map(|call| call.span);
        let spans = spans.filter(|span| joined.stretches.contains_key(span));
        spans.map(|span| forest.spans[span as usize].operation)
    })
    .collect()
}
