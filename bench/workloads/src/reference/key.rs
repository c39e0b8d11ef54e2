//! Keys with a total order, and the ends of ranges between them.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::interface::Value;

/// A part of a key.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A value; NULL first, then by kind and value.
    Value(Value),
    /// Behind every value: the upper end of all keys with the parts before it.
    Last,
}

/// A key, compared part by part; a prefix comes before its extensions.
pub(super) type Key = Vec<Part>;

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let kind = |part: &Part| match part {
            Part::Value(Value::Null) => 0,
            Part::Value(Value::Int(_)) => 1,
            Part::Value(Value::Float(_)) => 2,
            Part::Value(Value::Text(_)) => 3,
            Part::Last => 4,
        };
        match (self, other) {
            (Part::Value(Value::Int(a)), Part::Value(Value::Int(b))) => a.cmp(b),
            (Part::Value(Value::Float(a)), Part::Value(Value::Float(b))) => a.total_cmp(b),
            (Part::Value(Value::Text(a)), Part::Value(Value::Text(b))) => a.cmp(b),
            _ => kind(self).cmp(&kind(other)),
        }
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

/// The range of keys that begin with `prefix` and whose next part lies between two bounds (value, inclusive).
pub(super) fn range(
    prefix: Key,
    low: Option<(Value, bool)>,
    high: Option<(Value, bool)>,
) -> (Bound<Key>, Bound<Key>) {
    let extended = |parts: &[Part]| [&prefix, parts].concat();
    let start = match low {
        None => prefix.clone(),
        Some((value, true)) => extended(&[Part::Value(value)]),
        Some((value, false)) => extended(&[Part::Value(value), Part::Last]),
    };
    let end = match high {
        None => Bound::Included(extended(&[Part::Last])),
        Some((value, true)) => Bound::Included(extended(&[Part::Value(value), Part::Last])),
        Some((value, false)) => Bound::Excluded(extended(&[Part::Value(value)])),
    };
    // A crossed range is empty; BTreeMap would panic.
    match &end {
        Bound::Included(key) | Bound::Excluded(key) if *key < start => {
            (Bound::Included(start.clone()), Bound::Excluded(start))
        }
        _ => (Bound::Included(start), end),
    }
}
