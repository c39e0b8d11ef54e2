//! The variance tree's elements. Each node is the sum of its parts: its timed calls and its body (dissertation
//! 2.3.2.1, equation 2.1). Its variance is the sum of their variances and covariances (equation 2.2).

use crate::critical::states::State;
use crate::findings::call_path::CallPath;
use crate::findings::not_opened::NotOpened;
use crate::sites::{Function, Kind, Site};
use crate::sums::Sums;
use crate::sums::histogram::Tail;
use crate::sums::node_names::NodeNames;
use crate::sums::paths::{PROBES, Paths, ROOT};

/// An element of the variance tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A call path with everything below it.
    Call(u32),
    /// The time at a call path itself, outside its timed calls.
    Body(u32),
}

impl Part {
    /// The node whose time, or whose body's time, this is.
    pub fn node(self) -> u32 {
        match self {
            Part::Call(node) | Part::Body(node) => node,
        }
    }

    /// Its number in a profile, as [`crate::profile::Node::id`].
    pub fn id(self) -> u32 {
        match self {
            Part::Call(node) => 2 * node,
            Part::Body(node) => 2 * node + 1,
        }
    }

    /// (n - 1) times the sample variance, ticks^2.
    pub fn moment(self, sums: &Sums) -> f64 {
        match self {
            Part::Call(node) => sums.inclusive_moment(node),
            Part::Body(node) => sums.exclusive_moment(node),
        }
    }

    /// (n - 1) times the sample covariance with the latency, ticks^2.
    pub(crate) fn latency_moment(self, sums: &Sums) -> f64 {
        match self {
            Part::Call(node) => sums.inclusive_latency_moment(node),
            Part::Body(node) => sums.exclusive_latency_moment(node),
        }
    }

    /// Sum over intervals, ticks.
    pub fn sum(self, sums: &Sums) -> i128 {
        match self {
            Part::Call(node) => sums.node(node).inclusive,
            Part::Body(node) => sums.node(node).exclusive,
        }
    }
}

/// What a function's own time is called: where all of its calls are timed, where some are not, and beside waits where
/// none is, so that which calls it made is not known.
pub(crate) fn own_time_names(function: &str) -> [String; 3] {
    [
        format!("body of {function}"),
        format!("{function} (not expanded)"),
        format!("{function} itself"),
    ]
}

/// (n - 1) times the sample covariance of two parts of one node, ticks^2.
pub(crate) fn pair_moment(sums: &Sums, paths: &Paths, a: Part, b: Part) -> f64 {
    match (a, b) {
        (Part::Call(a), Part::Call(b)) => sums.pair_moment(paths, a, b),
        (Part::Call(call), Part::Body(_)) | (Part::Body(_), Part::Call(call)) => {
            sums.body_pair_moment(paths, call)
        }
        (Part::Body(_), Part::Body(_)) => unreachable!("a node has one body"),
    }
}

/// The call paths that were taken, with their names.
#[derive(Debug)]
pub struct VarianceTree<'a> {
    /// All call paths.
    pub paths: &'a Paths,
    /// Sums over all intervals.
    pub total: &'a Sums,
    names: NodeNames<'a>,
    not_opened: Option<&'a NotOpened>,
    children: Vec<Vec<u32>>,
}

