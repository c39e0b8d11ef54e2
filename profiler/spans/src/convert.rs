//! From traces to the records of intervals.

use std::collections::HashMap;

use evenkeel_analysis::sites::{Kind as SiteKind, Site, SiteTable};
use evenkeel_wire::record::DURATION_BITS;
use evenkeel_wire::record::LABEL_CHUNK;
use evenkeel_wire::{Marker, Record};
use foldhash::fast::RandomState;

use crate::clocks::Clocks;
use crate::counts::Counts;
use crate::critical::{self, Call};
use crate::names::Names;
use crate::span::{Kind, Span};
use crate::tree::Forest;

/// Name of the interval.
pub const INTERVAL: &str = "request";
/// The plan that all intervals are of: the first, with probes.
const STAMP: u64 = 1 << 1 | 1;
/// No operation: the request itself.
const NOBODY: u32 = u32::MAX;

/// One request, as records of one interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its trace.
    pub trace: u128,
    /// When it ended, nanoseconds since 1970.
    pub end_ns: u64,
    /// A tick is a nanosecond since 1970.
    pub records: Vec<Record>,
}

/// Makes requests of traces.
#[derive(Debug, Default)]
pub struct Converter {
    /// Names of operations and clocks.
    pub names: Names,
    /// What was met.
    pub counts: Counts,
    /// What is known of the hosts' clocks.
    pub clocks: Clocks,
    /// By caller's operation and callee's.
    sites: HashMap<(u32, u32), u32, RandomState>,
    /// By site: caller, callee, kind.
    calls: Vec<(u32, u32, SiteKind)>,
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
        let mut requests = Vec::with_capacity(forests.len());
        for forest in &mut forests {
            forest.align(&self.clocks);
            for &root in &forest.roots {
                requests.extend(self.request(forest, root));
            }
        }
        requests.sort_by_key(|request| request.end_ns);
        requests
    }

    fn request(&mut self, forest: &Forest, root: u32) -> Option<Request> {
        let span = &forest.spans[root as usize];
        if (span.end_ns - span.start_ns) >> DURATION_BITS != 0 {
            self.counts.too_long += 1;
            return None;
        }
        self.counts.requests += 1;
        let path = critical::path(forest, root, &mut self.counts);
        self.note_heights(forest, &path);
        let mut records = Vec::with_capacity(path.len() + 8);
        records.push(Record::marker(Marker::Begin, span.start_ns, STAMP));
        let label = self.names.of_operation(span.operation).as_bytes();
        records.extend(label.chunks(LABEL_CHUNK).map(Record::from_label_chunk));
        // Calls are recorded when they return: the path from its end is in that order.
        for (at, call) in path.iter().enumerate().rev() {
            let called = &forest.spans[call.span as usize];
            let caller = match at {
                0 => NOBODY,
                _ => forest.spans[path[call.within as usize].span as usize].operation,
            };
            let site = self.site(caller, called);
            records.push(Record::new(
                call.start_ns,
                call.end_ns - call.start_ns,
                site,
            ));
        }
        records.push(Record::marker(Marker::End, span.end_ns, STAMP));
        Some(Request {
            trace: span.trace,
            end_ns: span.end_ns,
            records,
        })
    }

    fn site(&mut self, caller: u32, called: &Span) -> u32 {
        let calls = &mut self.calls;
        *self
            .sites
            .entry((caller, called.operation))
            .or_insert_with(|| {
                // Of a client's time what its server does not explain is spent on the way, or in a service that is not traced.
                let kind = match called.kind {
                    Kind::Client => SiteKind::Socket,
                    _ => SiteKind::Call,
                };
                calls.push((caller, called.operation, kind));
                calls.len() as u32 - 1
            })
    }

    fn note_heights(&mut self, forest: &Forest, path: &[Call]) {
        let mut below = vec![0; path.len()];
        for (at, call) in path.iter().enumerate().rev() {
            let operation = forest.spans[call.span as usize].operation as usize;
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
        let site = |&(caller, callee, kind): &(u32, u32, SiteKind)| Site {
            callee: name(callee).to_owned(),
            caller: name(caller).to_owned(),
            site: format!("{} > {}", name(caller), name(callee)),
            kind,
            height: height(callee),
            ..Site::default()
        };
        SiteTable {
            root: INTERVAL.to_owned(),
            root_height: self.heights.iter().max().map_or(0, |height| height + 1),
            sites: self.calls.iter().map(site).collect(),
        }
    }

    /// What the user should know.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.counts.warnings();
        warnings.extend(self.clocks.corrections(&self.names));
        if self.names.beyond > 0 {
            warnings.push(format!(
                "{} spans are of more operations than are told apart and count as their service's other operations: their names hold what \
                 differs from request to request",
                self.names.beyond
            ));
        }
        warnings
    }
}
