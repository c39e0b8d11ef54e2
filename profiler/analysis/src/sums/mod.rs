//! Sums from which every result is computed (`variance.md` section 4: "all of these need only sums, sums of squares
//! and cross products, which merge by addition").
//!
//! All sums are exact integers, so merging in any order gives the same result to the last bit. Even latencies of
//! `crate::intervals::interval::LATENCY_BITS` bits leave room for 2^31 intervals.
//!
//! An interval with a weight ([`evenkeel_wire::KeepRate`]) is added as often as its weight says. So sums, and all
//! figures computed from them, describe the intervals that ended, not those that were kept; [`Sums::kept`] counts the
//! latter.

pub(crate) mod accumulate;
pub(crate) mod blocks;
pub mod histogram;
pub(crate) mod jackknife;
pub mod keeping;
pub(crate) mod latencies;
pub(crate) mod moments;
pub mod node_names;
pub(crate) mod over_time;
pub mod parts;
pub mod paths;
pub(crate) mod projection;
pub(crate) mod round_sums;
pub mod self_cost;
pub(crate) mod shares;
pub(crate) mod vectors;

use std::iter;

use crate::intervals::attributes::AttributeSums;
use crate::sums::moments::{Factor, WeightedTicks, co_moment};
use crate::sums::paths::{BODY_ORDINAL, Paths};
use crate::sums::vectors::{Entry, Sibling, Vector};

/// A structure of integer sums that are added, subtracted and written alike.
macro_rules! sums {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: i128,)+
        }

        impl $name {
            /// How many sums there are.
            pub const COUNT: usize = [$(stringify!($field)),+].len();

            /// All of them, in the order of the fields.
            pub fn all(&self) -> [i128; $name::COUNT] {
                [$(self.$field),+]
            }

            /// From sums in the order of the fields.
            pub(crate) fn of([$($field),+]: [i128; $name::COUNT]) -> $name {
                $name { $($field),+ }
            }

            #[inline]
            fn combine(&mut self, other: &$name, with: impl Fn(i128, i128) -> i128) {
                $(self.$field = with(self.$field, other.$field);)+
            }
        }
    };
}

sums! {
    /// Sums over intervals at one node. X inclusive ticks, x exclusive ticks, N calls, L latency in ticks.
    NodeSums {
        /// Sum of X.
        inclusive,
        /// Sum of X^2.
        inclusive_squared,
        /// Sum of X L.
        inclusive_latency,
        /// Sum of x.
        exclusive,
        /// Sum of x^2.
        exclusive_squared,
        /// Sum of x L.
        exclusive_latency,
        /// Sum of N.
        calls,
        /// Sum of N^2.
        calls_squared,
        /// Sum of N X.
        calls_inclusive,
    }
}

impl NodeSums {
    /// Adds the sums of other intervals.
    pub(crate) fn add_sums(&mut self, other: &NodeSums) {
        self.combine(other, |a, b| a + b);
    }

    #[inline]
    fn add<F: Factor>(&mut self, entry: &Entry, latency: i64, weighted: impl Fn(i64) -> F) {
        let (inclusive, exclusive, calls) =
            (entry.inclusive, entry.exclusive, i64::from(entry.calls));
        let weighted = [inclusive, exclusive, calls].map(weighted);
        self.combine(
            &NodeSums {
                inclusive: weighted[0].sum(),
                inclusive_squared: weighted[0].times(inclusive),
                inclusive_latency: weighted[0].times(latency),
                exclusive: weighted[1].sum(),
                exclusive_squared: weighted[1].times(exclusive),
                exclusive_latency: weighted[1].times(latency),
                calls: weighted[2].sum(),
                calls_squared: weighted[2].times(calls),
                calls_inclusive: weighted[2].times(inclusive),
            },
            |a, b| a + b,
        );
    }
}

