//! Declarations as SQL: one idiomatic prepared statement each, by dialect.
//!
//! Where the dialects differ beyond spelling:
//!
//! | | PostgreSQL | MariaDB, MySQL |
//! |---|---|---|
//! | primary key | added after the load, like every index | in `CREATE TABLE`: the table is clustered by it |
//! | update that returns rows | `UPDATE .. RETURNING` | the update, then a `SELECT` of rows it has locked |
//! | text | `COLLATE "C"` on each column | `utf8mb4_bin` on the table |
//! | parameters | `$1`, usable twice | `?`, sent as often as it occurs |
//! | shared row lock | `FOR SHARE` | `LOCK IN SHARE MODE`, which both servers know |
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
}
