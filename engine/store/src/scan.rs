//! Scans: a range of the primary key or of an index, in either direction.

use std::ops::Bound;

use evenkeel_locks::Mode;

use crate::table::Index;
use crate::value::Value;

/// A scan. Bounds are the first columns of the key: `Scan::prefix([Value::Int(3)])` finds every row whose first key column is 3.
#[derive(Clone, PartialEq, Debug)]
pub struct Scan {
    pub(crate) low: Bound<Vec<Value>>,
    pub(crate) high: Bound<Vec<Value>>,
    pub(crate) index: Option<Index>,
    pub(crate) limit: usize,
    pub(crate) reverse: bool,
    pub(crate) for_update: bool,
}

impl Scan {
    /// Every row.
    pub fn all() -> Scan {
        Scan::between(Bound::Unbounded, Bound::Unbounded)
    }

    /// Rows whose key begins with these values.
    pub fn prefix(values: impl Into<Vec<Value>>) -> Scan {
        let values = values.into();
        Scan::between(Bound::Included(values.clone()), Bound::Included(values))
    }

    /// Rows between two bounds. A bound with fewer columns than the key means all keys that begin with it.
    pub fn between(low: Bound<Vec<Value>>, high: Bound<Vec<Value>>) -> Scan {
        Scan {
            low,
            high,
            index: None,
            limit: usize::MAX,
            reverse: false,
            for_update: false,
        }
    }

    /// By the order of an index, with bounds on its columns (the primary key's may follow).
    #[must_use]
    pub fn on(self, index: Index) -> Scan {
        Scan {
            index: Some(index),
            ..self
        }
    }

    /// Returns at most this many rows. Only returned rows are locked, and the next one if the range ends before the
    /// limit.
    #[must_use]
    pub fn limit(self, limit: usize) -> Scan {
        Scan { limit, ..self }
    }

    /// From the greatest key down.
    #[must_use]
    pub fn reverse(self) -> Scan {
        Scan {
            reverse: true,
            ..self
        }
    }

    /// In which mode it locks rows.
    pub(crate) fn lock_mode(&self) -> Mode {
        match self.for_update {
            true => Mode::X,
            false => Mode::S,
        }
    }

    /// With exclusive locks on the rows.
    #[must_use]
    pub fn for_update(self) -> Scan {
        Scan {
            for_update: true,
            ..self
        }
    }
}
