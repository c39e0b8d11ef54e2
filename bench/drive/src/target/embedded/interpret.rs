//! Declared statements carried out on the store.

use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicI64, Ordering};

use evenkeel_store::{self as store, Scan, StoreError};
use evenkeel_workloads::interface::{
    self, Access, AccessPath, Assignment, Condition, Error, Operand, Operation, Order, Output, Row,
    RowLock, Schema, Select, Statement, Update, Value,
};

use super::collect::{Collector, Pair};
use super::values::{given, kept, minus, plus};

/// A workload's tables in the store.
pub struct Tables {
    pub(super) schema: Schema,
    pub(super) statements: Vec<Statement>,
    pub(super) tables: Vec<StoredTable>,
}

/// A table.
pub struct StoredTable {
    pub(super) table: store::Table,
    pub(super) indexes: Vec<store::Index>,
    /// For a table declared without a key, the last number given to a row as its key. The key is a column after the
    /// declared ones, as InnoDB's hidden one.
    pub(super) last_row: Option<AtomicI64>,
}

impl StoredTable {
    /// A stored row.
    pub(super) fn stored(&self, values: &[Value]) -> Vec<store::Value> {
        let mut row: Vec<store::Value> = values.iter().map(kept).collect();
        if let Some(last) = &self.last_row {
            row.push(store::Value::Int(last.fetch_add(1, Ordering::Relaxed) + 1));
        }
        row
    }
}

/// What went wrong: in the store, or between it and the interface.
pub enum Failure {
    /// The store.
    Store(StoreError),
    /// A value or a row of the wrong kind.
    Value(Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Value(error)
    }
}

/// Where an access leads.
enum Place {
    /// Nowhere: nothing equals NULL.
    Nowhere,
    /// To the row with this primary key.
    Point(Vec<store::Value>),
    /// To a range.
    Range(Scan),
}

/// One statement with its parameters, within a transaction.
pub struct Execution<'a> {
    /// The tables.
    pub tables: &'a Tables,
    /// The transaction.
    pub transaction: &'a mut store::Transaction,
    /// Whether reading keeps no locks (read committed).
    pub unlocked: bool,
    /// The parameters.
    pub parameters: &'a [Value],
}

