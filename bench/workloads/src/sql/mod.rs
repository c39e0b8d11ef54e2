//! Declarations as SQL: one idiomatic prepared statement each, by dialect.
//!
//! Where the dialects differ beyond spelling:
//!
//! | | PostgreSQL | MariaDB, MySQL | SQLite |
//! |---|---|---|---|
//! | primary key | added after the load, like every index | in `CREATE TABLE`: the table is clustered by it | likewise: an integer is the row's number, any other key makes it `WITHOUT ROWID` |
//! | update that returns rows | `UPDATE .. RETURNING` | the update, then a `SELECT` of rows it has locked | `UPDATE .. RETURNING` |
//! | decimals, times | `DECIMAL`, `TIMESTAMP` | `DECIMAL`, `DATETIME(6)` | `INTEGER` in the smallest unit: it has no exact decimals |
//! | text | `COLLATE "C"` on each column | `utf8mb4_bin` on the table | `TEXT`, which compares so |
//! | parameters | `$1`, usable twice | `?`, sent as often as it occurs | `?1`, usable twice |
//! | exclusive row lock | `FOR UPDATE` | `FOR UPDATE` | none: there is one writer at a time |
//! | shared row lock | `FOR SHARE` | `LOCK IN SHARE MODE`, which both servers know | none |
//!
//! There are no foreign keys: the embedded store has none either, and checking them would be another
//! benchmark.

pub mod decimal;
mod schema;
mod statement;
pub mod timestamp;

pub use schema::{after_load, create_table};
pub use statement::{SqlStatement, translate};

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL 12 and later.
    Postgres,
    /// MariaDB 10.5 and later, MySQL 8 with InnoDB.
    MySql,
    /// SQLite 3.35 and later.
    Sqlite,
}
