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
    if dialect != Dialect::Postgres && !table.primary_key.is_empty() {
        lines.push(format!(
            "PRIMARY KEY ({})",
            names(table, &table.primary_key)
        ));
    }
    let options = match dialect {
        Dialect::Postgres => "",
        Dialect::MySql => " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
        // Else a key would be a separate index.
        Dialect::Sqlite if !table.primary_key.is_empty() && !is_row_number(table) => {
            " WITHOUT ROWID"
        }
        Dialect::Sqlite => "",
    };
    format!(
        "CREATE TABLE {} (\n  {}\n){options}",
        table.name,
        lines.join(",\n  ")
    )
}

/// Statements to execute after a table was loaded, one after the other: keys, indexes, statistics.
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
        Dialect::Sqlite => format!("ANALYZE {}", table.name),
    });
    statements
}

/// Whether SQLite takes the primary key for the number of the row, by which every table is clustered.
fn is_row_number(table: &Table) -> bool {
    match table.primary_key[..] {
        [column] => type_name(Dialect::Sqlite, table.columns[column].column_type) == "INTEGER",
        _ => false,
    }
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
    let (postgres, mysql, sqlite) = match column_type {
        ColumnType::Int32 => ("INTEGER", "INT", "INTEGER"),
        ColumnType::Int64 => ("BIGINT", "BIGINT", "INTEGER"),
        ColumnType::Float64 => ("DOUBLE PRECISION", "DOUBLE", "REAL"),
        ColumnType::Timestamp => ("TIMESTAMP", "DATETIME(6)", "INTEGER"),
        ColumnType::Decimal { precision, scale } => {
            let decimal = format!("DECIMAL({precision},{scale})");
            return match dialect {
                Dialect::Postgres | Dialect::MySql => decimal,
                Dialect::Sqlite => "INTEGER".to_owned(),
            };
        }
        ColumnType::Text(length) => {
            return match dialect {
                Dialect::Postgres => format!("VARCHAR({length}) COLLATE \"C\""),
                Dialect::MySql => format!("VARCHAR({length})"),
                Dialect::Sqlite => "TEXT".to_owned(),
            };
        }
    };
    let name = match dialect {
        Dialect::Postgres => postgres,
        Dialect::MySql => mysql,
        Dialect::Sqlite => sqlite,
    };
    name.to_owned()
}
