//! Rows that answer a question.

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::{Float64Type, Int64Type};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Map, Value};

/// Rows with their columns' names.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Names.
    pub columns: Vec<String>,
    /// Rows, a value a column.
    pub rows: Vec<Vec<Value>>,
}

impl Answer {
    /// The engine's answer.
    ///
    /// # Errors
    /// A value cannot be written.
    pub fn new(columns: Vec<String>, batches: &[RecordBatch]) -> Result<Answer, ArrowError> {
        let mut rows = Vec::new();
        for batch in batches {
            let first = rows.len();
            rows.resize(first + batch.num_rows(), Vec::new());
            for column in batch.columns() {
                for (row, value) in rows[first..].iter_mut().zip(values(column)?) {
                    row.push(value);
                }
            }
        }
        Ok(Answer { columns, rows })
    }

    /// Where a column stands.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The rows as JSON, an object each.
    pub fn json(&self) -> Value {
        let row = |row: &Vec<Value>| -> Value {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(row).collect())
    }
}

/// Numbers are numbers, everything else is text as the engine writes it; integers of more than 64 bits are text, too.
fn values(column: &ArrayRef) -> Result<Vec<Value>, ArrowError> {
    let holds = column.data_type();
    let count = column.len();
    if holds == &DataType::Boolean {
        let column = column.as_boolean();
        let value = |at| column.is_valid(at).then(|| column.value(at));
        return Ok((0..count).map(|at| value(at).into()).collect());
    }
    if holds.is_integer() && holds != &DataType::UInt64 {
        let column = cast(column, &DataType::Int64)?;
        let column = column.as_primitive::<Int64Type>();
        return Ok(column.iter().map(Value::from).collect());
    }
    if holds.is_floating() {
        let column = cast(column, &DataType::Float64)?;
        let column = column.as_primitive::<Float64Type>();
        return Ok(column.iter().map(Value::from).collect());
    }
    let options = FormatOptions::default();
    let text = ArrayFormatter::try_new(column, &options)?;
    let value = |at| match column.is_valid(at) {
        true => text.value(at).to_string().into(),
        false => Value::Null,
    };
    Ok((0..count).map(value).collect())
}
