//! Callers and callees in a trace.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::clocks::Clocks;
use crate::counts::Counts;
use crate::span::{Span, SpanKind};

/// A trace as trees, one a request.
#[derive(Debug, Default)]
pub struct Forest {
    /// Spans, each once; times of those that are reached from a root are by the root's clock.
    pub spans: Vec<Span>,
    /// By span: those it called, in order of their start.
    pub children: Vec<Vec<u32>>,
    /// Spans that begin a request.
    pub roots: Vec<u32>,
    /// By span: what was added to its times to bring them to the root's clock.
    pub offsets_ns: Vec<i64>,
}

impl Forest {
    /// Determines the caller of each span.
    pub fn new(mut spans: Vec<Span>, counts: &mut Counts) -> Forest {
        let mut by_id: HashMap<u64, u32, RandomState> = HashMap::default();
        let before = spans.len();
        spans.retain(|span| {
            let next = by_id.len() as u32;
            *by_id.entry(span.id).or_insert(next) == next
        });
        counts.duplicates += (before - spans.len()) as u64;
        let mut children = vec![Vec::new(); spans.len()];
        let (mut roots, mut orphans) = (Vec::new(), Vec::new());
        for (at, span) in (0..).zip(&spans) {
            match (span.parent, by_id.get(&span.parent)) {
                (0, _) => roots.push(at),
                (_, Some(&parent)) if parent != at => children[parent as usize].push(at),
                (_, Some(_)) => {}
                (_, None) => orphans.push(at),
            }
        }
        for of_one in &mut children {
            of_one.sort_by_key(|&at| spans[at as usize].start_ns);
        }
        let mut forest = Forest {
            offsets_ns: vec![0; spans.len()],
            spans,
            children,
            roots,
        };
        forest.adopt(&orphans, counts);
        counts.cycles += forest.unreached(&orphans);
        counts.traces += 1;
        counts.rootless += u64::from(forest.roots.is_empty());
        forest
    }

    /// The trace.
    pub fn trace(&self) -> u128 {
        self.spans.first().map_or(0, |span| span.trace)
    }

    /// Where nothing began the trace, a service that was called from outside of what is recorded did: all others must lie within
    /// that call.
    fn adopt(&mut self, orphans: &[u32], counts: &mut Counts) {
        let span = |at: u32| &self.spans[at as usize];
        let called = |&at: &u32| matches!(span(at).kind, SpanKind::Server | SpanKind::Consumer);
        let longest = orphans.iter().copied().filter(called);
        let longest = longest.max_by_key(|&at| span(at).end_ns - span(at).start_ns);
        match longest.filter(|_| self.roots.is_empty()) {
            Some(root) => {
                self.roots.push(root);
                counts.remote_roots += 1;
                counts.orphans += orphans.len() as u64 - 1;
            }
            None => counts.orphans += orphans.len() as u64,
        }
    }

    /// Spans that neither a root nor an orphan leads to.
    fn unreached(&self, orphans: &[u32]) -> u64 {
        let mut reached = vec![false; self.spans.len()];
        let mut next: Vec<u32> = self.roots.iter().chain(orphans).copied().collect();
        while let Some(at) = next.pop() {
            if !std::mem::replace(&mut reached[at as usize], true) {
                next.extend(&self.children[at as usize]);
            }
        }
        reached.iter().filter(|reached| !**reached).count() as u64
    }

    /// Calls across clocks, with what they show of these.
    pub fn observe(&self, clocks: &mut Clocks) {
        for (parent, children) in self.spans.iter().zip(&self.children) {
            for &child in children {
                clocks.observe(parent, &self.spans[child as usize]);
            }
        }
    }

    /// Brings the times of all spans below a root to the root's clock.
    pub fn align(&mut self, clocks: &Clocks) {
        let mut next: Vec<(u32, i64)> = self.roots.iter().map(|&root| (root, 0)).collect();
        while let Some((at, offset_ns)) = next.pop() {
            let own_clock = self.spans[at as usize].clock;
            for &child in &self.children[at as usize] {
                let its_clock = self.spans[child as usize].clock;
                let offset = offset_ns.saturating_add(clocks.offset_ns(own_clock, its_clock));
                self.offsets_ns[child as usize] = offset;
                let span = &mut self.spans[child as usize];
                span.start_ns = span.start_ns.saturating_add_signed(offset);
                span.end_ns = span.end_ns.saturating_add_signed(offset);
                next.push((child, offset));
            }
        }
    }
}
