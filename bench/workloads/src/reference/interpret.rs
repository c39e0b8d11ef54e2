//! Executes each declared statement on ordered maps.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{self, Key, Part};
use super::tables::Tables;
use crate::interface::{
    Access, Aggregate, Assignment, Bound, ColumnRef, Condition, Error, Operand, Operation, Order,
    Output, Row, Schema, Select, Statement, Update, Value,
};

/// Executes a statement: its result rows, and the number of rows inserted, found or deleted.
pub(super) fn interpret(
    schema: &Schema,
    statement: &Statement,
    tables: &mut Tables,
    parameters: &[Value],
) -> Result<(Vec<Row>, u64), Error> {
    if parameters.len() != statement.parameters.len() {
        let (name, wanted) = (statement.name, statement.parameters.len());
        return Err(Error::Other(format!(
            "{name} takes {wanted} parameters, not {}",
            parameters.len()
        )));
    }
    match &statement.operation {
        Operation::Select(query) => {
            let rows = select(tables, query, parameters);
            let count = rows.len() as u64;
            Ok((rows, count))
        }
        Operation::Insert(table) => {
            tables.insert(schema, *table, Row(parameters.to_vec()))?;
            Ok((Vec::new(), 1))
        }
        Operation::Update(change) => Ok(update(schema, tables, change, parameters)),
        Operation::Delete(access) => {
            let keys: Vec<Key> = reach(tables, access, parameters, None)
                .map(|(key, _)| key.clone())
                .collect();
            for key in &keys {
                tables.delete(schema, access.table, key);
            }
            Ok((Vec::new(), keys.len() as u64))
        }
    }
}

fn value<'v>(operand: &'v Operand, parameters: &'v [Value], outer: Option<&'v Row>) -> &'v Value {
    match operand {
        Operand::Parameter(position) => &parameters[*position],
        Operand::Constant(constant) => constant,
        Operand::Outer(column) => &outer.expect("an outer column has an outer row").0[*column],
    }
}

fn reach<'t>(
    tables: &'t Tables,
    access: &Access,
    parameters: &[Value],
    outer: Option<&Row>,
) -> Box<dyn DoubleEndedIterator<Item = (&'t Key, &'t Row)> + 't> {
    let known = |operand: &Operand| value(operand, parameters, outer).clone();
    let prefix = access
        .equal
        .iter()
        .map(|operand| Part::Value(known(operand)))
        .collect();
    let bound = |bound: &Option<Bound>| {
        bound
            .as_ref()
            .map(|bound| (known(&bound.value), bound.inclusive))
    };
    let range = key::range(prefix, bound(&access.range.low), bound(&access.range.high));
    tables.scan(access.table, access.path, range)
}

/// A row of the first table and, in a join, one of the second.
type Pair<'r> = (&'r Row, Option<&'r Row>);

fn column<'r>(pair: Pair<'r>, column: ColumnRef) -> &'r Value {
    let row = if column.joined {
        pair.1.expect("a joined column has a joined row")
    } else {
        pair.0
    };
    &row.0[column.column]
}

fn holds(conditions: &[Condition], pair: Pair<'_>, parameters: &[Value]) -> bool {
    conditions.iter().all(|condition| {
        condition.compare.holds(
            column(pair, condition.column),
            value(&condition.value, parameters, None),
        )
    })
}

fn select(tables: &Tables, query: &Select, parameters: &[Value]) -> Vec<Row> {
    let limit = match query
        .limit
        .as_ref()
        .map(|limit| value(limit, parameters, None))
    {
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(0),
        _ => usize::MAX,
    };
    let first = reach(tables, &query.access, parameters, None).map(|(_, row)| row);
    let first: Box<dyn Iterator<Item = &Row>> = match query.order {
        Order::Descending => Box::new(first.rev()),
        Order::Ascending | Order::Unspecified => Box::new(first),
    };
    let pairs = first.flat_map(|row| -> Box<dyn Iterator<Item = Pair<'_>>> {
        match &query.join {
            None => Box::new(std::iter::once((row, None))),
            Some(access) => {
                let inner = reach(tables, access, parameters, Some(row));
                Box::new(inner.map(move |(_, joined)| (row, Some(joined))))
            }
        }
    });
    let pairs = pairs.filter(|pair| holds(&query.conditions, *pair, parameters));
    match &query.output {
        Output::Columns(columns) => {
            let output = |pair| Row(columns.iter().map(|&of| column(pair, of).clone()).collect());
            pairs.map(output).take(limit).collect()
        }
        Output::Groups { by, aggregates } => {
            let mut rows = groups(pairs, by, aggregates);
            rows.truncate(limit);
            rows
        }
    }
}

