//! Values between the transaction interface and the store, which keeps integers, decimals and times alike in 64 bits.

use evenkeel_store as store;
use evenkeel_workloads::interface::{ColumnType, Error, Value};

/// How the store keeps a column.
pub fn kept_as(declared: ColumnType) -> store::ColumnType {
    match declared {
        ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::Decimal { .. }
        | ColumnType::Timestamp => store::ColumnType::Int,
        ColumnType::Float64 => store::ColumnType::Float,
        ColumnType::Text(_) => store::ColumnType::Text,
    }
}

/// Into the store.
pub fn kept(value: &Value) -> store::Value {
    match value {
        Value::Null => store::Value::Null,
        Value::Int(number) => store::Value::Int(*number),
        Value::Float(number) => store::Value::Float(*number),
        Value::Text(text) => store::Value::Text(text.clone()),
    }
}

/// Out of the store.
///
/// # Errors
/// [`Error::Other`] for bytes, which no workload declares.
pub fn given(value: &store::Value) -> Result<Value, Error> {
    match value {
        store::Value::Null => Ok(Value::Null),
        store::Value::Int(number) => Ok(Value::Int(*number)),
        store::Value::Float(number) => Ok(Value::Float(*number)),
        store::Value::Text(text) => Ok(Value::Text(text.clone())),
        other @ store::Value::Bytes(_) => {
            Err(Error::Other(format!("the store holds bytes: {other}")))
        }
    }
}

/// `a + b`; NULL with NULL, and of values that cannot be added.
pub fn plus(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
        (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
        _ => Value::Null,
    }
}

/// `a - b`, likewise.
pub fn minus(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_sub(*b)),
        (Value::Float(a), Value::Float(b)) => Value::Float(a - b),
        _ => Value::Null,
    }
}
