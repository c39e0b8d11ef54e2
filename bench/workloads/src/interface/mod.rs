//! The transaction interface between workloads and targets.
//!
//! ```text
//!                 declares                          implements
//! Workload ──────────────────► Schema, Statement ◄──────────────── a target: Connection
//!    │  batches of rows           (by position)                        ▲
//!    │  bodies of transactions                                         │
//!    └──────────── run(client, request, &mut impl Transaction) ────────┘
//! ```
//!
//! A workload knows no SQL and no store. It declares tables and statements; a body executes statements by
//! [`StatementId`] with [`Value`]s. [`crate::sql`] translates declarations for SQL targets; an embedded
//! target interprets them.

pub mod declare;
mod error;
mod findings;
mod ready;
mod schema;
mod statement;
mod transaction;
mod value;
mod workload;

pub use error::Error;
pub use findings::Findings;
pub use ready::{Immediate, complete};
pub use schema::{AccessPath, Column, ColumnType, Index, Schema, Table, TableId, column, columns};
pub use statement::{
    Access, Aggregate, Assignment, Bound, ColumnRef, Compare, Condition, Operand, Operation, Order,
    Output, Range, RowLock, Select, Statement, StatementId, Update,
};
pub use transaction::{Connection, Transaction, TransactionType};
pub use value::{Row, Value};
pub use workload::{Batch, Declared, Outcome, Partition, Violation, Workload};
