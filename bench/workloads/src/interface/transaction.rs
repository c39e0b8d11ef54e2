//! The interface of a target to a workload: transactions over declared statements.

use std::future::Future;

use super::{Error, Row, StatementId, Value};

/// A type of transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionType {
    /// Its name in reports, such as `new_order`.
    pub name: &'static str,
    /// Its share of the mix; the shares of a workload add up to 1.
    pub fraction: f64,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether it is exactly one statement, which a target may run with autocommit.
    pub single_statement: bool,
    /// Time a user takes to key in the input, before it; for closed loops with think times. In nanoseconds.
    pub keying_ns: u64,
    /// Mean of the exponentially distributed think time after it, in nanoseconds; draws are capped at ten
    /// times the mean.
    pub think_mean_ns: u64,
}

impl TransactionType {
    /// A type with this share of the mix, in percent, whose user neither keys in nor thinks.
    pub fn new(name: &'static str, percent: f64, read_only: bool, single_statement: bool) -> Self {
        TransactionType {
            name,
            fraction: percent / 100.0,
            read_only,
            single_statement,
            keying_ns: 0,
            think_mean_ns: 0,
        }
    }

    /// The type of reads outside of the mix: the preparation and the check.
    pub fn reading() -> Self {
        TransactionType::new("read", 0.0, true, false)
    }
}

/// A running transaction, as the body of a workload's transaction sees it.
///
/// `parameters` must be as many, and of the types, as [`Statement::parameters`](super::Statement::parameters)
/// says; NULL is allowed where it is stored in a nullable column.
pub trait Transaction: Send {
    /// Executes a query, or an update that returns rows, and gives all its rows.
    ///
    /// # Errors
    /// See [`Error`].
    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;

    /// Executes an insert, update or delete and gives the number of rows it inserted, found or deleted. A row
    /// an update found counts even if it already had the new values (MySQL: `CLIENT_FOUND_ROWS`).
    ///
    /// # Errors
    /// See [`Error`].
    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Executes one insert, update or delete several times, in order, as if by [`Transaction::execute`].
    ///
    /// Written for statements whose results nobody waits for, such as the lines of an order. A target over a
    /// network sends them together if it can; the default sends one after the other.
    ///
    /// # Errors
    /// See [`Error`]; the executions after the failed one are not carried out or are undone by the rollback.
    fn execute_all(
        &mut self,
        statement: StatementId,
        parameters: &[Vec<Value>],
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async move {
            for row in parameters {
                self.execute(statement, row).await?;
            }
            Ok(())
        }
    }

    /// Executes a query and gives its only row, or none.
    ///
    /// # Errors
    /// See [`Error`]; [`Error::Other`] if there are several rows.
    fn query_optional(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> impl Future<Output = Result<Option<Row>, Error>> + Send {
        async move {
            let mut rows = self.query(statement, parameters).await?;
            match rows.len() {
                0 | 1 => Ok(rows.pop()),
                n => Err(Error::Other(format!(
                    "statement {} returned {n} rows, at most one was expected",
                    statement.0
                ))),
            }
        }
    }

    /// Executes a query and gives its only row.
    ///
    /// # Errors
    /// See [`Error`]; [`Error::Other`] if there is no row or several.
    fn query_one(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> impl Future<Output = Result<Row, Error>> + Send {
        async move {
            let row = self.query_optional(statement, parameters).await?;
            row.ok_or_else(|| {
                Error::Other(format!(
                    "statement {} found no row for {parameters:?}",
                    statement.0
                ))
            })
        }
    }
}

/// A client's connection to a target: one transaction at a time.
///
/// Life of a transaction: `begin`, the workload's body over [`Transaction`], then the end. That is `commit` if the
/// body wants it ([`Outcome::Commit`](super::Outcome::Commit), [`Outcome::Miss`](super::Outcome::Miss)), and
/// `rollback` if it wants that or failed. An embedded target completes every future at once, so a plain `block_on` on
/// the client's own thread runs it.
pub trait Connection: Transaction {
    /// Begins a transaction of this type. For a type that says it is a single statement a target may leave
    /// out the begin and the commit around it (autocommit), as such applications do.
    ///
    /// # Errors
    /// See [`Error`].
    fn begin(
        &mut self,
        transaction: &TransactionType,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Commits. When it returns, the transaction is as durable as the target's settings make it.
    ///
    /// # Errors
    /// See [`Error`]; the transaction is rolled back then (but [`Error::Other`] may leave that open, as after
    /// a lost connection).
    fn commit(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Rolls back. Also after an error, also if the target already rolled back by itself.
    ///
    /// # Errors
    /// [`Error::Other`] only.
    fn rollback(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}
