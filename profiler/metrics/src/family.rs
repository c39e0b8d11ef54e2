//! A metric with its points.

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A part of something: 0.1 is a tenth.
    Ratio,
    /// A number of things, or what the name says.
    None,
}

/// A value, with what tells it from others of its family.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Name and value of the label, where the family has one.
    pub label: Option<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// The values of a family.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// They only grow.
    Counter(Vec<Point>),
    /// They are what they are.
    Gauge(Vec<Point>),
    /// How many values are in each bucket: upper bound, and count of those that are above the bound before.
    Histogram {
        /// The last bound is infinite.
        buckets: Vec<(f64, u64)>,
        /// Sum of all values.
        sum: f64,
    },
    /// What the session is.
    Info(Vec<(&'static str, String)>),
}

/// A metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Without unit.
    pub name: &'static str,
    /// A sentence without its full stop.
    pub about: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The values.
    pub points: Points,
}
