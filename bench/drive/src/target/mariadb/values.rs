//! Values on their way to MariaDB and back.
//!
//! Its binary protocol has integers, floating-point numbers and points in time as such; an exact decimal travels as the
//! text of its digits.

use std::fmt::Write;

use chrono::{Datelike, NaiveDate, Timelike};
use evenkeel_workloads::interface::{ColumnType, Error, Value};
use evenkeel_workloads::sql::decimal;
use evenkeel_workloads::sql::timestamp::{FORMAT, civil};
use mysql_async::Value as Wire;

/// A parameter of a prepared statement.
pub fn parameter(value: &Value, declared: ColumnType) -> Wire {
    match (value, declared) {
        (Value::Null, _) => Wire::NULL,
        (Value::Int(units), ColumnType::Decimal { scale, .. }) => {
            Wire::Bytes(decimal::format(*units, scale).into_bytes())
        }
        (Value::Int(us), ColumnType::Timestamp) => {
            let at = civil(*us);
            Wire::Date(
                at.year() as u16,
                at.month() as u8,
                at.day() as u8,
                at.hour() as u8,
                at.minute() as u8,
                at.second() as u8,
                at.nanosecond() / 1000,
            )
        }
        (Value::Int(number), _) => Wire::Int(*number),
        (Value::Float(number), _) => Wire::Double(*number),
        (Value::Text(text), _) => Wire::Bytes(text.as_bytes().to_vec()),
    }
}

/// A column of a result, as declared.
///
/// # Errors
/// [`Error::Other`] if it is not of that type.
pub fn value(wire: Wire, declared: ColumnType) -> Result<Value, Error> {
    let value = match (&wire, declared) {
        (Wire::NULL, _) => Some(Value::Null),
        (Wire::Int(number), ColumnType::Int32 | ColumnType::Int64) => Some(Value::Int(*number)),
        (Wire::UInt(number), ColumnType::Int32 | ColumnType::Int64) => {
            i64::try_from(*number).ok().map(Value::Int)
        }
        (Wire::Bytes(digits), ColumnType::Decimal { scale, .. }) => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| decimal::parse(digits, scale))
            .map(Value::Int),
        (Wire::Double(number), ColumnType::Float64) => Some(Value::Float(*number)),
        (Wire::Float(number), ColumnType::Float64) => Some(Value::Float(f64::from(*number))),
        (&Wire::Date(year, month, day, hour, minute, second, micros), ColumnType::Timestamp) => {
            let [month, day, hour, minute, second] =
                [month, day, hour, minute, second].map(u32::from);
            NaiveDate::from_ymd_opt(year.into(), month, day)
                .and_then(|day| day.and_hms_micro_opt(hour, minute, second, micros))
                .map(|at| Value::Int(at.and_utc().timestamp_micros()))
        }
        (Wire::Bytes(text), ColumnType::Text(_)) => {
            String::from_utf8(text.clone()).ok().map(Value::Text)
        }
        _ => None,
    };
    value.ok_or_else(|| Error::Other(format!("a column declared {declared:?} came as {wire:?}")))
}

/// Appends a value as `LOAD DATA` reads it: fields end with a tab, lines with a newline, a backslash escapes.
pub fn field(value: &Value, declared: ColumnType, out: &mut String) {
    match (value, declared) {
        (Value::Null, _) => out.push_str("\\N"),
        (Value::Int(units), ColumnType::Decimal { scale, .. }) => {
            out.push_str(&decimal::format(*units, scale))
        }
        (Value::Int(us), ColumnType::Timestamp) => {
            write!(out, "{}", civil(*us).format(FORMAT)).expect("a string takes all");
        }
        (Value::Int(number), _) => write!(out, "{number}").expect("a string takes all"),
        (Value::Float(number), _) => write!(out, "{number:?}").expect("a string takes all"),
        (Value::Text(text), _) => {
            for character in text.chars() {
                if matches!(character, '\\' | '\t' | '\n') {
                    out.push('\\');
                }
                out.push(character);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: ColumnType = ColumnType::Decimal {
        precision: 12,
        scale: 2,
    };

    fn written(value: Value, declared: ColumnType) -> String {
        let mut out = String::new();
        field(&value, declared, &mut out);
        out
    }

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
            assert_eq!(value(parameter(&given, declared), declared), Ok(given));
        }
        assert!(value(Wire::Bytes("12.345".into()), AMOUNT).is_err());
        assert!(value(Wire::Bytes("12".into()), ColumnType::Int32).is_err());
    }

    #[test]
    fn a_line_of_a_file_to_load() {
        // `date -u -d @1700000000`: 2023-11-14 22:13:20.
        let time = Value::Int(1_700_000_000_000_001);
        assert_eq!(
            written(time, ColumnType::Timestamp),
            "2023-11-14 22:13:20.000001"
        );
        assert_eq!(written(Value::Int(-5), AMOUNT), "-0.05");
        assert_eq!(written(Value::Null, ColumnType::Text(9)), "\\N");
        assert_eq!(written(Value::Float(1e-7), ColumnType::Float64), "1e-7");
        // What a line would take for its structure is escaped.
        assert_eq!(
            written("a\tb\\c\nd".into(), ColumnType::Text(9)),
            "a\\\tb\\\\c\\\nd"
        );
    }
}
