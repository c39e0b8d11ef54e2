//! A workload, as the driver sees it.

use std::future::Future;

use super::{Error, Row, Schema, Statement, TableId, Transaction, TransactionType};

/// A benchmark: schema, statements, data, transactions and what must hold afterwards.
///
/// A driver creates the tables of [`schema`](Workload::schema), loads all [`partitions`](Workload::partitions) in
/// parallel, calls [`prepare`](Workload::prepare) once, and makes one [`client`](Workload::client) per connection.
/// For each transaction, [`next`](Workload::next) draws its input. [`run`](Workload::run) executes it between begin
/// and commit (again, with the *same* input, after a deadlock). [`finished`](Workload::finished) reports the end to
/// the client. At the end the driver calls [`check`](Workload::check).
pub trait Workload: Send + Sync + 'static {
    /// State of one client: its random generator, its queues.
    type Client: Send + 'static;
    /// The input of one transaction: everything drawn at random, so that a retry repeats it exactly.
    type Request: Send + Sync + 'static;

    /// Its name on the command line, such as `tpcc`.
    fn name(&self) -> &'static str;

    /// Its scale and options as name and value, for the report. Whatever makes the data smaller or different
    /// from the specification appears here.
    fn options(&self) -> Vec<(&'static str, String)>;

    /// Its declarations.
    fn declared(&self) -> &Declared;

    /// Its tables.
    fn schema(&self) -> &Schema {
        &self.declared().schema
    }

    /// Its statements; a [`StatementId`](super::StatementId) is a position here.
    fn statements(&self) -> &[Statement] {
        &self.declared().statements
    }

    /// Its transaction types with their weights in the mix.
    fn transactions(&self) -> &[TransactionType] {
        &self.declared().types
    }

    /// The parts of the initial data, which may be loaded in any order and in parallel.
    fn partitions(&self) -> Vec<Partition>;

    /// The rows of one part, in batches of a few hundred rows of one table; batches of a table follow each
    /// other. Depends on the seed and the partition alone.
    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_>;

    /// Reads from the loaded database what clients must know, such as the largest key. Called before the
    /// first client is made, also when the data was loaded earlier.
    ///
    /// # Errors
    /// See [`Error`].
    fn prepare<T: Transaction>(
        &self,
        transaction: &mut T,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// A client. `number` counts from 0 and, with the workload's seed, determines all its draws.
    fn client(&self, number: u32) -> Self::Client;

    /// Draws the client's next transaction by the mix.
    fn next(&self, client: &mut Self::Client) -> Self::Request;

    /// The type of a request, as a position in [`transactions`](Workload::transactions).
    fn transaction_type(&self, request: &Self::Request) -> usize;

    /// Executes a request's statements. Begin, commit and rollback are the caller's.
    ///
    /// It may note data for the client (an open seat), which `finished` uses.
    ///
    /// # Errors
    /// See [`Error`]. The caller rolls back, and runs it again if [`Error::is_retryable`].
    fn run<T: Transaction>(
        &self,
        client: &mut Self::Client,
        request: &Self::Request,
        transaction: &mut T,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send;

    /// Reports to the client how its request ended: after the commit, the rollback, or giving up (`committed`
    /// false). Called exactly once a request.
    fn finished(&self, client: &mut Self::Client, request: &Self::Request, committed: bool) {
        let _ = (client, request, committed);
    }

    /// Checks the consistency conditions while nobody else writes, in one transaction. Gives one line for
    /// each violation.
    ///
    /// # Errors
    /// See [`Error`].
    fn check<T: Transaction>(
        &self,
        transaction: &mut T,
    ) -> impl Future<Output = Result<Vec<Violation>, Error>> + Send;
}

/// Declarations of a workload, whatever its data.
#[derive(Debug)]
pub struct Declared {
    /// Its tables.
    pub schema: Schema,
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Its transaction types.
    pub types: Vec<TransactionType>,
}

/// End of a transaction's body without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// To be committed.
    Commit,
    /// To be committed, but the rows it was about did not exist or did not fit (TATP calls it unsuccessful,
    /// not an error).
    Miss,
    /// To be rolled back on the application's wish, for this reason (TPC-C's invalid item). It is completed and,
    /// under its reason, among the aborts.
    Rollback(&'static str),
}

/// A part of the initial data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its position in [`Workload::partitions`].
    pub number: usize,
    /// Its name for progress and messages, such as `warehouse 3`.
    pub name: String,
    /// About how many rows it has, for progress.
    pub rows: u64,
}

/// Rows to be loaded into one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The table.
    pub table: TableId,
    /// Full rows, columns in the table's order.
    pub rows: Vec<Row>,
}

/// A consistency condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The condition, such as `tpcc 3.3.2.1: w_ytd = sum(d_ytd)`.
    pub condition: &'static str,
    /// Where, and the numbers that disagree.
    pub detail: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.condition, self.detail)
    }
}
