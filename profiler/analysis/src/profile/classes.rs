//! Differences between intervals by their classes, and by the attributes that the target gave them.

use serde::{Deserialize, Serialize};

/// Classes of intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Classes {
    /// Var(E[L|c]) / Var(L): what the mix of classes explains.
    pub between_fraction: f64,
    /// E[Var(L|c)] / Var(L): what varies within classes.
    pub within_fraction: f64,
    /// By number of intervals, largest first.
    pub classes: Vec<Class>,
}

/// A class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Normalised label.
    pub name: String,
    /// Intervals.
    pub intervals: u64,
    /// Mean latency.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Part of Var(L) that is this class's own variance: p(c) Var(L|c) / Var(L).
    pub within_fraction: f64,
    /// Part of Var(L) that is this class's distance from the mean: `p(c) (E[L|c] - E[L])^2 / Var(L)`.
    pub between_fraction: f64,
    /// The paths that vary most within the class, by share of the class's own variance, at most eight.
    pub top: Vec<ClassPath>,
}

/// A path's share of the variance within one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassPath {
    /// As in [`super::Factor::paths`].
    pub path: String,
    /// [`super::Node::id`] of its end.
    #[serde(default)]
    pub node: u32,
    /// Cov(x, L | c) / Var(L | c), exclusive time.
    pub share: f64,
    /// Mean exclusive time an interval of the class.
    pub mean_ns: f64,
}

/// The way in which an attribute explains the latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeFit {
    /// It has few values: by the mean of each.
    #[default]
    ByValue,
    /// By a line.
    Linear,
}

/// An attribute that the target set (`evenkeel_attribute`). Everything is of the intervals that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Intervals.
    pub intervals: u64,
    /// Mean value.
    pub mean: f64,
    /// Standard deviation of the value.
    pub sd: f64,
    /// The way in which it explains the latency.
    pub fit: AttributeFit,
    /// The part of Var(L) that it explains: `Var(E[L|v]) / Var(L)`, or the squared correlation.
    pub explained: f64,
    /// Its standard error.
    pub se: f64,
    /// Correlation with the latency; absent where one of them never varies.
    pub correlation: Option<f64>,
    /// Its standard error.
    pub correlation_se: f64,
    /// Latency for one more of it, by least squares.
    pub slope_ns: Option<f64>,
    /// By value, ascending; empty where there are more than `crate::intervals::attributes::VALUES_MAX`.
    pub values: Vec<AttributeValue>,
}

/// Intervals with one value of an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeValue {
    /// The value.
    pub value: i64,
    /// Intervals.
    pub intervals: u64,
    /// Their mean latency.
    pub mean_ns: f64,
}
