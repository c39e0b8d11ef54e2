//! Statements in declarative form.
//!
//! A workload declares the statements that it will execute. A SQL target translates each declaration once into a
//! prepared statement ([`crate::sql`]); an embedded target interprets it over its tables. The forms are those of
//! transaction benchmarks. Every access follows the primary key or one secondary index, from an equality prefix and
//! at most one range after it. [`declare`](super::declare) builds declarations: it resolves names to positions and
//! checks them.

use super::{AccessPath, ColumnType, TableId, Value};

/// A statement of a workload, by its position in [`Workload::statements`](super::Workload::statements).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementId(pub usize);

/// A declared statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// A name for messages and profiles, such as `new_order.get_customer`. Unique in the workload.
    pub name: &'static str,
    /// Its operation.
    pub operation: Operation,
    /// The types of its parameters, in order.
    pub parameters: Vec<ColumnType>,
    /// The types of its result's columns, in order; empty if it returns no rows.
    pub results: Vec<ColumnType>,
}

/// Operations of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Reads rows.
    Select(Select),
    /// Inserts one row; its parameters are the table's columns in order.
    Insert(TableId),
    /// Changes all rows an access finds.
    Update(Update),
    /// Deletes all rows an access finds.
    Delete(Access),
}

/// A column of one of a statement's (at most two) tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// False: of the statement's first table. True: of the joined one.
    pub joined: bool,
    /// Position in the table's columns.
    pub column: usize,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The parameter at this position, from 0.
    Parameter(usize),
    /// A constant of the declaration.
    Constant(Value),
    /// In the access of a joined table: this column of the first table's current row.
    Outer(usize),
}

/// The access path of one table: all rows with `path`'s leading key columns equal to `equal`, whose next key column
/// lies in `range`. With neither, all rows. Rows come in key order (of a secondary index: then by primary key).
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The table.
    pub table: TableId,
    /// The key that is followed.
    pub path: AccessPath,
    /// Values of the leading key columns; at most as many as the key has.
    pub equal: Vec<Operand>,
    /// Bounds of the key column behind `equal`.
    pub range: Range,
}

impl Access {
    /// True if it reaches at most one row, by the whole primary key.
    pub fn is_point(&self, schema: &super::Schema) -> bool {
        let key = &schema[self.table].primary_key;
        self.path == AccessPath::PrimaryKey && !key.is_empty() && self.equal.len() == key.len()
    }
}

/// Bounds of one key column; both may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Range {
    /// Lower bound.
    pub low: Option<Bound>,
    /// Upper bound.
    pub high: Option<Bound>,
}

/// An end of a [`Range`].
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The bounding value.
    pub value: Operand,
    /// Whether the value itself is inside.
    pub inclusive: bool,
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The first table, and the order of the result.
    pub access: Access,
    /// A second table, joined to each row of the first; its operands may be [`Operand::Outer`]. An inner
    /// join.
    pub join: Option<Access>,
    /// Further conditions; all must hold.
    pub conditions: Vec<Condition>,
    /// The result.
    pub output: Output,
    /// Whether rows are wanted in the order of `access`. If not, any order will do, and SQL says nothing of
    /// it.
    pub order: Order,
    /// Limit of rows.
    pub limit: Option<Operand>,
    /// Row locks taken beyond what the isolation level takes by itself. Never with a join or aggregates.
    pub lock: RowLock,
}

/// A condition on one column. A comparison with NULL does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The left side.
    pub column: ColumnRef,
    /// The comparison.
    pub compare: Compare,
    /// The right side.
    pub value: Operand,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Compare {
    /// Whether it holds between two values; with NULL on either side it does not.
    pub fn holds(self, left: &Value, right: &Value) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        if left.is_null() || right.is_null() {
            return false;
        }
        left.partial_cmp(right).is_some_and(|ordering| match self {
            Compare::Equal => ordering == Equal,
            Compare::NotEqual => ordering != Equal,
            Compare::Less => ordering == Less,
            Compare::LessOrEqual => ordering != Greater,
            Compare::Greater => ordering == Greater,
            Compare::GreaterOrEqual => ordering != Less,
        })
    }
}

/// Results of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// These columns of every row.
    Columns(Vec<ColumnRef>),
    /// A row for each group of rows that agree in `by`: these columns, then the aggregates. Without `by`: exactly one
    /// row, of the aggregates. Groups come in any order.
    Groups {
        /// The grouping columns.
        by: Vec<ColumnRef>,
        /// Aggregates of each group.
        aggregates: Vec<Aggregate>,
    },
}

/// A function of a group of rows. NULLs are left out; of no values, counts are 0 and everything else NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Number of rows: an `Int64`.
    Count,
    /// Number of values that are not NULL: an `Int64`.
    CountValues(ColumnRef),
    /// Number of distinct values: an `Int64`.
    CountDistinct(ColumnRef),
    /// Sum: of decimals a decimal, of integers an `Int64`.
    Sum(ColumnRef),
    /// Smallest value.
    Min(ColumnRef),
    /// Largest value.
    Max(ColumnRef),
    /// Mean of an integer column: a `Float64`.
    Average(ColumnRef),
}

/// Order of a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Any.
    Unspecified,
    /// In key order of the access. Rows with equal keys of a secondary index come in any order.
    Ascending,
    /// In reverse key order of the access.
    Descending,
}

/// Row locks a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// None beyond the isolation level's.
    None,
    /// Shared: `FOR SHARE`, `LOCK IN SHARE MODE`.
    Shared,
    /// Exclusive: `FOR UPDATE`.
    Exclusive,
}

/// A change of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The rows.
    pub access: Access,
    /// Further conditions; all must hold for a row to be changed.
    pub conditions: Vec<Condition>,
    /// The columns set and to what; all right sides see the row as it was. Never a primary-key column.
    pub set: Vec<(usize, Assignment)>,
    /// Columns of the changed rows to return, with their *new* values. Empty for most updates.
    ///
    /// PostgreSQL has `UPDATE .. RETURNING`; elsewhere a `SELECT` follows the update, on rows that are locked
    /// by then. Never with conditions, nor where the update changes the key it follows.
    pub returning: Vec<usize>,
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `column = operand`
    Set(Operand),
    /// `column = column + operand`
    Add(Operand),
    /// `column = column - operand`
    Subtract(Operand),
}
