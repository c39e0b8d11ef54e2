//! Declared statements in SQL.

use super::schema::names;
use super::{Dialect, decimal, timestamp};
use crate::interface::{
    Access, Aggregate, Assignment, Bound, ColumnRef, ColumnType, Compare, Operand, Operation,
    Order, Output, RowLock, Schema, Select, Statement, Table, Update, Value,
};

/// A text to be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlStatement {
    /// The statement with placeholders.
    pub text: String,
    /// For each value the text expects, in order, the position of the declared parameter that is bound to it.
    pub parameters: Vec<usize>,
}

/// Translates a declared statement. The statements are executed one after the other with the same parameters. Rows
/// are those of the last one, and the count of affected rows is that of the first one. Only an update that returns
/// rows, in MySQL's dialect, becomes two.
pub fn translate(dialect: Dialect, schema: &Schema, statement: &Statement) -> Vec<SqlStatement> {
    let text = |first: &Access, joined: Option<&Access>| Text {
        dialect,
        first: &schema[first.table],
        joined: joined.map(|access| &schema[access.table]),
        text: String::new(),
        parameters: Vec::new(),
    };
    match &statement.operation {
        Operation::Select(select) => {
            vec![text(&select.access, select.join.as_ref()).select(select)]
        }
        Operation::Insert(table) => {
            let access = Access {
                table: *table,
                path: crate::interface::AccessPath::PrimaryKey,
                equal: Vec::new(),
                range: crate::interface::Range::default(),
            };
            vec![text(&access, None).insert()]
        }
        Operation::Delete(access) => {
            let mut delete = text(access, None);
            delete.push(&format!("DELETE FROM {}", delete.first.name));
            delete.push_where(access, &[]);
            vec![delete.finish()]
        }
        Operation::Update(update) => {
            let mut statements = vec![text(&update.access, None).update(update)];
            if dialect == Dialect::MySql && !update.returning.is_empty() {
                let mut reread = text(&update.access, None);
                let columns = names(reread.first, &update.returning);
                reread.push(&format!("SELECT {columns} FROM {}", reread.first.name));
                reread.push_where(&update.access, &[]);
                statements.push(reread.finish());
            }
            statements
        }
    }
}

/// A statement while it is written.
struct Text<'s> {
    dialect: Dialect,
    first: &'s Table,
    joined: Option<&'s Table>,
    text: String,
    parameters: Vec<usize>,
}

