//! Call paths that both sides timed, with their times on both.

use evenkeel_analysis::comparison::parts::Parts;
use evenkeel_analysis::comparison::rows::{Of, Row, Verdict, What};
use evenkeel_analysis::comparison::sides::Side;
use serde::Serialize;

/// Calls with less of the latency on both sides are left out.
const PART_MIN: f64 = 0.001;

/// A call path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// Its function.
    pub name: String,
    /// Its call site; empty where it has none.
    pub site: String,
    /// Mean time in an interval with what it calls, before and after, ns.
    pub mean_ns: [f64; 2],
    /// The times in the slowest 1 %.
    pub slow_ns: [f64; 2],
    /// The verdict on the mean: -1 better, 1 worse, 0 none.
    pub mean_told: i8,
    /// The verdict on the slowest 1 %.
    pub slow_told: i8,
    /// Its callees.
    pub children: Vec<Node>,
}

/// All of them; nothing where a side has no intervals.
pub(super) fn of(rows: &[Row], sides: &[Side; 2], parts: &Parts) -> Option<Node> {
    if sides.iter().any(Vec::is_empty) || parts.nodes().is_empty() {
        return None;
    }
    let nodes = parts.nodes();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().skip(1) {
        below[node.parent].push(at);
    }
    let builder = Builder {
        rows,
        sides,
        parts,
        below,
    };
    Some(builder.node(0))
}

struct Builder<'a> {
    rows: &'a [Row],
    sides: &'a [Side; 2],
    parts: &'a Parts,
    below: Vec<Vec<usize>>,
}

impl Builder<'_> {
    fn node(&self, at: usize) -> Node {
        let own = &self.parts.nodes()[at];
        let [mean_ns, slow_ns] = self.times(at);
        let matters = |&&child: &&usize| {
            let [mean, slow] = self.times(child);
            let [whole_mean, whole_slow] = self.times(0);
            let enough = |part: [f64; 2], whole: [f64; 2]| {
                let mut sides = part.iter().zip(whole);
                sides.any(|(part, whole)| part.abs() >= PART_MIN * whole && whole > 0.0)
            };
            enough(mean, whole_mean) || enough(slow, whole_slow)
        };
        let children = self.below[at].iter().filter(matters);
        Node {
            name: own.name.clone(),
            site: own.site.clone(),
            mean_ns,
            slow_ns,
            mean_told: self.told(at, Of::All),
            slow_told: self.told(at, Of::Slow),
            children: children.map(|&child| self.node(child)).collect(),
        }
    }

    /// In the mean interval and in the slow ones, on both sides.
    fn times(&self, at: usize) -> [[f64; 2]; 2] {
        let part = self.parts.of_node(at);
        let side = |side: usize| {
            let runs = self.sides[side].len() as f64;
            let each = self.sides[side].iter();
            let both = each.map(|run| [run.part_mean(part).value, run.part_slow(part).value]);
            both.fold([0.0, 0.0], |sum, one| {
                [sum[0] + one[0] / runs, sum[1] + one[1] / runs]
            })
        };
        let [before, after] = [side(0), side(1)];
        [[before[0], after[0]], [before[1], after[1]]]
    }

    fn told(&self, at: usize, of: Of) -> i8 {
        let is_it = |row: &&Row| row.of == of && row.what == What::Call(at);
        match self.rows.iter().find(is_it).map(|row| row.verdict) {
            Some(Verdict::Better) => -1,
            Some(Verdict::Worse) => 1,
            _ => 0,
        }
    }
}

/// Names from the interval to the caller of a node.
pub(super) fn callers(parts: &Parts, node: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = node;
    while at != 0 {
        at = parts.nodes()[at].parent;
        names.push(parts.nodes()[at].name.clone());
    }
    names.reverse();
    names
}

/// As [`evenkeel_analysis::profile::Factor::paths`].
pub(super) fn path(parts: &Parts, node: usize) -> String {
    let own = &parts.nodes()[node];
    let step = match own.site.is_empty() {
        true => own.name.clone(),
        false => format!("{} [{}]", own.name, own.site),
    };
    match node {
        0 => own.name.clone(),
        _ => format!("{} > {step}", path(parts, own.parent)),
    }
}