fn groups<'r>(
    pairs: impl Iterator<Item = Pair<'r>>,
    by: &[ColumnRef],
    aggregates: &[Aggregate],
) -> Vec<Row> {
    let mut groups: BTreeMap<Key, Vec<Pair<'r>>> = BTreeMap::new();
    if by.is_empty() {
        groups.insert(Key::new(), Vec::new());
    }
    for pair in pairs {
        let key = by
            .iter()
            .map(|&of| Part::Value(column(pair, of).clone()))
            .collect();
        groups.entry(key).or_default().push(pair);
    }
    let row = |(key, pairs): (Key, Vec<Pair<'r>>)| {
        let by = key.into_iter().map(|part| match part {
            Part::Value(value) => value,
            Part::Last => unreachable!("a group's key holds values"),
        });
        Row(by
            .chain(
                aggregates
                    .iter()
                    .map(|&aggregate| compute(aggregate, &pairs)),
            )
            .collect())
    };
    groups.into_iter().map(row).collect()
}

fn compute(aggregate: Aggregate, pairs: &[Pair<'_>]) -> Value {
    let values = |of| {
        pairs
            .iter()
            .map(move |&pair| column(pair, of))
            .filter(|value| !value.is_null())
    };
    let parts = |of| values(of).cloned().map(Part::Value);
    let value = |part: Option<Part>| match part {
        Some(Part::Value(value)) => value,
        _ => Value::Null,
    };
    match aggregate {
        Aggregate::Count => Value::Int(pairs.len() as i64),
        Aggregate::CountValues(of) => Value::Int(values(of).count() as i64),
        Aggregate::CountDistinct(of) => Value::Int(parts(of).collect::<BTreeSet<_>>().len() as i64),
        Aggregate::Min(of) => value(parts(of).min()),
        Aggregate::Max(of) => value(parts(of).max()),
        Aggregate::Sum(of) => values(of)
            .cloned()
            .reduce(|a, b| plus(&a, &b))
            .unwrap_or(Value::Null),
        Aggregate::Average(of) => match (
            values(of).count(),
            values(of).cloned().reduce(|a, b| plus(&a, &b)),
        ) {
            (count, Some(Value::Int(sum))) => Value::Float(sum as f64 / count as f64),
            (count, Some(Value::Float(sum))) => Value::Float(sum / count as f64),
            _ => Value::Null,
        },
    }
}

fn plus(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
        (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
        _ => Value::Null,
    }
}

fn minus(a: &Value, b: &Value) -> Value {
    match b {
        Value::Int(b) => plus(a, &Value::Int(-b)),
        Value::Float(b) => plus(a, &Value::Float(-b)),
        _ => Value::Null,
    }
}

fn update(
    schema: &Schema,
    tables: &mut Tables,
    update: &Update,
    parameters: &[Value],
) -> (Vec<Row>, u64) {
    let found = reach(tables, &update.access, parameters, None);
    let found = found.filter(|(_, row)| holds(&update.conditions, (row, None), parameters));
    let found: Vec<(Key, Row)> = found.map(|(key, row)| (key.clone(), row.clone())).collect();
    let count = found.len() as u64;
    let mut returned = Vec::new();
    for (key, old) in found {
        let mut new = old.clone();
        for (column, assignment) in &update.set {
            new.0[*column] = match assignment {
                Assignment::Set(operand) => value(operand, parameters, None).clone(),
                Assignment::Add(operand) => plus(&old.0[*column], value(operand, parameters, None)),
                Assignment::Subtract(operand) => {
                    minus(&old.0[*column], value(operand, parameters, None))
                }
            };
        }
        if !update.returning.is_empty() {
            returned.push(Row(update
                .returning
                .iter()
                .map(|&column| new.0[column].clone())
                .collect()));
        }
        tables.replace(schema, update.access.table, &key, new);
    }
    (returned, count)
}
