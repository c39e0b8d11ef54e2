//! Attributes: integers that the target says of its intervals (`evenkeel_attribute`), and how much of the latency's
//! variance they explain.
//!
//! An attribute of few values sorts intervals into groups, which explain what lies between their means: Var(E[L|v]) /
//! Var(L), as classes do (`variance.md` section 4a). One of more values explains what a regression of L on it does: the
//! squared correlation. Both are of the intervals that have the attribute.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::sums::moments::{co_moment, fraction};

/// Attributes told apart, at most; any further are left out.
pub const ATTRIBUTES_MAX: usize = 32;
/// Values told apart of one attribute, at most.
pub const VALUES_MAX: usize = 16;
/// Values beyond this magnitude are taken for it, so that sums of squares have room for 2^31 intervals.
pub const MAGNITUDE_MAX: i64 = 1 << 47;

/// Numbers attributes by name.
#[derive(Debug, Default)]
pub struct AttributeTable {
    names: Vec<String>,
    by_name: FxHashMap<Box<[u8]>, u16>,
}

impl AttributeTable {
    /// The number of an attribute; nothing beyond [`ATTRIBUTES_MAX`].
    pub fn number(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(&number) = self.by_name.get(name) {
            return Some(number);
        }
        if self.names.len() == ATTRIBUTES_MAX {
            return None;
        }
        let number = self.names.len() as u16;
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.by_name.insert(name.into(), number);
        Some(number)
    }

    /// Names of all attributes, by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Name of an attribute.
    pub fn name(&self, number: u16) -> &str {
        &self.names[usize::from(number)]
    }
}

/// Intervals with one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) intervals: u64,
    /// Sum of L.
    pub(crate) latency: i128,
}

/// Sums over the intervals that have an attribute. V is its value, L the latency in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeSums {
    pub(crate) intervals: u64,
    /// Sum of V.
    pub(crate) value: i128,
    /// Sum of V^2.
    pub(crate) value_squared: i128,
    /// Sum of V L.
    pub(crate) value_latency: i128,
    /// Sum of L.
    pub(crate) latency: i128,
    /// Sum of L^2.
    pub(crate) latency_squared: i128,
    /// By value; empty if there are too many.
    pub(crate) groups: BTreeMap<i64, Group>,
    pub(crate) too_many: bool,
}

impl AttributeSums {
    /// Adds one interval.
    pub fn add(&mut self, value: i64, latency: i64) {
        let value = value.clamp(-MAGNITUDE_MAX, MAGNITUDE_MAX);
        let (v, l) = (i128::from(value), i128::from(latency));
        self.intervals += 1;
        self.value += v;
        self.value_squared += v * v;
        self.value_latency += v * l;
        self.latency += l;
        self.latency_squared += l * l;
        self.add_to_group(value, 1, l);
    }

    fn add_to_group(&mut self, value: i64, intervals: u64, latency: i128) {
        if !self.too_many {
            let group = self.groups.entry(value).or_default();
            group.intervals += intervals;
            group.latency += latency;
            if self.groups.len() > VALUES_MAX {
                self.give_up_groups();
            }
        }
    }

    fn give_up_groups(&mut self) {
        self.too_many = true;
        self.groups.clear();
    }

    /// Adds the sums of other intervals.
    pub fn merge(&mut self, other: &AttributeSums) {
        self.combine(other, |a, b| a + b);
        self.intervals += other.intervals;
        if other.too_many {
            self.give_up_groups();
        }
        for (&value, group) in &other.groups {
            self.add_to_group(value, group.intervals, group.latency);
        }
    }

    /// Takes out the sums of intervals that were added before.
    pub fn subtract(&mut self, other: &AttributeSums) {
        self.combine(other, |a, b| a - b);
        self.intervals -= other.intervals;
        for (value, group) in &other.groups {
            if let Some(mine) = self.groups.get_mut(value) {
                mine.intervals -= group.intervals;
                mine.latency -= group.latency;
            }
        }
        self.groups.retain(|_, group| group.intervals > 0);
    }

