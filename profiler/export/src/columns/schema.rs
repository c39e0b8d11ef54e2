//! The tables and their columns: a contract with users who have older files. Fields may be added with a new version;
//! none is renamed or given another meaning. `tests/columns/schema-vN.txt` describes version N, and a test compares.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// Version of the tables, in every file's metadata under [`VERSION_KEY`]. 2: the traces of intervals. 3: for how many they stand.
pub const SCHEMA_VERSION: u32 = 3;
/// Where a file says which version its table has.
pub const VERSION_KEY: &str = "evenkeel.schema_version";
/// Where a file says which program its rows are of; files of earlier versions do not.
pub const PROGRAM_KEY: &str = "evenkeel.program";
/// Where a file says which table it is of.
pub(crate) const TABLE_KEY: &str = "evenkeel.table";
/// Digits of a sum: all of 128 bits.
pub(crate) const SUM_DIGITS: u8 = 38;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// A row an interval.
    Intervals,
    /// A row a call path.
    Nodes,
    /// A row an interval and call path that it took.
    Times,
    /// Sums by class and minute.
    Moments,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Text,
    Integer,
    /// A sum of integers that may need more than 64 bits.
    Sum,
    Number,
    /// Microseconds since 1970, UTC.
    Moment,
    Flag,
}
use Holds::{Flag, Integer, Moment, Number, Sum, Text};

const REQUIRED: bool = false;
const OPTIONAL: bool = true;

/// Name, what it holds, whether it may be null.
type Column = (&'static str, Holds, bool);

const INTERVALS: &[Column] = &[
    ("run", Text, REQUIRED),
    ("build", Text, REQUIRED),
    ("interval", Integer, REQUIRED),
    ("begin", Moment, REQUIRED),
    ("class", Text, REQUIRED),
    ("ticks_per_ns", Number, REQUIRED),
    ("latency_ticks", Integer, REQUIRED),
    ("bucket_ticks", Integer, REQUIRED),
    ("trace_id", Text, OPTIONAL),
    ("span_id", Text, OPTIONAL),
    ("weight", Integer, OPTIONAL),
];

const NODES: &[Column] = &[
    ("run", Text, REQUIRED),
    ("build", Text, REQUIRED),
    ("node", Integer, REQUIRED),
    ("parent", Integer, OPTIONAL),
    ("depth", Integer, REQUIRED),
    ("path", Text, REQUIRED),
    ("name", Text, REQUIRED),
    ("site", Text, REQUIRED),
    ("file", Text, OPTIONAL),
    ("line", Integer, OPTIONAL),
    ("kind", Text, REQUIRED),
    ("function", Text, REQUIRED),
    ("height", Integer, REQUIRED),
    ("is_ranked", Flag, REQUIRED),
    ("is_nested", Flag, REQUIRED),
    ("has_children", Flag, REQUIRED),
    ("own_name", Text, REQUIRED),
    ("own_kind", Text, REQUIRED),
    ("own_function", Text, REQUIRED),
    ("is_own_ranked", Flag, REQUIRED),
];

const TIMES: &[Column] = &[
    ("run", Text, REQUIRED),
    ("interval", Integer, REQUIRED),
    ("node", Integer, REQUIRED),
    ("calls", Integer, REQUIRED),
    ("exclusive_ticks", Integer, REQUIRED),
    ("inclusive_ticks", Integer, REQUIRED),
];

const MOMENTS: &[Column] = &[
    ("run", Text, REQUIRED),
    ("build", Text, REQUIRED),
    ("minute", Moment, REQUIRED),
    ("class", Text, OPTIONAL),
    ("ticks_per_ns", Number, REQUIRED),
    ("node", Integer, REQUIRED),
    ("other", Integer, OPTIONAL),
    ("intervals", Integer, OPTIONAL),
    ("inclusive", Sum, OPTIONAL),
    ("inclusive_squared", Sum, OPTIONAL),
    ("inclusive_latency", Sum, OPTIONAL),
    ("exclusive", Sum, OPTIONAL),
    ("exclusive_squared", Sum, OPTIONAL),
    ("exclusive_latency", Sum, OPTIONAL),
    ("calls", Sum, OPTIONAL),
    ("calls_squared", Sum, OPTIONAL),
    ("calls_inclusive", Sum, OPTIONAL),
    ("products", Sum, OPTIONAL),
];

impl Table {
    /// All of them.
    pub const ALL: [Table; 4] = [Table::Intervals, Table::Nodes, Table::Times, Table::Moments];

    /// Its name, which is that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Table::Intervals => "intervals",
            Table::Nodes => "nodes",
            Table::Times => "times",
            Table::Moments => "moments",
        }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            Table::Intervals => INTERVALS,
            Table::Nodes => NODES,
            Table::Times => TIMES,
            Table::Moments => MOMENTS,
        }
    }

    /// Its columns; those by which it is partitioned, `day` and `host`, are in the names of its folders.
    pub fn schema(self) -> SchemaRef {
        let field = |&(name, holds, nullable): &Column| Field::new(name, holds.arrow(), nullable);
        let fields: Vec<Field> = self.columns().iter().map(field).collect();
        let metadata = HashMap::from([
            (VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string()),
            (TABLE_KEY.to_owned(), self.name().to_owned()),
        ]);
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }
}

impl Holds {
    fn arrow(self) -> DataType {
        match self {
            Text => DataType::Utf8,
            Integer => DataType::Int64,
            Sum => DataType::Decimal128(SUM_DIGITS, 0),
            Number => DataType::Float64,
            Moment => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Flag => DataType::Boolean,
        }
    }
}
