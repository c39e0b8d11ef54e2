//! The critical path of a request through its spans.
//!
//! The path is defined as in CRISP (Zhang et al., "CRISP: Critical Path Analysis of Large-Scale Microservice
//! Architectures", USENIX ATC 2022, section 4). Of a span's children the one that ends last is on the path. Then
//! comes the one that ends last among those that end before it begins, and so on. The same holds within each of them.
//! Time that no child covers is the span's own. Of parallel calls the longest counts, and of a chain of retries each
//! does. An overlap of two children by up to `TOLERANCE` of the parent's time is taken for inexact clocks, if no
//! other child begins or ends in it.
//!
//! There is one difference: CRISP cuts a child that outlives its parent to the parent's end. Here a child is cut in two
//! cases: the parent waits for it (a client for its server, which may have timed out), or the excess is within the
//! tolerance. Otherwise the parent ended without waiting: the child is asynchronous, and did not delay the request.
//!
//! Written iteratively: traces are as deep as somebody's recursion.

use crate::counts::Counts;
use crate::span::{Span, SpanKind};
use crate::tree::Forest;

/// Part of the parent's time that children may overlap, or reach beyond it.
pub(crate) const TOLERANCE: f64 = 0.01;

/// A span on a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index in [`Forest::spans`].
    pub span: u32,
    /// Index of the call that it is within, in the path; its own for the root.
    pub within: u32,
    /// From, nanoseconds.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
}

/// The critical path of the request that `root` begins: spans, each after its parent. The calls of a span come last
/// first, each followed by all that is within it.
pub fn path(forest: &Forest, root: u32, counts: &mut Counts) -> Vec<Call> {
    let span = &forest.spans[root as usize];
    let mut path = Vec::new();
    let mut next = vec![Call {
        span: root,
        within: 0,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
    }];
    while let Some(call) = next.pop() {
        let at = path.len() as u32;
        path.push(call);
        let mut on_path = calls(forest, call, counts);
        // The last in time is to come off first.
        on_path.reverse();
        next.extend(on_path.into_iter().map(|inner| Call {
            within: at,
            ..inner
        }));
    }
    path
}

/// The calls of one span that are on the path, the last in time first.
fn calls(forest: &Forest, parent: Call, counts: &mut Counts) -> Vec<Call> {
    let of_parent = &forest.spans[parent.span as usize];
    let children = &forest.children[parent.span as usize];
    if children.is_empty() {
        return Vec::new();
    }
    let tolerance_ns = ((parent.end_ns - parent.start_ns) as f64 * TOLERANCE) as u64;
    let mut waited: Vec<(u32, u64, u64)> = Vec::with_capacity(children.len());
    for &child in children {
        let span = &forest.spans[child as usize];
        match within(of_parent, parent, span, tolerance_ns) {
            Some((start_ns, end_ns)) => {
                counts.cut += u64::from((start_ns, end_ns) != (span.start_ns, span.end_ns));
                waited.push((child, start_ns, end_ns));
            }
            None => counts.asynchronous += 1,
        }
    }
    waited.sort_by_key(|&(_, start_ns, end_ns)| std::cmp::Reverse((end_ns, start_ns)));
    let mut starts: Vec<u64> = waited.iter().map(|&(_, start_ns, _)| start_ns).collect();
    starts.sort_unstable();
    let mut on_path: Vec<Call> = Vec::new();
    for (place, &(child, start_ns, end_ns)) in waited.iter().enumerate() {
        let end_ns = match on_path.last() {
            None => end_ns,
            Some(later) if end_ns <= later.start_ns => end_ns,
            Some(later) => {
                let overlap = (later.start_ns, end_ns);
                let is_small = end_ns - later.start_ns <= tolerance_ns;
                let in_order = start_ns < later.start_ns && end_ns < later.end_ns;
                if !is_small || !in_order || !is_alone(&waited, place, &starts, overlap) {
                    continue;
                }
                later.start_ns
            }
        };
        on_path.push(Call {
            span: child,
            within: 0,
            start_ns,
            end_ns,
        });
    }
    on_path
}

/// The part of a child's time that lies within its parent's; `None` if the parent does not wait for it.
fn within(of_parent: &Span, parent: Call, child: &Span, tolerance_ns: u64) -> Option<(u64, u64)> {
    let follows =
        child.follows || (of_parent.kind == SpanKind::Producer && child.kind == SpanKind::Consumer);
    let is_answer = of_parent.kind == SpanKind::Client && child.kind == SpanKind::Server;
    let beyond_ns = child.end_ns.saturating_sub(of_parent.end_ns);
    let starts_inside = child.start_ns < parent.end_ns && child.end_ns > parent.start_ns;
    let is_point = child.start_ns == child.end_ns;
    if follows || (beyond_ns > tolerance_ns && !is_answer) || !(starts_inside || is_point) {
        return None;
    }
    let start_ns = child.start_ns.clamp(parent.start_ns, parent.end_ns);
    Some((start_ns, child.end_ns.clamp(start_ns, parent.end_ns)))
}

/// Whether no other child begins or ends while these two overlap. `waited` is in order of the ends, the last first.
fn is_alone(
    waited: &[(u32, u64, u64)],
    place: usize,
    starts: &[u64],
    (from, to): (u64, u64),
) -> bool {
    let begin = starts.partition_point(|&start| start < from);
    let begun = starts[begin..]
        .iter()
        .take_while(|&&start| start <= to)
        .count();
    let inside = |&&(_, _, end): &&(u32, u64, u64)| (from..=to).contains(&end);
    let ends_before = waited[..place].iter().rev().take_while(inside).count();
    let ends_after = waited[place + 1..].iter().take_while(inside).count();
    // One begins there: the later of the two.
    begun == 1 && ends_before == 0 && ends_after == 0
}
