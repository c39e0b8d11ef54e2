//! Values on their way to SQLite and back: integers, decimals in their smallest unit and times in microseconds are its integers.

use evenkeel_workloads::interface::{ColumnType, Error, Value};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

/// A parameter of a statement.
pub struct Parameter<'a>(pub &'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Float(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A column of a result, as declared.
///
/// # Errors
/// [`Error::Other`] if it is not of that type.
pub fn value(found: ValueRef<'_>, declared: ColumnType) -> Result<Value, Error> {
    let value = match (found, declared) {
        (ValueRef::Null, _) => Some(Value::Null),
        (
            ValueRef::Integer(number),
            ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Decimal { .. }
            | ColumnType::Timestamp,
        ) => Some(Value::Int(number)),
        (ValueRef::Real(number), ColumnType::Float64) => Some(Value::Float(number)),
        (ValueRef::Text(text), ColumnType::Text(_)) => std::str::from_utf8(text)
            .ok()
            .map(|text| Value::Text(text.to_owned())),
        _ => None,
    };
    value.ok_or_else(|| Error::Other(format!("a column declared {declared:?} came as {found:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: ColumnType = ColumnType::Decimal {
        precision: 12,
        scale: 2,
    };

    #[test]
    fn values_come_back_as_they_went() {
        for (given, declared) in [
            (Value::Int(-7), ColumnType::Int32),
            (Value::Int(-1234), AMOUNT),
            (Value::Int(1_700_000_000_123_456), ColumnType::Timestamp),
            (Value::Float(0.25), ColumnType::Float64),
            (Value::Text("BARBAROUGHT".into()), ColumnType::Text(16)),
            (Value::Null, ColumnType::Int32),
        ] {
            let parameter = Parameter(&given);
            let Ok(ToSqlOutput::Borrowed(sent)) = parameter.to_sql() else {
                panic!("{given:?} is sent as it is")
            };
            assert_eq!(value(sent, declared), Ok(given.clone()));
        }
    }

    /// SQLite stores any value in any column, so a value of another type is refused.
    #[test]
    fn a_value_of_another_type_is_an_error() {
        for (found, declared) in [
            (ValueRef::Text(b"12"), ColumnType::Int32),
            (ValueRef::Real(12.34), AMOUNT),
            (ValueRef::Integer(1), ColumnType::Float64),
            (ValueRef::Blob(b"12"), ColumnType::Text(2)),
            (ValueRef::Text(&[0xff]), ColumnType::Text(1)),
        ] {
            assert!(value(found, declared).is_err(), "{found:?}");
        }
    }
}