/// Sums over intervals. Nodes and pairs beyond the end of the vectors are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Intervals: of those that were added, the sum of the weights.
    pub intervals: u64,
    /// Intervals that were added.
    pub kept: u64,
    /// Sum of L.
    pub latency: i128,
    /// Sum of L^2.
    pub latency_squared: i128,
    /// By node id.
    pub nodes: Vec<NodeSums>,
    /// Sums of products of two children of one node (the body is one), by [`Paths::pair`].
    pub pairs: Vec<i128>,
    /// By number of the attribute; no interval reported those beyond its end.
    pub attributes: Vec<AttributeSums>,
}

impl Sums {
    /// Adds one interval. Only nodes and pairs that it touched are visited: all others are zero in it.
    pub fn add(&mut self, vector: &Vector<'_>, paths: &Paths) {
        if self.nodes.len() < paths.all().len() {
            self.nodes.resize(paths.all().len(), NodeSums::default());
            self.pairs.resize(paths.pairs(), 0);
        }
        self.intervals += vector.weight;
        self.kept += 1;
        match vector.weight {
            1 => self.add_weighted(vector, |value| value),
            weight => self.add_weighted(vector, |value| WeightedTicks::new(weight, value)),
        }
    }

    fn add_weighted<F: Factor>(&mut self, vector: &Vector<'_>, weighted: impl Fn(i64) -> F) {
        let latency = vector.latency;
        self.latency += weighted(latency).sum();
        self.latency_squared += weighted(latency).times(latency);
        for entry in vector.entries {
            self.nodes[entry.node as usize].add(entry, latency, &weighted);
        }
        for parts in vector
            .siblings
            .chunk_by(|_, next| next.ordinal != BODY_ORDINAL)
        {
            self.add_pairs(parts, &weighted);
        }
    }

    /// Adds the attributes of an interval that was added.
    pub(crate) fn add_attributes(&mut self, values: &[(u16, i64)], latency: i64) {
        for &(attribute, value) in values {
            let at = usize::from(attribute);
            if self.attributes.len() <= at {
                self.attributes.resize(at + 1, AttributeSums::default());
            }
            self.attributes[at].add(value, latency);
        }
    }

    /// Squares of the number of siblings: the innermost loop of the analysis where functions have many timed calls.
    fn add_pairs<F: Factor>(&mut self, parts: &[Sibling], weighted: impl Fn(i64) -> F) {
        for (at, call) in parts.iter().enumerate().skip(1) {
            let row = &mut self.pairs[call.row as usize..][..call.ordinal as usize];
            let ticks = weighted(call.ticks);
            for earlier in &parts[..at] {
                row[earlier.ordinal as usize] += ticks.times(earlier.ticks);
            }
        }
    }

    /// Adds the sums of other intervals over the same paths.
    pub fn merge(&mut self, other: &Sums) {
        self.combine(other, |a, b| a + b);
        self.intervals += other.intervals;
        self.kept += other.kept;
        if self.attributes.len() < other.attributes.len() {
            let none = AttributeSums::default();
            self.attributes.resize(other.attributes.len(), none);
        }
        for (mine, other) in self.attributes.iter_mut().zip(&other.attributes) {
            mine.merge(other);
        }
    }

    /// Takes out the sums of intervals that were added before.
    pub fn subtract(&mut self, other: &Sums) {
        self.combine(other, |a, b| a - b);
        self.intervals -= other.intervals;
        self.kept -= other.kept;
        for (mine, other) in self.attributes.iter_mut().zip(&other.attributes) {
            mine.subtract(other);
        }
    }

    fn combine(&mut self, other: &Sums, with: impl Fn(i128, i128) -> i128 + Copy) {
        self.latency = with(self.latency, other.latency);
        self.latency_squared = with(self.latency_squared, other.latency_squared);
        if self.nodes.len() < other.nodes.len() {
            self.nodes.resize(other.nodes.len(), NodeSums::default());
            self.pairs.resize(other.pairs.len(), 0);
        }
        for (mine, other) in self.nodes.iter_mut().zip(&other.nodes) {
            mine.combine(other, with);
        }
        for (mine, &other) in self.pairs.iter_mut().zip(&other.pairs) {
            *mine = with(*mine, other);
        }
    }