impl<'a> VarianceTree<'a> {
    /// The tree of the paths with calls in `total`: a path may have been met only in intervals that were left out.
    pub fn new(names: NodeNames<'a>, total: &'a Sums) -> VarianceTree<'a> {
        let paths = names.paths;
        let mut children = vec![Vec::new(); paths.all().len()];
        for (node, path) in paths.all().iter().enumerate().skip(1) {
            if total.node(node as u32).calls > 0 {
                children[path.parent as usize].push(node as u32);
            }
        }
        VarianceTree {
            paths,
            total,
            names,
            not_opened: None,
            children,
        }
    }

    /// The tree with names of own time that tell whether all calls of the function are timed.
    pub fn with_not_opened(self, not_opened: &'a NotOpened) -> VarianceTree<'a> {
        VarianceTree {
            not_opened: Some(not_opened),
            ..self
        }
    }

    /// Names of the calls.
    pub fn names(&self) -> &NodeNames<'a> {
        &self.names
    }

    /// The state of a node that is no call.
    pub fn state(&self, node: u32) -> Option<State> {
        self.paths.get(node).state
    }

    /// Timed calls made by a node.
    pub fn children(&self, node: u32) -> &[u32] {
        &self.children[node as usize]
    }

    /// Whether calls made by a node itself are timed; else it is a leaf of the tree, however much it waited.
    pub fn is_opened(&self, node: u32) -> bool {
        let mut children = self.children(node).iter();
        children.any(|&child| child != PROBES && self.state(child).is_none())
    }

    /// Parts of a node: its timed calls, then its body. A node without timed calls has none: it is its own body.
    pub fn parts(&self, node: u32) -> Vec<Part> {
        let calls = self.children(node).iter().map(|&child| Part::Call(child));
        let body = (!self.children(node).is_empty()).then_some(Part::Body(node));
        calls.chain(body).collect()
    }

    /// Sum of a part over a tail, ticks.
    pub(crate) fn in_tail(&self, tail: &Tail, part: Part) -> i128 {
        match part {
            Part::Call(node) => tail.inclusive(node),
            Part::Body(node) => {
                let calls = self.children(node).iter();
                tail.inclusive(node) - calls.map(|&child| tail.inclusive(child)).sum::<i128>()
            }
        }
    }

    /// t = (E[X | L >= q] - E[X]) / (E[L | L >= q] - E[L]), of parts with these sums of ticks. Absent where the tail is
    /// not slower than the rest.
    pub(crate) fn tail_share(&self, tail: &Tail, in_tail: i128, in_all: i128) -> Option<f64> {
        let (all, of_tail) = (self.total.intervals, tail.intervals);
        // Over the common denominator, so that parts add up exactly before the one division.
        let excess =
            |in_tail: i128, in_all: i128| in_tail * i128::from(all) - in_all * i128::from(of_tail);
        let whole = excess(tail.inclusive(ROOT), self.total.latency);
        (whole > 0).then(|| excess(in_tail, in_all) as f64 / whole as f64)
    }

    /// Every node that was taken, parents before children, the root first.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        let taken = |&node: &u32| node == ROOT || self.total.node(node).calls > 0;
        (0..self.paths.all().len() as u32).filter(taken)
    }

    /// Every part of the tree, the root first.
    pub(crate) fn all_parts(&self) -> Vec<Part> {
        let below = self.nodes().flat_map(|node| self.parts(node));
        std::iter::once(Part::Call(ROOT)).chain(below).collect()
    }

    /// Site of a node's call; nothing at the root, at `PROBES`, and for a probe id the table does not know.
    pub fn site(&self, node: u32) -> Option<&'a Site> {
        self.names.site(node)
    }

    /// Height of a part's function in the static call graph; 0 for bodies: nothing is below them.
    pub fn height(&self, part: Part) -> u32 {
        match part {
            Part::Call(ROOT) => self.names.sites.root_height,
            Part::Call(node) => self.site(node).map_or(0, |site| site.height),
            Part::Body(_) => 0,
        }
    }

    /// The kind of a part's time.
    pub fn kind(&self, part: Part) -> Kind {
        match part {
            Part::Call(PROBES) => Kind::Probe,
            Part::Call(node) => match self.state(node) {
                Some(state) => state.kind(),
                None => self.site(node).map_or(Kind::Call, |site| site.kind),
            },
            Part::Body(node) if self.is_not_opened(node) => Kind::NotOpened,
            Part::Body(_) => Kind::Body,
        }
    }

    /// Whether a node's own time beside its timed calls is that of a function.
    pub(crate) fn has_body(&self, node: u32) -> bool {
        self.state(node).is_none() && (node == ROOT || self.is_opened(node))
    }

    /// Whether a function's own time holds calls that are not timed.
    fn is_not_opened(&self, node: u32) -> bool {
        let is_hidden = |all: &NotOpened| all.is(self.paths.get(node).probe);
        self.has_body(node) && self.not_opened.is_some_and(is_hidden)
    }

    /// The name of a node's own time; `function` is the name of the node.
    fn body(&self, node: u32, function: &str) -> String {
        let [own, not_opened, itself] = own_time_names(function);
        match self.state(node) {
            Some(state) => format!("{function}, {}", state.remainder()),
            None if self.is_not_opened(node) => not_opened,
            None if self.has_body(node) => own,
            None => itself,
        }
    }

    /// Name of a part, as [`crate::profile::Node::name`].
    pub fn name(&self, part: Part) -> String {
        match part {
            Part::Body(node) => self.body(node, &self.names.call(node)),
            Part::Call(node) => self.names.call(node),
        }
    }

    /// A part's function in factors, which sum over a function's nodes. Unlike [`Self::name`] it distinguishes indirect
    /// calls, and functions of several files that have no names.
    pub fn function(&self, part: Part) -> Function {
        match part {
            Part::Call(node) => self.names.function(node),
            Part::Body(node) => Function {
                name: self.body(node, &self.names.function(node).to_string()),
                file: None,
            },
        }
    }

    /// The function that makes a node's call, where its own call is not timed: the node above is of another function.
    pub(crate) fn untimed_caller(&self, node: u32) -> Option<Function> {
        let caller = self.names.site(node)?.holder()?;
        let above = self.names.function(self.paths.get(node).parent);
        (!caller.may_be(&above)).then_some(caller)
    }

    /// Path from the root: `root > f [f+0x10] > g [g+0x2f]`, `> body of g` after it for a body.
    pub fn path(&self, part: Part) -> String {
        match part {
            Part::Body(node) => format!("{} > {}", self.names.path(node), self.name(part)),
            Part::Call(node) => self.names.path(node),
        }
    }

    /// A node's path, as steps.
    pub(crate) fn call_path(&self, node: u32) -> CallPath {
        self.names.call_path(node)
    }

    /// Path of two parts of one node, in order of name: `root > f [f+0x10] > {body of f, g [f+0x2f]}`.
    pub(crate) fn pair_path(&self, a: Part, b: Part) -> String {
        let above = match a {
            Part::Body(node) => node,
            Part::Call(node) => self.paths.get(node).parent,
        };
        let step = |part| match part {
            Part::Call(node) => self.names.step(node).to_string(),
            Part::Body(_) => self.name(part),
        };
        let (a, b) = (step(a), step(b));
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        format!("{} > {{{first}, {second}}}", self.names.path(above))
    }
}
