//! Spans sorted into traces, and traces whose time has come.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::counts::Counts;
use crate::span::Span;

/// Numbers of traces that were dealt with are remembered, at most so many, to know their latecomers.
const DONE_MAX: usize = 1 << 18;

/// One trace so far.
#[derive(Debug, Default)]
struct Open {
    spans: Vec<Span>,
    /// When the last of them came, on the caller's clock.
    touched: u64,
}

/// Traces of which spans may still come.
#[derive(Debug, Default)]
pub struct Traces {
    open: HashMap<u128, Open, RandomState>,
    done: HashSet<u128, RandomState>,
}

impl Traces {
    /// Takes a span at the moment `now`, on any clock.
    pub fn add(&mut self, span: Span, now: u64, counts: &mut Counts) {
        counts.spans += 1;
        counts.failed += u64::from(span.failed);
        if span.start_ns == 0 || span.end_ns < span.start_ns {
            counts.invalid += 1;
        } else if self.done.contains(&span.trace) {
            counts.late += 1;
        } else {
            let open = self.open.entry(span.trace).or_default();
            open.touched = now;
            open.spans.push(span);
        }
    }

    /// Whether spans of this trace have come, and it is open.
    pub fn has(&self, trace: u128) -> bool {
        self.open.contains_key(&trace)
    }

    /// Spans of traces that are open.
    pub fn spans(&self) -> usize {
        self.open.values().map(|open| open.spans.len()).sum()
    }

    /// All traces, in order of their ends.
    pub fn finish(&mut self) -> Vec<Vec<Span>> {
        in_order(self.open.drain().map(|(_, open)| open.spans).collect())
    }

    /// Those to which no span has come since `before`, in order of their ends.
    pub fn quiet(&mut self, before: u64) -> Vec<Vec<Span>> {
        let is_quiet = |open: &Open| open.touched < before;
        let quiet: Vec<u128> = self
            .open
            .iter()
            .filter(|(_, open)| is_quiet(open))
            .map(|(&trace, _)| trace)
            .collect();
        if self.done.len() + quiet.len() > DONE_MAX {
            self.done.clear();
        }
        let mut traces = Vec::with_capacity(quiet.len());
        for trace in quiet {
            self.done.insert(trace);
            traces.extend(self.open.remove(&trace).map(|open| open.spans));
        }
        in_order(traces)
    }
}

/// In order of the end of the longest span: that of the root, nearly always.
fn in_order(mut traces: Vec<Vec<Span>>) -> Vec<Vec<Span>> {
    traces.sort_by_cached_key(|spans| {
        let longest = spans.iter().max_by_key(|span| span.end_ns - span.start_ns);
        longest.map(|span| (span.end_ns, span.trace))
    });
    traces
}
