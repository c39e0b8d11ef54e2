//! From names to positions: what is made of a declaration.

use super::declaration::{Change, Declaration, Function, Reach, Rows, Term};
use crate::interface::{
    Access, AccessPath, Aggregate, Bound, ColumnRef, ColumnType, Condition, Operand, Operation,
    Order, Output, Range, RowLock, Schema, Select, Table, Update,
};

/// Turns names into positions and learns the types of parameters.
pub(super) struct Resolver<'s> {
    statement: &'static str,
    schema: &'s Schema,
    parameters: Vec<Option<ColumnType>>,
}

impl<'s> Resolver<'s> {
    pub(super) fn new(statement: &'static str, schema: &'s Schema) -> Self {
        Resolver {
            statement,
            schema,
            parameters: Vec::new(),
        }
    }

    /// The types of the parameters.
    pub(super) fn finish(self) -> Vec<ColumnType> {
        let types = self.parameters.into_iter().enumerate();
        types
            .map(|(i, known)| {
                known.unwrap_or_else(|| panic!("{}: parameter {i} is not used", self.statement))
            })
            .collect()
    }

    /// The statement's operation, and the types of its result's columns.
    pub(super) fn operation(&mut self, declaration: Declaration) -> (Operation, Vec<ColumnType>) {
        match declaration {
            Declaration::Columns(rows, columns) => {
                let refs: Vec<_> = columns
                    .iter()
                    .map(|name| self.column(&rows, name))
                    .collect();
                let types = refs
                    .iter()
                    .map(|column| self.type_of(&rows, *column))
                    .collect();
                (
                    Operation::Select(self.select(rows, Output::Columns(refs))),
                    types,
                )
            }
            Declaration::Groups(rows, by, functions) => self.groups(rows, &by, &functions),
            Declaration::Insert(table) => {
                let table = self.schema.find(table);
                self.parameters = self.schema[table]
                    .columns
                    .iter()
                    .map(|column| Some(column.column_type))
                    .collect();
                (Operation::Insert(table), Vec::new())
            }
            Declaration::Update(rows, changes, returning) => self.update(rows, changes, &returning),
            Declaration::Delete(rows) => {
                self.only_an_access(&rows);
                assert!(
                    rows.conditions.is_empty(),
                    "{}: a delete takes no conditions",
                    self.statement
                );
                (
                    Operation::Delete(self.access(&rows.first, None)),
                    Vec::new(),
                )
            }
        }
    }

    fn groups(
        &mut self,
        rows: Rows,
        by: &[&str],
        functions: &[Function],
    ) -> (Operation, Vec<ColumnType>) {
        assert!(
            rows.lock.is_none() && rows.order.is_none(),
            "{}: groups have no order and no locks",
            self.statement
        );
        let by: Vec<_> = by.iter().map(|name| self.column(&rows, name)).collect();
        let mut types: Vec<_> = by
            .iter()
            .map(|column| self.type_of(&rows, *column))
            .collect();
        let mut aggregates = Vec::new();
        for Function(name, make) in functions {
            let column = match *name {
                "" => ColumnRef {
                    joined: false,
                    column: 0,
                },
                name => self.column(&rows, name),
            };
            let aggregate = make(column);
            types.push(aggregate.result_type(self.type_of(&rows, column)));
            aggregates.push(aggregate);
        }
        (
            Operation::Select(self.select(rows, Output::Groups { by, aggregates })),
            types,
        )
    }

    fn update(
        &mut self,
        rows: Rows,
        changes: Vec<Change>,
        returning: &[&str],
    ) -> (Operation, Vec<ColumnType>) {
        self.only_an_access(&rows);
        let table = self.table(rows.first.table);
        let mut set = Vec::new();
        for Change(name, make, term) in changes {
            let column = table.column(name);
            assert!(
                !table.primary_key.contains(&column),
                "{}: {name} is part of the primary key",
                self.statement
            );
            set.push((
                column,
                make(self.operand(term, table.columns[column].column_type, None)),
            ));
        }
        let access = self.access(&rows.first, None);
        let conditions = self.conditions(&rows);
        let returning: Vec<_> = returning.iter().map(|name| table.column(name)).collect();
        let types = returning
            .iter()
            .map(|&column| table.columns[column].column_type)
            .collect();
        assert!(
            returning.is_empty() || conditions.is_empty(),
            "{}: an update with conditions returns nothing",
            self.statement
        );
        let moved = table
            .key(access.path)
            .iter()
            .any(|key| set.iter().any(|(column, _)| column == key));
        assert!(
            returning.is_empty() || !moved,
            "{}: the update moves the rows it returns",
            self.statement
        );
        (
            Operation::Update(Update {
                access,
                conditions,
                set,
                returning,
            }),
            types,
        )
    }

    fn only_an_access(&self, rows: &Rows) {
        let plain = rows.joined.is_none()
            && rows.order.is_none()
            && rows.limit.is_none()
            && rows.lock.is_none();
        assert!(
            plain,
            "{}: updates and deletes take no join, order, limit or lock",
            self.statement
        );
    }

