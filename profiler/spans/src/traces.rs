//! Spans sorted into traces, and traces whose time has come.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::counts::Counts;
use crate::span::Span;

/// Largest number of finished traces that are remembered, so that late spans of theirs are recognised.
const DONE_MAX: usize = 1 << 18;

/// The latest end: clocks are told apart by differences of 64 bits. It is in the year 2262.
const END_MAX_NS: u64 = i64::MAX as u64;

/// A trace so far.
#[derive(Debug, Default)]
struct Open {
    spans: Vec<Span>,
    /// When the last of them came, on the caller's clock.
    touched: u64,
    /// Whether spans are known to be missing; not known while others come.
    lacks_spans: Option<bool>,
}

impl Open {
    /// Whether the trace lacks its root, or the parent of a span. A root is the last of its trace to end, and so to
    /// arrive. A long request would be torn apart otherwise, and long requests are the ones that matter.
    fn lacks_spans(&mut self) -> bool {
        *self.lacks_spans.get_or_insert_with(|| {
            let ids: HashSet<u64, RandomState> = self.spans.iter().map(|span| span.id).collect();
            let parents = self.spans.iter().map(|span| span.parent);
            let is_begun = parents.clone().any(|parent| parent == 0);
            !is_begun
                || parents
                    .filter(|&parent| parent != 0)
                    .any(|parent| !ids.contains(&parent))
        })
    }
}

/// Traces that may still receive spans.
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
        if span.start_ns == 0 || span.end_ns < span.start_ns || span.end_ns > END_MAX_NS {
            counts.invalid += 1;
        } else if self.done.contains(&span.trace) {
            counts.late += 1;
        } else {
            let open = self.open.entry(span.trace).or_default();
            open.touched = now;
            open.lacks_spans = None;
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

    /// Traces that have received no span since `before`, in order of their ends; where spans are missing, since the
    /// earlier `before_lacking`.
    pub fn quiet(&mut self, before: u64, before_lacking: u64) -> Vec<Vec<Span>> {
        let mut quiet = Vec::new();
        for (&trace, open) in &mut self.open {
            let is_long_quiet = open.touched < before_lacking;
            if is_long_quiet || (open.touched < before && !open.lacks_spans()) {
                quiet.push(trace);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn span(trace: u128, id: u64, parent: u64) -> Span {
        Span {
            trace,
            id,
            parent,
            start_ns: 1,
            end_ns: 2,
            ..Span::default()
        }
    }

    /// SDKs send spans some seconds after their end, each service by its own timer: what a request called comes long before its root.
    #[test]
    fn roots_are_waited_for() {
        let (mut traces, mut counts) = (Traces::default(), Counts::default());
        // Whole at once; without its root; with it, but below a span that has not come.
        for (trace, id, parent) in [(1, 1, 0), (1, 2, 1), (2, 2, 1), (3, 1, 0), (3, 3, 2)] {
            traces.add(span(trace, id, parent), 10, &mut counts);
        }
        let quiet = |traces: &mut Traces, before, before_lacking| -> Vec<u128> {
            let quiet = traces.quiet(before, before_lacking);
            quiet.iter().map(|spans| spans[0].trace).collect()
        };
        assert_eq!(quiet(&mut traces, 10, 0), []);
        assert_eq!(quiet(&mut traces, 11, 0), [1]);
        traces.add(span(2, 1, 0), 20, &mut counts);
        assert_eq!(quiet(&mut traces, 20, 10), []);
        assert_eq!(quiet(&mut traces, 21, 10), [2]);
        assert_eq!(quiet(&mut traces, 21, 11), [3]);
        assert_eq!(counts.late, 0);
        traces.add(span(3, 2, 1), 30, &mut counts);
        assert_eq!((counts.late, traces.spans()), (1, 0));
    }
}