    fn combine(&mut self, other: &AttributeSums, with: impl Fn(i128, i128) -> i128) {
        self.value = with(self.value, other.value);
        self.value_squared = with(self.value_squared, other.value_squared);
        self.value_latency = with(self.value_latency, other.value_latency);
        self.latency = with(self.latency, other.latency);
        self.latency_squared = with(self.latency_squared, other.latency_squared);
    }

    /// The attributes with latencies in ticks of another clock.
    pub(crate) fn with_clock(
        &self,
        time: impl Fn(i128) -> i128,
        squared: impl Fn(i128) -> i128,
    ) -> AttributeSums {
        let mut sums = self.clone();
        sums.value_latency = time(sums.value_latency);
        sums.latency = time(sums.latency);
        sums.latency_squared = squared(sums.latency_squared);
        for group in sums.groups.values_mut() {
            group.latency = time(group.latency);
        }
        sums
    }

    fn latency_moment(&self) -> f64 {
        co_moment(
            self.intervals,
            self.latency_squared,
            self.latency,
            self.latency,
        )
    }

    pub(crate) fn value_moment(&self) -> f64 {
        co_moment(self.intervals, self.value_squared, self.value, self.value)
    }

    pub(crate) fn both_moment(&self) -> f64 {
        co_moment(self.intervals, self.value_latency, self.value, self.latency)
    }

    /// Cov(V, L) / sqrt(Var(V) Var(L)); nothing where one of them never varies.
    pub(crate) fn correlation(&self) -> Option<f64> {
        let (value, latency) = (self.value_moment(), self.latency_moment());
        let varies = value > 0.0 && latency > 0.0;
        varies.then(|| (self.both_moment() / value.sqrt() / latency.sqrt()).clamp(-1.0, 1.0))
    }

    /// The part of Var(L) that the attribute explains.
    pub(crate) fn explained(&self) -> f64 {
        if self.too_many {
            return self.correlation().map_or(0.0, |r| r * r);
        }
        let (n, whole) = (self.intervals as f64, self.latency_moment());
        // n_v (E[L|v] - E[L])^2, the difference over a common denominator and exact.
        let between = self.groups.values().map(|group| {
            let of_group = group.latency * i128::from(self.intervals);
            let distance = (of_group - self.latency * i128::from(group.intervals)) as f64 / n;
            distance * distance / group.intervals as f64
        });
        fraction(between.sum(), whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Too many values stay too many, even if fewer remain when a block is left out: the whole and the rest are
    /// computed alike.
    #[test]
    fn too_many_values_are_no_groups() {
        let mut sums = AttributeSums::default();
        (0..VALUES_MAX as i64).for_each(|value| sums.add(value, 1));
        assert_eq!((sums.groups.len(), sums.too_many), (VALUES_MAX, false));
        let mut block = AttributeSums::default();
        block.add(VALUES_MAX as i64, 1);
        sums.merge(&block);
        sums.subtract(&block);
        assert!(sums.too_many && sums.groups.is_empty());
        assert_eq!((sums.intervals, sums.value), (16, 120));
    }

    #[test]
    fn the_table_is_bounded() {
        let mut table = AttributeTable::default();
        for n in 0..2 * ATTRIBUTES_MAX {
            let number = table.number(format!("a{n}").as_bytes());
            assert_eq!(number, (n < ATTRIBUTES_MAX).then_some(n as u16));
        }
        assert_eq!(table.number(b"a7"), Some(7));
        assert_eq!(table.name(7), "a7");
    }

    /// Neither pointers nor hours of ticks overflow the sums.
    #[test]
    fn the_largest_values_have_room() {
        let mut sums = AttributeSums::default();
        let latency = (1 << 48) - 1;
        sums.add(i64::MIN, latency);
        sums.add(i64::MAX, 0);
        assert_eq!(sums.value, 0);
        assert_eq!(sums.correlation(), Some(-1.0));
        let room = i128::MAX / sums.value_squared.max(sums.latency_squared);
        assert!(room >= 1 << 30, "{room}");
    }
}
