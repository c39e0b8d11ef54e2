//! Values on their way to PostgreSQL and back, in its binary forms.

use std::error::Error as StdError;

use evenkeel_workloads::interface::{ColumnType, Error, Row, Value};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::numeric;

/// Microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's zero.
const EPOCH_US: i64 = 946_684_800_000_000;

/// A parameter, or a column of a row to be loaded.
#[derive(Debug)]
pub struct Parameter<'a> {
    /// The value.
    pub value: &'a Value,
    /// How it is declared.
    pub column_type: ColumnType,
}

impl<'a> Parameter<'a> {
    /// The columns of a row, declared as `columns`.
    pub fn row(row: &'a Row, columns: &[ColumnType]) -> Vec<Parameter<'a>> {
        let values = row.0.iter().zip(columns);
        values
            .map(|(value, &column_type)| Parameter { value, column_type })
            .collect()
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        wire: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self.value, self.column_type) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Int(units), ColumnType::Decimal { scale, .. }) if *wire == Type::NUMERIC => {
                numeric::encode(*units, scale, out);
            }
            (Value::Int(us), ColumnType::Timestamp) => {
                out.extend_from_slice(&(us - EPOCH_US).to_be_bytes())
            }
            (Value::Int(number), _) => match *wire {
                Type::INT2 => out.extend_from_slice(&i16::try_from(*number)?.to_be_bytes()),
                Type::INT4 => out.extend_from_slice(&i32::try_from(*number)?.to_be_bytes()),
                Type::INT8 => out.extend_from_slice(&number.to_be_bytes()),
                Type::NUMERIC => numeric::encode(*number, 0, out),
                _ => return Err(unsuitable(self.value, wire)),
            },
            (Value::Float(number), _) if *wire == Type::FLOAT8 => {
                out.extend_from_slice(&number.to_be_bytes())
            }
            (Value::Text(text), _) if is_text(wire) => out.extend_from_slice(text.as_bytes()),
            _ => return Err(unsuitable(self.value, wire)),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A column of a result as it came: its type and bytes, none for NULL.
pub struct Raw<'a>(Type, Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(wire: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(wire.clone(), Some(bytes)))
    }

    fn from_sql_null(wire: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(wire.clone(), None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Raw<'_> {
    /// The value, as declared.
    ///
    /// # Errors
    /// [`Error::Other`] if it is not of that type.
    pub fn value(&self, declared: ColumnType) -> Result<Value, Error> {
        let &Raw(ref wire, Some(bytes)) = self else {
            return Ok(Value::Null);
        };
        let integer = || match *wire {
            Type::INT2 => bytes
                .try_into()
                .ok()
                .map(|bytes| i64::from(i16::from_be_bytes(bytes))),
            Type::INT4 => bytes
                .try_into()
                .ok()
                .map(|bytes| i64::from(i32::from_be_bytes(bytes))),
            Type::INT8 => bytes.try_into().ok().map(i64::from_be_bytes),
            Type::NUMERIC => numeric::decode(bytes, 0),
            _ => None,
        };
        let value = match declared {
            ColumnType::Int32 | ColumnType::Int64 => integer().map(Value::Int),
            ColumnType::Decimal { scale, .. } if *wire == Type::NUMERIC => {
                numeric::decode(bytes, scale).map(Value::Int)
            }
            ColumnType::Decimal { scale, .. } => integer()
                .and_then(|number| number.checked_mul(10i64.pow(scale.into())))
                .map(Value::Int),
            ColumnType::Timestamp => {
                let us: Option<[u8; 8]> = bytes.try_into().ok();
                us.map(|us| Value::Int(i64::from_be_bytes(us) + EPOCH_US))
            }
            ColumnType::Float64 => {
                let number: Option<[u8; 8]> = bytes.try_into().ok();
                number
                    .filter(|_| *wire == Type::FLOAT8)
                    .map(|number| Value::Float(f64::from_be_bytes(number)))
            }
            ColumnType::Text(_) => std::str::from_utf8(bytes)
                .ok()
                .filter(|_| is_text(wire))
                .map(|text| Value::Text(text.to_owned())),
        };
        value.ok_or_else(|| {
            Error::Other(format!(
                "a column declared {declared:?} came as {wire}: {bytes:?}"
            ))
        })
    }
}

fn is_text(wire: &Type) -> bool {
    matches!(*wire, Type::TEXT | Type::VARCHAR | Type::BPCHAR)
}

fn unsuitable(value: &Value, wire: &Type) -> Box<dyn StdError + Sync + Send> {
    format!("{value:?} cannot be sent as {wire}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(value: Value, column_type: ColumnType, wire: Type) -> Result<Value, Error> {
        let mut out = BytesMut::new();
        let parameter = Parameter {
            value: &value,
            column_type,
        };
        let null = parameter
            .to_sql(&wire, &mut out)
            .map_err(|error| Error::Other(error.to_string()))?;
        let bytes = matches!(null, IsNull::No).then_some(&out[..]);
        Raw(wire, bytes).value(column_type)
    }

    #[test]
    fn values_come_back_as_they_went() {
        let decimal = ColumnType::Decimal {
            precision: 12,
            scale: 2,
        };
        for (value, column_type, wire) in [
            (Value::Int(-7), ColumnType::Int32, Type::INT4),
            (Value::Int(1 << 40), ColumnType::Int64, Type::INT8),
            (Value::Int(1234), decimal, Type::NUMERIC),
            (
                Value::Int(1_700_000_000_123_456),
                ColumnType::Timestamp,
                Type::TIMESTAMP,
            ),
            (Value::Float(0.25), ColumnType::Float64, Type::FLOAT8),
            (
                Value::Text("BARBAROUGHT".into()),
                ColumnType::Text(16),
                Type::VARCHAR,
            ),
            (Value::Null, ColumnType::Int32, Type::INT4),
        ] {
            assert_eq!(round(value.clone(), column_type, wire), Ok(value));
        }
    }

    #[test]
    fn values_that_do_not_fit_are_an_error() {
        assert!(round(Value::Int(1 << 40), ColumnType::Int32, Type::INT4).is_err());
        assert!(round(Value::Text("1".into()), ColumnType::Int32, Type::INT4).is_err());
        assert!(
            Raw(Type::INT4, Some(&[1, 2]))
                .value(ColumnType::Int32)
                .is_err()
        );
    }

    #[test]
    fn a_sum_of_integers_is_an_integer_whatever_it_comes_as() {
        let mut out = BytesMut::new();
        numeric::encode(30_000, 0, &mut out);
        assert_eq!(
            Raw(Type::NUMERIC, Some(&out)).value(ColumnType::Int64),
            Ok(Value::Int(30_000))
        );
        assert_eq!(
            Raw(Type::INT8, Some(&5i64.to_be_bytes())).value(ColumnType::Int64),
            Ok(Value::Int(5))
        );
    }
}
