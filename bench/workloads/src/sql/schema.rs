//! Tables and indexes in SQL.

use super::Dialect;
use crate::interface::{Column, ColumnType, Table};

/// `CREATE TABLE`, for a load that follows.
pub fn create_table(dialect: Dialect, table: &Table) -> String {
    let mut lines: Vec<String> = table
        .columns
        .iter()
        .map(|column| column_definition(dialect, column))
        .collect();
    if dialect == Dialect::MySql && !table.primary_key.is_empty() {
        lines.push(format!(
            "PRIMARY KEY ({})",
            names(table, &table.primary_key)
        ));
    }
    let options = match dialect {
        Dialect::Postgres => "",
        Dialect::MySql => " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    };
    format!(
        "CREATE TABLE {} (\n  {}\n){options}",
        table.name,
        lines.join(",\n  ")
    )
}

/// What is executed after a table was loaded, one statement after the other: keys, indexes, statistics.
pub fn after_load(dialect: Dialect, table: &Table) -> Vec<String> {
    let mut statements = Vec::new();
    if dialect == Dialect::Postgres && !table.primary_key.is_empty() {
        statements.push(format!(
            "ALTER TABLE {} ADD PRIMARY KEY ({})",
            table.name,
            names(table, &table.primary_key)
        ));
    }
    for index in &table.indexes {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let columns = names(table, &index.columns);
        statements.push(format!(
            "CREATE {unique}INDEX {} ON {} ({columns})",
            index.name, table.name
        ));
    }
    statements.push(match dialect {
        Dialect::Postgres => format!("VACUUM ANALYZE {}", table.name),
        Dialect::MySql => format!("ANALYZE TABLE {}", table.name),
    });
    statements
}

/// Comma-separated names of columns given by position.
pub(super) fn names(table: &Table, columns: &[usize]) -> String {
    let names: Vec<_> = columns
        .iter()
        .map(|&column| table.columns[column].name)
        .collect();
    names.join(", ")
}

fn column_definition(dialect: Dialect, column: &Column) -> String {
    let null = if column.nullable { "" } else { " NOT NULL" };
    format!(
        "{} {}{null}",
        column.name,
        type_name(dialect, column.column_type)
    )
}

fn type_name(dialect: Dialect, column_type: ColumnType) -> String {
    let (postgres, mysql) = match column_type {
        ColumnType::Int32 => ("INTEGER", "INT"),
        ColumnType::Int64 => ("BIGINT", "BIGINT"),
        ColumnType::Float64 => ("DOUBLE PRECISION", "DOUBLE"),
        ColumnType::Timestamp => ("TIMESTAMP", "DATETIME(6)"),
        ColumnType::Decimal { precision, scale } => return format!("DECIMAL({precision},{scale})"),
        ColumnType::Text(length) => {
            let collation = if dialect == Dialect::Postgres {
                " COLLATE \"C\""
            } else {
                ""
            };
            return format!("VARCHAR({length}){collation}");
        }
    };
    match dialect {
        Dialect::Postgres => postgres.to_owned(),
        Dialect::MySql => mysql.to_owned(),
    }
}
