//! What a query returns: columns of rows, or aggregates of groups of them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use evenkeel_store as store;
use evenkeel_workloads::interface::{Aggregate, ColumnRef, Error, Output, Row, Value};

use super::values::{given, plus};

/// A row of the first table, and one of the joined table if there is one.
#[derive(Clone, Copy)]
pub struct Pair<'r> {
    /// Of the first table.
    pub first: &'r [store::Value],
    /// Of the joined one.
    pub joined: Option<&'r [store::Value]>,
}

impl Pair<'_> {
    /// The value of a column.
    ///
    /// # Errors
    /// See [`given`].
    pub fn value(&self, column: ColumnRef) -> Result<Value, Error> {
        let row = if column.joined {
            self.joined.unwrap_or_default()
        } else {
            self.first
        };
        row.get(column.column).map_or_else(
            || Err(Error::Other(format!("a row has no column {column:?}"))),
            given,
        )
    }
}

/// Collects what a query returns.
pub struct Collector<'q> {
    output: &'q Output,
    limit: usize,
    rows: Vec<Row>,
    groups: BTreeMap<Key, Vec<State>>,
}

impl<'q> Collector<'q> {
    /// For at most `limit` rows.
    pub fn new(output: &'q Output, limit: usize) -> Collector<'q> {
        let mut groups = BTreeMap::new();
        if let Output::Groups { by, aggregates } = output
            && by.is_empty()
        {
            groups.insert(Key(Vec::new()), vec![State::default(); aggregates.len()]);
        }
        Collector {
            output,
            limit,
            rows: Vec::new(),
            groups,
        }
    }

    /// Adds a row; breaks when no more are wanted.
    ///
    /// # Errors
    /// See [`given`].
    pub fn add(&mut self, pair: Pair<'_>) -> Result<ControlFlow<()>, Error> {
        match self.output {
            Output::Columns(columns) => {
                if self.rows.len() < self.limit {
                    let values: Result<_, Error> =
                        columns.iter().map(|&column| pair.value(column)).collect();
                    self.rows.push(Row(values?));
                }
                let full = self.rows.len() >= self.limit;
                Ok(if full {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            }
            Output::Groups { by, aggregates } => {
                let key: Result<_, Error> = by.iter().map(|&column| pair.value(column)).collect();
                let states = self
                    .groups
                    .entry(Key(key?))
                    .or_insert_with(|| vec![State::default(); aggregates.len()]);
                for (state, &aggregate) in states.iter_mut().zip(aggregates) {
                    state.add(aggregate, pair)?;
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// The rows.
    pub fn finish(mut self) -> Vec<Row> {
        if let Output::Groups { aggregates, .. } = self.output {
            for (Key(mut row), states) in std::mem::take(&mut self.groups)
                .into_iter()
                .take(self.limit)
            {
                row.extend(
                    states
                        .into_iter()
                        .zip(aggregates)
                        .map(|(state, &aggregate)| state.finish(aggregate)),
                );
                self.rows.push(Row(row));
            }
        }
        self.rows
    }
}

/// Values in the order of the interface; NaN equals everything.
#[derive(Clone, Debug, PartialEq)]
struct Key(Vec<Value>);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

/// An aggregate of the rows so far.
#[derive(Clone, Debug, Default)]
struct State {
    count: i64,
    /// Sum, minimum or maximum of those values.
    value: Option<Value>,
    distinct: BTreeSet<Key>,
}

impl State {
    fn add(&mut self, aggregate: Aggregate, pair: Pair<'_>) -> Result<(), Error> {
        let column = match aggregate {
            Aggregate::Count => {
                self.count += 1;
                return Ok(());
            }
            Aggregate::CountValues(column)
            | Aggregate::CountDistinct(column)
            | Aggregate::Sum(column)
            | Aggregate::Min(column)
            | Aggregate::Max(column)
            | Aggregate::Average(column) => column,
        };
        let value = pair.value(column)?;
        if value.is_null() {
            return Ok(());
        }
        self.count += 1;
        if let Aggregate::CountDistinct(_) = aggregate {
            self.distinct.insert(Key(vec![value]));
            return Ok(());
        }
        self.value = Some(match (aggregate, self.value.take()) {
            (_, None) => value,
            (Aggregate::Sum(_) | Aggregate::Average(_), Some(sum)) => plus(&sum, &value),
            (Aggregate::Min(_), Some(least)) => {
                if value < least {
                    value
                } else {
                    least
                }
            }
            (Aggregate::Max(_), Some(greatest)) => {
                if value > greatest {
                    value
                } else {
                    greatest
                }
            }
            (_, Some(other)) => other,
        });
        Ok(())
    }

    fn finish(self, aggregate: Aggregate) -> Value {
        match (aggregate, self.value) {
            (Aggregate::Count | Aggregate::CountValues(_), _) => Value::Int(self.count),
            (Aggregate::CountDistinct(_), _) => Value::Int(self.distinct.len() as i64),
            (Aggregate::Average(_), Some(Value::Int(sum))) => {
                Value::Float(sum as f64 / self.count as f64)
            }
            (Aggregate::Average(_), Some(Value::Float(sum))) => {
                Value::Float(sum / self.count as f64)
            }
            (_, value) => value.unwrap_or(Value::Null),
        }
    }
}