impl<'s> Text<'s> {
    fn finish(mut self) -> SqlStatement {
        if self.dialect != Dialect::MySql {
            let count = self.parameters.iter().max().map_or(0, |&last| last + 1);
            self.parameters = (0..count).collect();
        }
        SqlStatement {
            text: self.text,
            parameters: self.parameters,
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn select(mut self, select: &Select) -> SqlStatement {
        let output = self.output(&select.output);
        self.push(&format!("SELECT {output} FROM {}", self.first.name));
        if let (Some(access), Some(table)) = (&select.join, self.joined) {
            self.push(&format!(" JOIN {} ON ", table.name));
            self.push_access(access, true, " AND ");
        }
        self.push_where(&select.access, &select.conditions);
        if let Output::Groups { by, .. } = &select.output
            && !by.is_empty()
        {
            let by: Vec<_> = by.iter().map(|column| self.name(*column)).collect();
            self.push(&format!(" GROUP BY {}", by.join(", ")));
        }
        self.push_order(select);
        if let Some(limit) = &select.limit {
            self.push(" LIMIT ");
            self.push_operand(limit, ColumnType::Int64);
        }
        self.push(match (select.lock, self.dialect) {
            (RowLock::None, _) | (_, Dialect::Sqlite) => "",
            (RowLock::Exclusive, _) => " FOR UPDATE",
            (RowLock::Shared, Dialect::Postgres) => " FOR SHARE",
            (RowLock::Shared, Dialect::MySql) => " LOCK IN SHARE MODE",
        });
        self.finish()
    }

    fn insert(mut self) -> SqlStatement {
        let all: Vec<usize> = (0..self.first.columns.len()).collect();
        self.push(&format!(
            "INSERT INTO {} ({}) VALUES (",
            self.first.name,
            names(self.first, &all)
        ));
        for position in all {
            self.push(if position == 0 { "" } else { ", " });
            self.push_operand(
                &Operand::Parameter(position),
                self.first.columns[position].column_type,
            );
        }
        self.push(")");
        self.finish()
    }

    fn update(mut self, update: &Update) -> SqlStatement {
        self.push(&format!("UPDATE {} SET ", self.first.name));
        for (position, (column, assignment)) in update.set.iter().enumerate() {
            let column = &self.first.columns[*column];
            let name = column.name;
            let separator = if position == 0 { "" } else { ", " };
            let (old, operand) = match assignment {
                Assignment::Set(operand) => (String::new(), operand),
                Assignment::Add(operand) => (format!("{name} + "), operand),
                Assignment::Subtract(operand) => (format!("{name} - "), operand),
            };
            self.push(&format!("{separator}{name} = {old}"));
            self.push_operand(operand, column.column_type);
        }
        self.push_where(&update.access, &update.conditions);
        if self.dialect != Dialect::MySql && !update.returning.is_empty() {
            let columns = names(self.first, &update.returning);
            self.push(&format!(" RETURNING {columns}"));
        }
        self.finish()
    }

    fn push_where(&mut self, access: &Access, conditions: &[crate::interface::Condition]) {
        let mut separator = " WHERE ";
        if !access.equal.is_empty() || access.range.low.is_some() || access.range.high.is_some() {
            self.push(separator);
            self.push_access(access, false, " AND ");
            separator = " AND ";
        }
        for condition in conditions {
            let name = self.name(condition.column);
            self.push(&format!(
                "{separator}{name} {} ",
                operator(condition.compare)
            ));
            let column_type = self.column_type(condition.column);
            self.push_operand(&condition.value, column_type);
            separator = " AND ";
        }
    }

    /// The conditions that follow a key, without a leading separator.
    fn push_access(&mut self, access: &Access, joined: bool, separator: &str) {
        let table = if joined {
            self.joined.expect("a join has a table")
        } else {
            self.first
        };
        let key = table.key(access.path);
        let equal = key
            .iter()
            .zip(&access.equal)
            .map(|(&column, operand)| (column, "=", operand));
        let next = key.get(access.equal.len());
        let bound = |bound: &'_ Option<Bound>, strict, inclusive| {
            let operator = bound
                .as_ref()
                .map(|bound| if bound.inclusive { inclusive } else { strict });
            next.zip(operator)
                .map(|(&column, operator)| (column, operator))
        };
        let low = bound(&access.range.low, ">", ">=").zip(access.range.low.as_ref());
        let high = bound(&access.range.high, "<", "<=").zip(access.range.high.as_ref());
        let range = [low, high]
            .into_iter()
            .flatten()
            .map(|((column, operator), bound)| (column, operator, &bound.value));
        for (position, (column, operator, operand)) in equal.chain(range).enumerate() {
            let reference = ColumnRef { joined, column };
            let name = self.name(reference);
            self.push(if position == 0 { "" } else { separator });
            self.push(&format!("{name} {operator} "));
            self.push_operand(operand, self.column_type(reference));
        }
    }

    /// Only the key columns after the equal ones are named: the others do not vary.
    fn push_order(&mut self, select: &Select) {
        let direction = match select.order {
            Order::Unspecified => return,
            Order::Ascending => "",
            Order::Descending => " DESC",
        };
        let varying = self
            .first
            .key(select.access.path)
            .iter()
            .skip(select.access.equal.len());
        let columns: Vec<_> = varying
            .map(|&column| {
                format!(
                    "{}{direction}",
                    self.name(ColumnRef {
                        joined: false,
                        column
                    })
                )
            })
            .collect();
        if !columns.is_empty() {
            self.push(&format!(" ORDER BY {}", columns.join(", ")));
        }
    }

    fn push_operand(&mut self, operand: &Operand, column_type: ColumnType) {
        match operand {
            Operand::Parameter(position) => {
                self.parameters.push(*position);
                match self.dialect {
                    Dialect::Postgres => self.push(&format!("${}", position + 1)),
                    Dialect::MySql => self.push("?"),
                    Dialect::Sqlite => self.push(&format!("?{}", position + 1)),
                }
            }
            Operand::Constant(value) => self.push(&literal(self.dialect, value, column_type)),
            Operand::Outer(column) => {
                let name = self.name(ColumnRef {
                    joined: false,
                    column: *column,
                });
                self.push(&name);
            }
        }
    }

    fn output(&self, output: &Output) -> String {
        let texts: Vec<String> = match output {
            Output::Columns(columns) => columns.iter().map(|column| self.name(*column)).collect(),
            Output::Groups { by, aggregates } => {
                let by = by.iter().map(|column| self.name(*column));
                by.chain(
                    aggregates
                        .iter()
                        .map(|aggregate| self.aggregate(*aggregate)),
                )
                .collect()
            }
        };
        texts.join(", ")
    }

    /// An aggregate, converted to the type of [`Aggregate::result_type`] where SQL's type differs. In SQL, sums of
    /// integers are decimals, and MySQL's mean of integers has only four digits after the point.
    fn aggregate(&self, aggregate: Aggregate) -> String {
        match aggregate {
            Aggregate::Count => "count(*)".to_owned(),
            Aggregate::CountValues(column) => format!("count({})", self.name(column)),
            Aggregate::CountDistinct(column) => format!("count(DISTINCT {})", self.name(column)),
            Aggregate::Min(column) => format!("min({})", self.name(column)),
            Aggregate::Max(column) => format!("max({})", self.name(column)),
            Aggregate::Sum(column) => {
                let sum = format!("sum({})", self.name(column));
                match (
                    aggregate.result_type(self.column_type(column)),
                    self.dialect,
                ) {
                    (ColumnType::Int64, Dialect::Postgres) => format!("CAST({sum} AS BIGINT)"),
                    (ColumnType::Int64, Dialect::MySql) => format!("CAST({sum} AS SIGNED)"),
                    _ => sum,
                }
            }
            Aggregate::Average(column) => match self.dialect {
                Dialect::Postgres => {
                    format!("CAST(avg({}) AS DOUBLE PRECISION)", self.name(column))
                }
                Dialect::MySql => format!("avg({} + 0e0)", self.name(column)),
                Dialect::Sqlite => format!("avg({})", self.name(column)),
            },
        }
    }

    fn table(&self, column: ColumnRef) -> &'s Table {
        if column.joined {
            self.joined.expect("a joined column has a join")
        } else {
            self.first
        }
    }