impl Execution<'_> {
    /// Carries out a statement: its rows, and how many it inserted, found or deleted.
    pub fn run(&mut self, statement: &Statement) -> Result<(Vec<Row>, u64), Failure> {
        match &statement.operation {
            Operation::Select(select) => {
                let rows = self.select(select)?;
                let count = rows.len() as u64;
                Ok((rows, count))
            }
            Operation::Insert(table) => {
                let stored = &self.tables.tables[table.0];
                self.transaction
                    .insert(&stored.table, &stored.stored(self.parameters))?;
                Ok((Vec::new(), 1))
            }
            Operation::Update(update) => self.update(update),
            Operation::Delete(access) => self.delete(access).map(|count| (Vec::new(), count)),
        }
    }

    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Failure> {
        let limit = match select
            .limit
            .as_ref()
            .map(|limit| operand(limit, self.parameters, None))
        {
            Some(store::Value::Int(limit)) => usize::try_from(limit).unwrap_or(0),
            _ => usize::MAX,
        };
        // A shared lock is what reading takes anyway, unless it is kept for a moment only (read committed); then the stronger
        // one serves.
        let for_update =
            select.lock == RowLock::Exclusive || (select.lock == RowLock::Shared && self.unlocked);
        let whole = select.conditions.is_empty()
            && select.join.is_none()
            && matches!(select.output, Output::Columns(_));
        let reach = Reach {
            reverse: select.order == Order::Descending,
            for_update,
            limit: if whole { limit } else { usize::MAX },
        };
        let mut collector = Collector::new(&select.output, limit);
        let (parameters, conditions) = (self.parameters, &select.conditions);
        if limit == 0 {
            return Ok(collector.finish());
        }
        let Some(join) = &select.join else {
            self.visit(&select.access, None, reach, |row| {
                let pair = Pair {
                    first: row,
                    joined: None,
                };
                if hold(conditions, pair, parameters)? {
                    collector.add(pair)
                } else {
                    Ok(ControlFlow::Continue(()))
                }
            })?;
            return Ok(collector.finish());
        };
        for outer in self.rows(&select.access, reach)? {
            let mut full = ControlFlow::Continue(());
            self.visit(
                join,
                Some(&outer),
                Reach {
                    reverse: false,
                    ..reach
                },
                |row| {
                    let pair = Pair {
                        first: &outer,
                        joined: Some(row),
                    };
                    if hold(conditions, pair, parameters)? {
                        full = collector.add(pair)?;
                    }
                    Ok(full)
                },
            )?;
            if full.is_break() {
                break;
            }
        }
        Ok(collector.finish())
    }

    fn update(&mut self, update: &Update) -> Result<(Vec<Row>, u64), Failure> {
        let (mut returned, mut count) = (Vec::new(), 0);
        for old in self.rows(&update.access, Reach::FOR_UPDATE)? {
            let pair = Pair {
                first: &old,
                joined: None,
            };
            if !hold(&update.conditions, pair, self.parameters)? {
                continue;
            }
            let mut new = old.clone();
            for (column, assignment) in &update.set {
                let before = || given(&old[*column]);
                let value =
                    |operand: &Operand| given(&self::operand(operand, self.parameters, None));
                new[*column] = kept(&match assignment {
                    Assignment::Set(operand) => value(operand)?,
                    Assignment::Add(operand) => plus(&before()?, &value(operand)?),
                    Assignment::Subtract(operand) => minus(&before()?, &value(operand)?),
                });
            }
            self.transaction
                .update(&self.tables.tables[update.access.table.0].table, &new)?;
            if !update.returning.is_empty() {
                let values: Result<_, Error> = update
                    .returning
                    .iter()
                    .map(|&column| given(&new[column]))
                    .collect();
                returned.push(Row(values?));
            }
            count += 1;
        }
        Ok((returned, count))
    }

    fn delete(&mut self, access: &Access) -> Result<u64, Failure> {
        let table = &self.tables.tables[access.table.0].table;
        if let Place::Point(key) = self.place(access, None) {
            return Ok(u64::from(self.transaction.delete(table, &key)?));
        }
        let mut count = 0;
        for row in self.rows(access, Reach::FOR_UPDATE)? {
            count += u64::from(self.transaction.delete(table, &table.key_of(&row))?);
        }
        Ok(count)
    }

    /// All rows an access reaches.
    fn rows(&mut self, access: &Access, reach: Reach) -> Result<Vec<Vec<store::Value>>, Failure> {
        let mut rows = Vec::new();
        self.visit(access, None, reach, |row| {
            rows.push(row.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    /// Calls `visit` with each row that an access reaches, until it breaks or fails.
    fn visit(
        &mut self,
        access: &Access,
        outer: Option<&[store::Value]>,
        reach: Reach,
        mut visit: impl FnMut(&[store::Value]) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Failure> {
        let place = self.place(access, outer);
        let table = &self.tables.tables[access.table.0].table;
        match place {
            Place::Nowhere => Ok(()),
            Place::Point(key) => {
                let row = if reach.for_update {
                    self.transaction.get_for_update(table, &key)?
                } else {
                    self.transaction.get(table, &key)?
                };
                row.map_or(Ok(()), |row| visit(&row).map(drop).map_err(Failure::Value))
            }
            Place::Range(scan) => {
                let scan = if reach.reverse { scan.reverse() } else { scan };
                let scan = if reach.for_update {
                    scan.for_update()
                } else {
                    scan
                };
                let mut failed = None;
                self.transaction
                    .scan_each(table, &scan.limit(reach.limit), |row| match visit(&row) {
                        Ok(goes_on) => goes_on,
                        Err(error) => {
                            failed = Some(error);
                            ControlFlow::Break(())
                        }
                    })?;
                failed.map_or(Ok(()), |error| Err(Failure::Value(error)))
            }
        }
    }

    fn place(&self, access: &Access, outer: Option<&[store::Value]>) -> Place {
        let value = |operand: &Operand| self::operand(operand, self.parameters, outer);
        let equal: Vec<store::Value> = access.equal.iter().map(value).collect();
        let declared = &self.tables.schema[access.table];
        let (low, high) = (access.range.low.as_ref(), access.range.high.as_ref());
        let is_null = |bound: &interface::Bound| value(&bound.value) == store::Value::Null;
        if equal.contains(&store::Value::Null)
            || low.is_some_and(is_null)
            || high.is_some_and(is_null)
        {
            return Place::Nowhere;
        }
        if access.is_point(&self.tables.schema) {
            return Place::Point(equal);
        }
        let next = declared.key(access.path).get(equal.len()).copied();
        let nullable = next.is_some_and(|column| declared.columns[column].nullable);
        let with = |last: store::Value| equal.iter().cloned().chain([last]).collect::<Vec<_>>();
        let bound = |bound: &interface::Bound| {
            let key = with(value(&bound.value));
            if bound.inclusive {
                Bound::Included(key)
            } else {
                Bound::Excluded(key)
            }
        };
        let open = || {
            if equal.is_empty() {
                Bound::Unbounded
            } else {
                Bound::Included(equal.clone())
            }
        };
        let from = match low {
            Some(low) => bound(low),
            // NULLs come first and are below no bound.
            None if high.is_some() && nullable => Bound::Excluded(with(store::Value::Null)),
            None => open(),
        };
        let to = high.map_or_else(open, bound);
        let scan = Scan::between(from, to);
        Place::Range(match access.path {
            AccessPath::PrimaryKey => scan,
            AccessPath::Index(at) => scan.on(self.tables.tables[access.table.0].indexes[at]),
        })
    }
}

/// How rows are reached.
#[derive(Clone, Copy)]
struct Reach {
    reverse: bool,
    for_update: bool,
    limit: usize,
}

impl Reach {
    const FOR_UPDATE: Reach = Reach {
        reverse: false,
        for_update: true,
        limit: usize::MAX,
    };
}

fn operand(
    operand: &Operand,
    parameters: &[Value],
    outer: Option<&[store::Value]>,
) -> store::Value {
    match operand {
        Operand::Parameter(at) => kept(&parameters[*at]),
        Operand::Constant(value) => kept(value),
        Operand::Outer(column) => outer.map_or(store::Value::Null, |row| row[*column].clone()),
    }
}

fn hold(conditions: &[Condition], pair: Pair<'_>, parameters: &[Value]) -> Result<bool, Error> {
    for condition in conditions {
        let right = given(&operand(&condition.value, parameters, None))?;
        if !condition
            .compare
            .holds(&pair.value(condition.column)?, &right)
        {
            return Ok(false);
        }
    }
    Ok(true)
}