    fn select(&mut self, rows: Rows, output: Output) -> Select {
        assert!(
            rows.lock.is_none() || rows.joined.is_none(),
            "{}: a join takes no row locks of its own",
            self.statement
        );
        let access = self.access(&rows.first, None);
        let join = rows
            .joined
            .as_ref()
            .map(|joined| self.access(joined, Some(self.table(rows.first.table))));
        let conditions = self.conditions(&rows);
        let limit = rows
            .limit
            .map(|limit| self.operand(limit, ColumnType::Int64, None));
        let order = rows.order.unwrap_or(Order::Unspecified);
        Select {
            access,
            join,
            conditions,
            output,
            order,
            limit,
            lock: rows.lock.unwrap_or(RowLock::None),
        }
    }

    fn conditions(&mut self, rows: &Rows) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (name, compare, term) in &rows.conditions {
            let column = self.column(rows, name);
            let value = self.operand(term.clone(), self.type_of(rows, column), None);
            conditions.push(Condition {
                column,
                compare: *compare,
                value,
            });
        }
        conditions
    }

    fn access(&mut self, reach: &Reach, outer: Option<&Table>) -> Access {
        let id = self.schema.find(reach.table);
        let table = &self.schema[id];
        let path = match reach.index {
            None => AccessPath::PrimaryKey,
            Some(name) => {
                let found = table.indexes.iter().position(|index| index.name == name);
                AccessPath::Index(
                    found.unwrap_or_else(|| panic!("{}: no index {name}", self.statement)),
                )
            }
        };
        let key = table.key(path);
        let ranged = reach.low.is_some() || reach.high.is_some();
        let used = reach.equal.len() + usize::from(ranged);
        assert!(
            used <= key.len(),
            "{}: the key of {} has {} columns",
            self.statement,
            reach.table,
            key.len()
        );
        let types: Vec<_> = key
            .iter()
            .map(|&column| table.columns[column].column_type)
            .collect();
        let equal = reach
            .equal
            .iter()
            .zip(&types)
            .map(|(term, &kind)| self.operand(term.clone(), kind, outer))
            .collect();
        let mut bound = |end: &Option<(Term, bool)>| {
            end.clone().map(|(term, inclusive)| Bound {
                value: self.operand(term, types[reach.equal.len()], outer),
                inclusive,
            })
        };
        let range = Range {
            low: bound(&reach.low),
            high: bound(&reach.high),
        };
        Access {
            table: id,
            path,
            equal,
            range,
        }
    }

    fn operand(&mut self, term: Term, kind: ColumnType, outer: Option<&Table>) -> Operand {
        match term {
            Term::Constant(value) => Operand::Constant(value),
            Term::Outer(name) => {
                let table = outer.unwrap_or_else(|| {
                    panic!("{}: outer({name}) belongs in a join's key", self.statement)
                });
                Operand::Outer(table.column(name))
            }
            Term::Parameter(position) => {
                if self.parameters.len() <= position {
                    self.parameters.resize(position + 1, None);
                }
                let known = self.parameters[position].get_or_insert(kind);
                assert_eq!(
                    *known, kind,
                    "{}: parameter {position} is of two types",
                    self.statement
                );
                Operand::Parameter(position)
            }
        }
    }

    fn table(&self, name: &str) -> &'s Table {
        &self.schema[self.schema.find(name)]
    }

    /// A column of the first table, else of the joined one.
    fn column(&self, rows: &Rows, name: &str) -> ColumnRef {
        let tables = [Some(&rows.first), rows.joined.as_ref()];
        for (joined, reach) in [false, true].into_iter().zip(tables) {
            let Some(reach) = reach else { continue };
            let columns = &self.table(reach.table).columns;
            if let Some(column) = columns.iter().position(|column| column.name == name) {
                return ColumnRef { joined, column };
            }
        }
        panic!("{}: no column {name}", self.statement)
    }

    fn type_of(&self, rows: &Rows, column: ColumnRef) -> ColumnType {
        let reach = if column.joined {
            rows.joined.as_ref().expect("a joined column has a join")
        } else {
            &rows.first
        };
        self.table(reach.table).columns[column.column].column_type
    }
}

impl Aggregate {
    /// The type of its result over a column of type `column`.
    pub(crate) fn result_type(self, column: ColumnType) -> ColumnType {
        match self {
            Aggregate::Count | Aggregate::CountValues(_) | Aggregate::CountDistinct(_) => {
                ColumnType::Int64
            }
            Aggregate::Min(_) | Aggregate::Max(_) => column,
            Aggregate::Average(_) => ColumnType::Float64,
            Aggregate::Sum(_) => match column {
                ColumnType::Decimal { scale, .. } => ColumnType::Decimal {
                    precision: 18,
                    scale,
                },
                ColumnType::Float64 => ColumnType::Float64,
                _ => ColumnType::Int64,
            },
        }
    }
}
