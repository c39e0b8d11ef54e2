//! Rows of a table, gathered to columns and written as Parquet.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::schema::{PROGRAM_KEY, SCHEMA_VERSION, SUM_DIGITS, TABLE_KEY, Table, VERSION_KEY};

/// Rows gathered before they are handed to the writer.
const BATCH_ROWS: usize = 1 << 13;
/// Rows of a row group, which is kept in memory until it is full.
const GROUP_ROWS: usize = 1 << 18;

/// The value of a column.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// Text.
    Text(&'a str),
    /// An integer, or microseconds since 1970.
    Integer(i64),
    /// A sum.
    Sum(i128),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Integer(value)
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Cell::Integer(value.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Flag(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Cell<'a> {
        value.map_or(Cell::Null, Into::into)
    }
}

enum Column {
    Text(StringBuilder),
    Integer(Int64Builder),
    Sum(Decimal128Builder),
    Number(Float64Builder),
    Moment(TimestampMicrosecondBuilder),
    Flag(BooleanBuilder),
}

impl Column {
    fn of(holds: &DataType) -> Column {
        match holds {
            DataType::Utf8 => Column::Text(StringBuilder::new()),
            DataType::Int64 => Column::Integer(Int64Builder::new()),
            DataType::Float64 => Column::Number(Float64Builder::new()),
            DataType::Boolean => Column::Flag(BooleanBuilder::new()),
            DataType::Timestamp(..) => {
                Column::Moment(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            _ => Column::Sum(
                Decimal128Builder::new()
                    .with_precision_and_scale(SUM_DIGITS, 0)
                    .expect("digits that fit"),
            ),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Column::Text(column), Cell::Text(text)) => column.append_value(text),
            (Column::Text(column), Cell::Null) => column.append_null(),
            (Column::Integer(column), Cell::Integer(value)) => column.append_value(value),
            (Column::Integer(column), Cell::Null) => column.append_null(),
            (Column::Sum(column), Cell::Sum(value)) => column.append_value(value),
            (Column::Sum(column), Cell::Null) => column.append_null(),
            (Column::Number(column), Cell::Number(value)) => column.append_value(value),
            (Column::Moment(column), Cell::Integer(value)) => column.append_value(value),
            (Column::Flag(column), Cell::Flag(value)) => column.append_value(value),
            (_, cell) => unreachable!("{cell:?} is not of its column"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Text(column) => Arc::new(column.finish()),
            Column::Integer(column) => Arc::new(column.finish()),
            Column::Sum(column) => Arc::new(column.finish()),
            Column::Number(column) => Arc::new(column.finish()),
            Column::Moment(column) => Arc::new(column.finish()),
            Column::Flag(column) => Arc::new(column.finish()),
        }
    }
}

/// A file of rows.
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    gathered: usize,
    /// Rows so far.
    pub written: u64,
    writer: ArrowWriter<File>,
}

impl Rows {
    /// A file of a table, with rows of this program.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(table: Table, program: &str, file: File) -> io::Result<Rows> {
        let schema = table.schema();
        let said = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let metadata = vec![
            said(VERSION_KEY, SCHEMA_VERSION.to_string()),
            said(TABLE_KEY, table.name().to_owned()),
            said(PROGRAM_KEY, program.to_owned()),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_created_by(concat!("evenkeel ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata))
            .build();
        let fields = schema.fields().iter();
        Ok(Rows {
            columns: fields.map(|field| Column::of(field.data_type())).collect(),
            gathered: 0,
            written: 0,
            writer: ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)?,
            schema,
        })
    }

    /// Adds a row: a cell a column, in their order.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        assert_eq!(row.len(), self.columns.len(), "a cell a column");
        for (column, &cell) in self.columns.iter_mut().zip(row) {
            column.push(cell);
        }
        self.gathered += 1;
        self.written += 1;
        if self.gathered == BATCH_ROWS {
            self.hand_on()?;
        }
        Ok(())
    }

    fn hand_on(&mut self) -> io::Result<()> {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)?;
        self.gathered = 0;
        self.writer.write(&batch).map_err(failed)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.gathered > 0 {
            self.hand_on()?;
        }
        self.writer.close().map_err(failed)?;
        Ok(())
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
