//! Weights of call paths: the meaning of a width, and its value at the leaves of the variance tree.
//!
//! Shares add up the tree: the part of a node beyond its children is in its body, which is a separate leaf. So the
//! leaves hold everything, once.

use std::fmt;
use std::str::FromStr;

use evenkeel_analysis::profile::Node;

/// Root of the paths with a negative weight, where a format has no negative widths.
pub const NEGATIVE: &str = "(negative)";
/// A share of 1 as an integer.
pub(crate) const SHARE_WHOLE: f64 = 1e6;

/// The meaning of a width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Cov(x, L) / Var(L), in millionths.
    #[default]
    Variance,
    /// Mean time of an interval, nanoseconds.
    Mean,
    /// The part of the slowest intervals' excess over the mean that is spent there, in millionths; the name of the
    /// tail in the profile.
    Tail(&'static str),
}

impl Weight {
    /// All of them.
    pub const ALL: [Weight; 5] = [
        Weight::Variance,
        Weight::Mean,
        Weight::Tail("p95"),
        Weight::Tail("p99"),
        Weight::Tail("p999"),
    ];

    /// Unit of [`Weight::of`].
    pub fn unit(self) -> &'static str {
        match self {
            Weight::Mean => "nanoseconds",
            Weight::Variance | Weight::Tail(_) => "ppm",
        }
    }

    /// A description in words.
    pub fn about(self) -> &'static str {
        match self {
            Weight::Variance => "share of the latency's variance, millionths",
            Weight::Mean => "mean time of an interval, ns",
            Weight::Tail("p95") => "share of the slowest 5 %'s excess over the mean, millionths",
            Weight::Tail("p99") => "share of the slowest 1 %'s excess over the mean, millionths",
            Weight::Tail(_) => "share of the slowest 0.1 %'s excess over the mean, millionths",
        }
    }

    /// Its value at a node, in its unit; 0 where it is not known.
    pub fn of(self, node: &Node) -> i64 {
        let value = match self {
            Weight::Variance => node.share * SHARE_WHOLE,
            Weight::Mean => node.mean_ns,
            Weight::Tail(name) => node.tail_share.get(name).unwrap_or(&0.0) * SHARE_WHOLE,
        };
        value.round() as i64
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Weight::Variance => "variance",
            Weight::Mean => "mean",
            Weight::Tail("p999") => "p99.9",
            Weight::Tail(name) => name,
        })
    }
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Weight, String> {
        let mut all = Weight::ALL.into_iter();
        let wanted = if text == "p999" { "p99.9" } else { text };
        all.find(|weight| weight.to_string() == wanted)
            .ok_or_else(|| {
                let names = Weight::ALL.map(|weight| weight.to_string()).join(", ");
                format!("there is no weight {text:?}; there are: {names}")
            })
    }
}

/// A leaf of the tree with its call path.
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    /// From the root to the leaf, both included.
    pub stack: Vec<&'a Node>,
}

impl<'a> Leaf<'a> {
    /// The leaf itself.
    pub fn node(&self) -> &'a Node {
        self.stack[self.stack.len() - 1]
    }
}

/// All leaves, in the order of the tree.
pub fn leaves(tree: &Node) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    let mut open = vec![vec![tree]];
    while let Some(stack) = open.pop() {
        let node = stack[stack.len() - 1];
        for child in node.children.iter().rev() {
            let mut below = stack.clone();
            below.push(child);
            open.push(below);
        }
        if node.children.is_empty() {
            found.push(Leaf { stack });
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use evenkeel_analysis::profile::Profile;

    use super::*;

    /// root calls f in root.c:7; f takes more than all variance, and root less than nothing.
    pub fn export() -> Profile {
        let f = Node {
            name: "f".into(),
            file: Some("root.c".into()),
            line: Some(7),
            share: 1.25,
            mean_ns: 60.0,
            ..Node::default()
        };
        let body = Node {
            name: "body of root".into(),
            share: -0.25,
            mean_ns: 40.0,
            ..Node::default()
        };
        let tree = Node {
            name: "root".into(),
            share: 1.0,
            mean_ns: 100.0,
            children: vec![f, body],
            ..Node::default()
        };
        Profile {
            tree,
            ..Profile::default()
        }
    }

    #[test]
    fn weights_are_read_and_written() {
        for weight in Weight::ALL {
            assert_eq!(weight.to_string().parse(), Ok(weight));
        }
        assert_eq!("p999".parse(), Ok(Weight::Tail("p999")));
        let error = "p50".parse::<Weight>().unwrap_err();
        assert!(error.contains("variance, mean, p95, p99, p99.9"), "{error}");
    }

    #[test]
    fn leaves_hold_everything_once() {
        let node = |name: &str, share, children| Node {
            name: name.into(),
            share,
            children,
            ..Node::default()
        };
        let below = vec![node("g", 0.75, vec![]), node("body of f", -0.125, vec![])];
        let tree = node(
            "root",
            1.0,
            vec![node("f", 0.625, below), node("body of root", 0.375, vec![])],
        );
        let leaves = leaves(&tree);
        let names: Vec<_> = leaves
            .iter()
            .map(|leaf| leaf.node().name.as_str())
            .collect();
        assert_eq!(names, ["g", "body of f", "body of root"]);
        let sum: i64 = leaves
            .iter()
            .map(|leaf| Weight::Variance.of(leaf.node()))
            .sum();
        assert_eq!(sum, 1_000_000);
    }
}
