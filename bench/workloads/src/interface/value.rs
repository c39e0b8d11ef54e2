//! Values and rows as they cross the transaction interface.

use super::Error;

/// A column of a row, or a parameter of a statement.
///
/// The [`ColumnType`](super::ColumnType) of its column gives an `Int` its meaning. It is an integer, a decimal in its
/// smallest unit (`DECIMAL(12,2)` of 12.34 is `Int(1234)`), or a time in microseconds since 1970-01-01 00:00 UTC. So
/// a workload computes with exact integers, and each target converts once, at its border, to its wire format.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    /// SQL's NULL. Orders before everything else.
    Null,
    /// Integers of all widths, decimals in their smallest unit, timestamps in microseconds.
    Int(i64),
    /// Coordinates and averages.
    Float(f64),
    /// UTF-8 text. Compared byte by byte on every target.
    Text(String),
}

impl Value {
    /// True for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Int(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// A result row, or a row to be loaded. Columns are in the order in which the statement (or the table)
/// declares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The integer (decimal, timestamp) in column `index`.
    ///
    /// # Errors
    /// [`Error::Other`] if there is no such column or it holds something else, NULL included.
    pub fn int(&self, index: usize) -> Result<i64, Error> {
        match self.0.get(index) {
            Some(Value::Int(value)) => Ok(*value),
            other => Err(mismatch("an integer", index, other)),
        }
    }

    /// Like [`Row::int`], with `None` for NULL.
    ///
    /// # Errors
    /// [`Error::Other`] if there is no such column or it holds something else.
    pub(crate) fn optional_int(&self, index: usize) -> Result<Option<i64>, Error> {
        match self.0.get(index) {
            Some(Value::Null) => Ok(None),
            _ => self.int(index).map(Some),
        }
    }

    /// The floating-point number in column `index`.
    ///
    /// # Errors
    /// [`Error::Other`] if there is no such column or it holds something else, NULL included.
    pub fn float(&self, index: usize) -> Result<f64, Error> {
        match self.0.get(index) {
            Some(Value::Float(value)) => Ok(*value),
            other => Err(mismatch("a floating-point number", index, other)),
        }
    }

    /// The text in column `index`.
    ///
    /// # Errors
    /// [`Error::Other`] if there is no such column or it holds something else, NULL included.
    pub fn text(&self, index: usize) -> Result<&str, Error> {
        match self.0.get(index) {
            Some(Value::Text(value)) => Ok(value),
            other => Err(mismatch("text", index, other)),
        }
    }
}

fn mismatch(wanted: &str, index: usize, found: Option<&Value>) -> Error {
    Error::Other(match found {
        Some(value) => format!("column {index} of a result holds {value:?}, not {wanted}"),
        None => format!("a result has no column {index}"),
    })
}