    fn column_type(&self, column: ColumnRef) -> ColumnType {
        self.table(column).columns[column.column].column_type
    }

    fn name(&self, column: ColumnRef) -> String {
        let table = self.table(column);
        let name = table.columns[column.column].name;
        if self.joined.is_some() {
            format!("{}.{name}", table.name)
        } else {
            name.to_owned()
        }
    }
}

fn operator(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "<>",
        Compare::Less => "<",
        Compare::LessOrEqual => "<=",
        Compare::Greater => ">",
        Compare::GreaterOrEqual => ">=",
    }
}

fn literal(dialect: Dialect, value: &Value, column_type: ColumnType) -> String {
    match (value, column_type) {
        (Value::Null, _) => "NULL".to_owned(),
        (Value::Int(value), _) if dialect == Dialect::Sqlite => value.to_string(),
        (Value::Int(unscaled), ColumnType::Decimal { scale, .. }) => {
            decimal::format(*unscaled, scale)
        }
        (Value::Int(micros), ColumnType::Timestamp) => {
            let at = timestamp::civil(*micros);
            format!("TIMESTAMP '{}'", at.format(timestamp::FORMAT))
        }
        (Value::Int(value), _) => value.to_string(),
        (Value::Float(value), _) => format!("{value:e}"),
        (Value::Text(text), _) => {
            let quoted = text.replace('\'', "''");
            // MySQL reads backslashes in a literal as escapes, standard SQL does not.
            let quoted = if dialect == Dialect::MySql {
                quoted.replace('\\', "\\\\")
            } else {
                quoted
            };
            format!("'{quoted}'")
        }
    }
}
