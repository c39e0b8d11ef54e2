//! Declarations of statements: rows by the names of tables and columns, and operations on them.

use crate::interface::{Aggregate, Assignment, ColumnRef, Compare, Operand, Order, RowLock, Value};

/// A value by name: what an [`Operand`] becomes of.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// The parameter at this position, from 0.
    Parameter(usize),
    /// A constant.
    Constant(Value),
    /// A column of the first table, in the access of a joined one.
    Outer(&'static str),
}

/// The parameter at `position`, from 0.
pub fn p(position: usize) -> Term {
    Term::Parameter(position)
}

/// A constant.
pub fn constant(value: impl Into<Value>) -> Term {
    Term::Constant(value.into())
}

/// In the key of a joined table: a column of the first table.
pub fn outer(column: &'static str) -> Term {
    Term::Outer(column)
}

/// The rows of a table that a statement is about; begins as all of them.
pub fn from(table: &'static str) -> Rows {
    Rows {
        first: Reach::all(table),
        ..Rows::default()
    }
}

/// An insert of one row, with all of `table`'s columns as parameters.
pub fn insert(table: &'static str) -> Declaration {
    Declaration::Insert(table)
}

/// A table and its access path.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    pub(super) table: &'static str,
    pub(super) index: Option<&'static str>,
    pub(super) equal: Vec<Term>,
    pub(super) low: Option<(Term, bool)>,
    pub(super) high: Option<(Term, bool)>,
}

impl Reach {
    fn all(table: &'static str) -> Self {
        Reach {
            table,
            ..Reach::default()
        }
    }
}

/// Rows a statement is about: see [`from`].
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(super) first: Reach,
    pub(super) joined: Option<Reach>,
    pub(super) conditions: Vec<(&'static str, Compare, Term)>,
    pub(super) order: Option<Order>,
    pub(super) limit: Option<Term>,
    pub(super) lock: Option<RowLock>,
}

impl Rows {
    fn reach(&mut self) -> &mut Reach {
        self.joined.as_mut().unwrap_or(&mut self.first)
    }

    /// Selects rows whose leading primary-key columns equal `values`. After [`Rows::join`], of the joined table.
    pub fn key<const N: usize>(mut self, values: [Term; N]) -> Self {
        self.reach().equal = values.to_vec();
        self
    }

    /// Selects rows whose leading columns of the secondary index `name` equal `values`.
    pub fn index<const N: usize>(mut self, name: &'static str, values: [Term; N]) -> Self {
        self.reach().index = Some(name);
        self.key(values)
    }

    /// Selects rows whose next key column is at least `low`.
    pub fn at_least(mut self, low: Term) -> Self {
        self.reach().low = Some((low, true));
        self
    }

    /// Selects rows whose next key column is greater than `low`.
    pub fn above(mut self, low: Term) -> Self {
        self.reach().low = Some((low, false));
        self
    }

    /// Selects rows whose next key column is at most `high`.
    pub fn at_most(mut self, high: Term) -> Self {
        self.reach().high = Some((high, true));
        self
    }

    /// Selects rows whose next key column is less than `high`.
    pub fn below(mut self, high: Term) -> Self {
        self.reach().high = Some((high, false));
        self
    }

    /// Joined with `table`, whose access follows.
    pub fn join(mut self, table: &'static str) -> Self {
        self.joined = Some(Reach::all(table));
        self
    }

    /// Selects rows for which the comparison holds, too.
    pub fn filter(mut self, column: &'static str, compare: Compare, value: Term) -> Self {
        self.conditions.push((column, compare, value));
        self
    }

    /// In key order.
    pub fn ascending(mut self) -> Self {
        self.order = Some(Order::Ascending);
        self
    }

    /// In reverse key order.
    pub fn descending(mut self) -> Self {
        self.order = Some(Order::Descending);
        self
    }

    /// Selects at most this many rows.
    pub fn limit(mut self, limit: Term) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Locked exclusively.
    pub fn for_update(mut self) -> Self {
        self.lock = Some(RowLock::Exclusive);
        self
    }

    /// Locked in shared mode.
    pub fn for_share(mut self) -> Self {
        self.lock = Some(RowLock::Shared);
        self
    }

    /// A query for these columns of each row.
    pub fn columns(self, columns: impl IntoIterator<Item = &'static str>) -> Declaration {
        Declaration::Columns(self, columns.into_iter().collect())
    }

    /// A query for aggregates of all rows.
    pub fn aggregates<const N: usize>(self, aggregates: [Function; N]) -> Declaration {
        self.grouped([], aggregates)
    }

    /// A query for the columns `by` and aggregates of each group of rows that agree in `by`.
    pub fn grouped<const B: usize, const N: usize>(
        self,
        by: [&'static str; B],
        aggregates: [Function; N],
    ) -> Declaration {
        Declaration::Groups(self, by.to_vec(), aggregates.to_vec())
    }

    /// A change of the rows.
    pub fn update<const N: usize>(self, set: [Change; N]) -> Declaration {
        Declaration::Update(self, set.to_vec(), Vec::new())
    }

    /// Changes the rows and returns `columns` after the change.
    pub fn update_returning(
        self,
        set: impl IntoIterator<Item = Change>,
        columns: impl IntoIterator<Item = &'static str>,
    ) -> Declaration {
        let set = set.into_iter().collect();
        Declaration::Update(self, set, columns.into_iter().collect())
    }

    /// A removal of the rows.
    pub fn delete(self) -> Declaration {
        Declaration::Delete(self)
    }
}

/// An aggregate by name.
#[derive(Clone, Copy, Debug)]
pub struct Function(
    pub(super) &'static str,
    pub(super) fn(ColumnRef) -> Aggregate,
);

/// Number of rows.
pub fn count() -> Function {
    Function("", |_| Aggregate::Count)
}

/// Number of values of a column that are not NULL.
pub fn count_values(column: &'static str) -> Function {
    Function(column, Aggregate::CountValues)
}

/// Number of distinct values of a column.
pub fn count_distinct(column: &'static str) -> Function {
    Function(column, Aggregate::CountDistinct)
}

/// Sum of a column.
pub fn sum(column: &'static str) -> Function {
    Function(column, Aggregate::Sum)
}

/// Smallest value of a column.
pub fn min(column: &'static str) -> Function {
    Function(column, Aggregate::Min)
}

/// Largest value of a column.
pub fn max(column: &'static str) -> Function {
    Function(column, Aggregate::Max)
}

/// Mean of a column.
pub fn average(column: &'static str) -> Function {
    Function(column, Aggregate::Average)
}

/// An assignment by name.
#[derive(Clone, Debug)]
pub struct Change(
    pub(super) &'static str,
    pub(super) fn(Operand) -> Assignment,
    pub(super) Term,
);

/// `column = value`
pub fn set(column: &'static str, value: Term) -> Change {
    Change(column, Assignment::Set, value)
}

/// `column = column + value`
pub fn add(column: &'static str, value: Term) -> Change {
    Change(column, Assignment::Add, value)
}

/// `column = column - value`
pub fn subtract(column: &'static str, value: Term) -> Change {
    Change(column, Assignment::Subtract, value)
}

/// A complete declaration, to be given to [`Statements::add`](super::Statements::add).
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A query for columns.
    Columns(Rows, Vec<&'static str>),
    /// A query for aggregates of groups.
    Groups(Rows, Vec<&'static str>, Vec<Function>),
    /// An insert.
    Insert(&'static str),
    /// An update, and what it returns.
    Update(Rows, Vec<Change>, Vec<&'static str>),
    /// A delete.
    Delete(Rows),
}