    /// Sums of a node.
    pub fn node(&self, node: u32) -> NodeSums {
        self.nodes.get(node as usize).copied().unwrap_or_default()
    }

    /// Non-zero sums of products of two nodes. For a node and an earlier sibling it is the product of their X; for a
    /// node and its parent, of its X and the parent's x.
    pub fn products<'a>(&'a self, paths: &'a Paths) -> impl Iterator<Item = (u32, u32, i128)> + 'a {
        let mut children = vec![Vec::new(); paths.all().len()];
        for (node, path) in (0..).zip(paths.all()).skip(1) {
            children[path.parent as usize].push(node);
        }
        let nodes = (0..).zip(paths.all()).skip(1);
        nodes
            .flat_map(move |(node, path)| {
                let siblings = &children[path.parent as usize];
                let others = iter::once(path.parent).chain(siblings.iter().copied());
                let others: Vec<u32> = others.take(path.ordinal as usize).collect();
                let pairs = (path.row..).zip(others);
                pairs.map(move |(pair, other)| (node, other, pair))
            })
            .filter_map(|(node, other, pair)| {
                let product = self.pairs.get(pair).copied().unwrap_or_default();
                (product != 0).then_some((node, other, product))
            })
    }

    /// Co-moment of L with itself: (n - 1) Var(L), ticks^2.
    pub(crate) fn latency_moment(&self) -> f64 {
        self.moment(self.latency_squared, self.latency, self.latency)
    }

    /// Co-moment of X and L at a node.
    pub(crate) fn inclusive_latency_moment(&self, node: u32) -> f64 {
        let sums = self.node(node);
        self.moment(sums.inclusive_latency, sums.inclusive, self.latency)
    }

    /// Co-moment of X with itself at a node.
    pub(crate) fn inclusive_moment(&self, node: u32) -> f64 {
        let sums = self.node(node);
        self.moment(sums.inclusive_squared, sums.inclusive, sums.inclusive)
    }

    /// Co-moment of x and L at a node.
    pub(crate) fn exclusive_latency_moment(&self, node: u32) -> f64 {
        let sums = self.node(node);
        self.moment(sums.exclusive_latency, sums.exclusive, self.latency)
    }

    /// Co-moment of x with itself at a node.
    pub(crate) fn exclusive_moment(&self, node: u32) -> f64 {
        let sums = self.node(node);
        self.moment(sums.exclusive_squared, sums.exclusive, sums.exclusive)
    }

    /// Co-moment of two children of one node (their X).
    pub(crate) fn pair_moment(&self, paths: &Paths, a: u32, b: u32) -> f64 {
        let products = self
            .pairs
            .get(paths.pair(a, b))
            .copied()
            .unwrap_or_default();
        self.moment(products, self.node(a).inclusive, self.node(b).inclusive)
    }

    /// Co-moment of a node (its X) and the body of its parent (its x).
    pub(crate) fn body_pair_moment(&self, paths: &Paths, node: u32) -> f64 {
        let products = self
            .pairs
            .get(paths.pair_with_body(node))
            .copied()
            .unwrap_or_default();
        self.moment(
            products,
            self.node(node).inclusive,
            self.node(paths.get(node).parent).exclusive,
        )
    }

    /// Of Var(X), the part a regression of X on N explains (`variance.md` section 4b): the squared correlation of X
    /// and N. Absent where one of them never varies.
    pub fn calls_explained(&self, node: u32) -> Option<f64> {
        let sums = self.node(node);
        let calls = self.moment(sums.calls_squared, sums.calls, sums.calls);
        let both = self.moment(sums.calls_inclusive, sums.calls, sums.inclusive);
        let inclusive = self.inclusive_moment(node);
        (calls > 0.0 && inclusive > 0.0).then(|| (both * both / calls / inclusive).min(1.0))
    }

    fn moment(&self, products: i128, a: i128, b: i128) -> f64 {
        co_moment(self.intervals, products, a, b)
    }
}
