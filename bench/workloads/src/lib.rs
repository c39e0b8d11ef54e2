//! TPC-C, TATP, SEATS, Epinions, YCSB, sysbench, lock microbenchmark and HTAP mix over one transaction interface.
//!
//! A workload is written once, against [`interface`]. It declares tables and statements, generates its data and
//! inputs from a seed, executes transactions through [`interface::Transaction`], and checks consistency conditions at
//! the end. It runs on every target that implements [`interface::Connection`]: the embedded store, PostgreSQL,
//! SQLite and MariaDB in `evenkeel-drive`, where the workloads are tested, too.
//!
//! | module | workload | source |
//! |---|---|---|
//! | [`tpcc`] | TPC-C, HTAP mix | specification 5.11; dissertation 4.7.4 |
//! | [`tatp`] | TATP | specification 1.0 |
//! | [`seats`], [`epinions`] | SEATS, Epinions | OLTP-Bench, VLDB 2013 |
//! | [`ycsb`] | YCSB A to F | SoCC 2010 |
//! | [`sysbench`] | `oltp_read_write` | sysbench 1.0 |
//! | [`micro`] | lock microbenchmark | dissertation 4.6.1 |
//!
//! [`named`] makes them from names and settings; [`random`] has the generators; [`sql`] writes declarations as SQL.
//!
//! # Writing a workload
//!
//! A bank, with transfers between accounts, whose sum stays. Tables and statements are declared with
//! [`interface::declare`]; what a statement is called there is a position in [`interface::Workload::statements`]
//! everywhere else. Everything random belongs into [`interface::Workload::next`], so that a retry after a deadlock
//! repeats the same transfer.
//!
//! ```
//! use evenkeel_workloads::interface::{
//!     Batch, ColumnType::Int64, Declared, Error, Findings, Outcome, Partition, Row, Schema, StatementId, TableId,
//!     Transaction, TransactionType, Value, Violation, Workload, column,
//!     declare::{Statements, add, from, p, subtract, sum},
//! };
//! use evenkeel_workloads::random::Random;
//!
//! const ACCOUNTS: i64 = 100;
//!
//! struct Bank {
//!     declared: Declared,
//!     account: TableId,
//!     withdraw: StatementId,
//!     deposit: StatementId,
//!     total: StatementId,
//! }
//!
//! struct Transfer { from: i64, to: i64, amount: i64 }
//!
//! impl Bank {
//!     fn new() -> Bank {
//!         let mut schema = Schema::new();
//!         let columns = vec![column("a_id", Int64), column("a_balance", Int64)];
//!         let account = schema.table("account", columns, &["a_id"]);
//!         let mut statements = Statements::new(&schema);
//!         let row = || from("account").key([p(0)]);
//!         Bank {
//!             withdraw: statements.add("withdraw", row().update_returning([subtract("a_balance", p(1))], ["a_balance"])),
//!             deposit: statements.add("deposit", row().update([add("a_balance", p(1))])),
//!             total: statements.add("total", from("account").aggregates([sum("a_balance")])),
//!             declared: Declared {
//!                 statements: statements.finish(),
//!                 schema,
//!                 types: vec![TransactionType::new("transfer", 100.0, false, false)],
//!             },
//!             account,
//!         }
//!     }
//! }
//!
//! impl Workload for Bank {
//!     type Client = Random;
//!     type Request = Transfer;
//!
//!     fn name(&self) -> &'static str { "bank" }
//!     fn options(&self) -> Vec<(&'static str, String)> { Vec::new() }
//!     fn declared(&self) -> &Declared { &self.declared }
//!
//!     fn partitions(&self) -> Vec<Partition> {
//!         vec![Partition { number: 0, name: "accounts".into(), rows: ACCOUNTS as u64 }]
//!     }
//!     fn batches(&self, _: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
//!         let rows = (1..=ACCOUNTS).map(|id| Row(vec![id.into(), 1000.into()])).collect();
//!         Box::new(std::iter::once(Batch { table: self.account, rows }))
//!     }
//!     async fn prepare<T: Transaction>(&self, _: &mut T) -> Result<(), Error> { Ok(()) }
//!
//!     fn client(&self, number: u32) -> Random { Random::new(1, &[number.into()]) }
//!     fn next(&self, random: &mut Random) -> Transfer {
//!         let from = random.between(1, ACCOUNTS);
//!         let to = (from + random.between(1, ACCOUNTS - 1) - 1) % ACCOUNTS + 1;
//!         Transfer { from, to, amount: random.between(1, 500) }
//!     }
//!     fn transaction_type(&self, _: &Transfer) -> usize { 0 }
//!
//!     async fn run<T: Transaction>(&self, _: &mut Random, transfer: &Transfer, transaction: &mut T) -> Result<Outcome, Error> {
//!         let parameters = [transfer.from, transfer.amount].map(Value::Int);
//!         if transaction.query_one(self.withdraw, &parameters).await?.int(0)? < 0 {
//!             return Ok(Outcome::Rollback("overdrawn"));
//!         }
//!         transaction.execute(self.deposit, &[transfer.to, transfer.amount].map(Value::Int)).await?;
//!         Ok(Outcome::Commit)
//!     }
//!
//!     async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
//!         let mut findings = Findings::new();
//!         let total = transaction.query_one(self.total, &[]).await?.int(0)?;
//!         findings.equal("bank: sum(a_balance) stays", total, 1000 * ACCOUNTS, || "account".into());
//!         Ok(findings.finish())
//!     }
//! }
//!
//! let bank = Bank::new();
//! assert_eq!(Bank::new().statements().len(), 3);
//! ```
//!
//! To make it known by name, add it to [`named::NAMES`], [`named::options`] and [`named::build`]. Test it as the
//! others are (`tests/workloads` of `evenkeel-drive`): run it with and without injected deadlocks, compare the draws with
//! their laws, and damage the data to see that the check notices.

/// An array of names: a prefix with each of some numbers.
macro_rules! numbered {
    ($prefix:literal: $($number:literal)*) => {
        [$(concat!($prefix, $number)),*]
    };
}

pub mod epinions;
pub mod interface;
pub mod micro;
pub mod named;
pub mod random;
pub mod seats;
pub mod sql;
pub mod sysbench;
pub mod tatp;
pub mod tpcc;
pub mod ycsb;
