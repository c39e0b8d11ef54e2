//! A critical path as nested slices of time: a flame chart.
//!
//! A span of a critical path knows its whole call path. Neighbours that share the upper calls are in the same slice of those, so a
//! function that waits three times is one slice with three waits below.

use std::collections::HashMap;

use evenkeel_analysis::profile::{Node, Span, Timeline};
use evenkeel_analysis::sites::Kind;

/// Call paths of a tree, as spans name them.
#[derive(Debug)]
pub struct Stacks<'a> {
    by_path: HashMap<String, Vec<&'a Node>>,
}

impl<'a> Stacks<'a> {
    /// Walks the tree once.
    pub fn of(tree: &'a Node) -> Stacks<'a> {
        let mut by_path = HashMap::new();
        let mut open = vec![(step(tree), vec![tree])];
        while let Some((path, stack)) = open.pop() {
            for child in &stack[stack.len() - 1].children {
                let mut below = stack.clone();
                below.push(child);
                open.push((format!("{path} > {}", step(child)), below));
            }
            by_path.insert(path, stack);
        }
        Stacks { by_path }
    }

    /// The calls of a span from the root down; itself alone, where the tree does not have its path.
    pub fn frames(&self, span: &Span) -> Vec<CallFrame<'a>> {
        match self.by_path.get(&span.path) {
            Some(stack) => stack.iter().map(|&node| CallFrame::of(node)).collect(),
            None => vec![CallFrame {
                name: span.name.clone(),
                site: "",
                file: None,
                line: None,
                kind: span.kind,
            }],
        }
    }
}

/// A step of a path, as in the analysis' paths: the name and, where there is one, the call site.
fn step(node: &Node) -> String {
    if node.site.is_empty() {
        node.name.clone()
    } else {
        format!("{} [{}]", node.name, node.site)
    }
}

/// A call of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFrame<'a> {
    /// Name of the node.
    pub name: String,
    /// Call site, if it has one.
    pub site: &'a str,
    /// Source file of the call.
    pub file: Option<&'a str>,
    /// Line of the call.
    pub line: Option<u32>,
    /// The kind of its time.
    pub kind: Kind,
}

impl<'a> CallFrame<'a> {
    /// A node of the tree.
    pub fn of(node: &'a Node) -> CallFrame<'a> {
        CallFrame {
            name: node.name.clone(),
            site: &node.site,
            file: node.file.as_deref(),
            line: node.line,
            kind: node.kind,
        }
    }

    /// Whether somebody or something is waited for here.
    pub fn waits(&self) -> bool {
        self.kind.is_wait()
            || matches!(
                self.kind,
                Kind::Idle | Kind::Queued | Kind::Turn | Kind::Asleep | Kind::Fault
            )
    }
}

/// A stretch of time in a call, with the calls below it inside.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// The call.
    pub frame: CallFrame<'a>,
    /// Index of the slice around it, which comes before it.
    pub parent: Option<usize>,
    /// Since the interval's beginning, whole nanoseconds.
    pub from_ns: u64,
    /// When it ends, since the same moment, whole nanoseconds.
    pub to_ns: u64,
    /// Index into [`Timeline::lanes`] of the thread on which it began.
    pub lane: usize,
}

/// Slices in the order in which they begin, outer ones first.
pub fn slices<'a>(timeline: &Timeline, stacks: &Stacks<'a>) -> Vec<Slice<'a>> {
    let mut slices: Vec<Slice<'a>> = Vec::new();
    // Indices of the slices that are open, outermost first.
    let mut open: Vec<usize> = Vec::new();
    for span in &timeline.spans {
        let (from_ns, to_ns) = (whole(span.from_ns), whole(span.to_ns));
        let frames = stacks.frames(span);
        let same = |pair: &(&usize, &CallFrame<'_>)| slices[*pair.0].frame == *pair.1;
        let kept = open.iter().zip(&frames).take_while(same).count();
        open.truncate(kept);
        for &at in &open {
            slices[at].to_ns = to_ns;
        }
        for frame in frames.into_iter().skip(kept) {
            slices.push(Slice {
                frame,
                parent: open.last().copied(),
                from_ns,
                to_ns,
                lane: span.lane,
            });
            open.push(slices.len() - 1);
        }
    }
    slices
}

/// Whole nanoseconds.
pub fn whole(ns: f64) -> u64 {
    ns.max(0.0).round() as u64
}

/// Beginnings and ends in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The slice with this index begins.
    Begin(usize),
    /// It ends.
    End(usize),
}

/// Every slice's beginning and end, properly nested: what ends at a moment does so before anything begins there.
pub fn boundaries(slices: &[Slice<'_>]) -> Vec<Boundary> {
    let mut boundaries = Vec::with_capacity(2 * slices.len());
    let mut open: Vec<usize> = Vec::new();
    for (at, slice) in slices.iter().enumerate() {
        while let Some(&last) = open.last().filter(|&&last| Some(last) != slice.parent) {
            boundaries.push(Boundary::End(last));
            open.pop();
        }
        boundaries.push(Boundary::Begin(at));
        open.push(at);
    }
    boundaries.extend(open.into_iter().rev().map(Boundary::End));
    boundaries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, children: Vec<Node>) -> Node {
        Node {
            name: name.into(),
            children,
            ..Node::default()
        }
    }

    /// The order is root, f with g in it, f alone, and root again. f is one slice of 3 ns, g one of 1.
    #[test]
    fn neighbours_share_their_calls() {
        let tree = node("root", vec![node("f", vec![node("g", vec![])])]);
        let span = |from: u32, path: &str| Span {
            from_ns: from.into(),
            to_ns: f64::from(from) + 1.0,
            path: path.into(),
            ..Span::default()
        };
        let timeline = Timeline {
            spans: vec![
                span(0, "root"),
                span(1, "root > f"),
                span(2, "root > f > g"),
                span(3, "root > f"),
                span(4, "root"),
            ],
            ..Timeline::default()
        };
        let slices = slices(&timeline, &Stacks::of(&tree));
        let seen: Vec<_> = slices
            .iter()
            .map(|slice| (slice.frame.name.as_str(), slice.from_ns, slice.to_ns))
            .collect();
        assert_eq!(seen, [("root", 0, 5), ("f", 1, 4), ("g", 2, 3)]);
        use Boundary::{Begin, End};
        let expected = [Begin(0), Begin(1), Begin(2), End(2), End(1), End(0)];
        assert_eq!(boundaries(&slices), expected);
    }
}
