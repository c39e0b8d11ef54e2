//! Typed values and rows of them.

use std::fmt;
use std::ops::Deref;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ColumnType {
    /// A 64-bit signed integer; also for amounts of money, in the smallest unit, and times.
    Int = 0,
    /// A 64-bit floating-point number. In keys, -0.0 becomes 0.0, and the order is that of [`f64::total_cmp`].
    Float = 1,
    /// UTF-8 text; in keys ordered by its bytes.
    Text = 2,
    /// Bytes.
    Bytes = 3,
}

impl ColumnType {
    /// The type with this discriminant.
    pub(crate) fn from_code(code: u8) -> Option<ColumnType> {
        [
            ColumnType::Int,
            ColumnType::Float,
            ColumnType::Text,
            ColumnType::Bytes,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == code)
    }
}

/// A value of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// No value; in keys smaller than every value.
    Null,
    /// A value of [`ColumnType::Int`].
    Int(i64),
    /// A value of [`ColumnType::Float`].
    Float(f64),
    /// A value of [`ColumnType::Text`].
    Text(String),
    /// A value of [`ColumnType::Bytes`].
    Bytes(Vec<u8>),
}

impl Value {
    /// Whether a column of this type can hold it; [`Value::Null`] fits every type.
    pub fn fits(&self, kind: ColumnType) -> bool {
        matches!(
            (self, kind),
            (Value::Null, _)
                | (Value::Int(_), ColumnType::Int)
                | (Value::Float(_), ColumnType::Float)
                | (Value::Text(_), ColumnType::Text)
                | (Value::Bytes(_), ColumnType::Bytes)
        )
    }
}

/// As much of a text, and of bytes, as a message shows.
const SHOWN_CHARS: usize = 64;
const SHOWN_BYTES: usize = 32;

/// For messages: of a long value its beginning and its length.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(value) => match value.char_indices().nth(SHOWN_CHARS) {
                None => write!(f, "{value:?}"),
                Some((cut, _)) => {
                    write!(f, "{:?}... ({} bytes)", &value[..cut], value.len())
                }
            },
            Value::Bytes(value) => match value.get(..SHOWN_BYTES) {
                Some(head) if value.len() > SHOWN_BYTES => {
                    write!(f, "{head:02x?}... ({} bytes)", value.len())
                }
                _ => write!(f, "{value:02x?}"),
            },
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Value {
        Value::Bytes(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A row: the values of all columns in the schema's order. Derefs to `[Value]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The integer in column `at`.
    ///
    /// # Panics
    /// If the column holds something else; so do the accessors below.
    pub fn int(&self, at: usize) -> i64 {
        match &self.0[at] {
            Value::Int(value) => *value,
            other => panic!("column {at} holds {other}, not an integer"),
        }
    }

    /// The number in column `at`.
    pub fn float(&self, at: usize) -> f64 {
        match &self.0[at] {
            Value::Float(value) => *value,
            other => panic!("column {at} holds {other}, not a floating-point number"),
        }
    }

    /// The text in column `at`.
    pub fn text(&self, at: usize) -> &str {
        match &self.0[at] {
            Value::Text(value) => value,
            other => panic!("column {at} holds {other}, not text"),
        }
    }

    /// The bytes in column `at`.
    pub fn bytes(&self, at: usize) -> &[u8] {
        match &self.0[at] {
            Value::Bytes(value) => value,
            other => panic!("column {at} holds {other}, not bytes"),
        }
    }

    /// Whether column `at` holds no value.
    pub fn is_null(&self, at: usize) -> bool {
        self.0[at] == Value::Null
    }

    /// Replaces the value of column `at`.
    pub fn set(&mut self, at: usize, value: impl Into<Value>) {
        self.0[at] = value.into();
    }
}

impl Deref for Row {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_the_beginning_of_a_long_value() {
        assert_eq!(Value::from("short").to_string(), "\"short\"");
        assert_eq!(Value::from(vec![1, 255]).to_string(), "[01, ff]");
        let long = [
            Value::from("é".repeat(500_000)),
            Value::from(vec![7; 1_000_000]),
        ];
        for value in long {
            let shown = value.to_string();
            assert!(shown.len() < 300, "{shown}");
            assert!(shown.ends_with("... (1000000 bytes)"), "{shown}");
        }
    }
}
