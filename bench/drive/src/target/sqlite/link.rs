//! A connection to SQLite.

use evenkeel_workloads::interface::{
    ColumnType, Connection, Error, Immediate, Row, Schema, Statement, StatementId, TransactionType,
    Value,
};
use evenkeel_workloads::sql::{Dialect, translate};
use rusqlite::{ErrorCode, ffi};

use super::values::{self, Parameter};

/// Statements that begin and end transactions, kept prepared like the others.
const BEGIN_READING: &str = "BEGIN";
const BEGIN_WRITING: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const OWN_STATEMENTS: usize = 4;

/// A connection with a workload's statements prepared. Its futures are always ready: what waits, waits inside.
///
/// A transaction that may write takes the write lock when it begins. If it took the lock at its first write, it would
/// be rolled back whenever another had committed since its first read.
pub struct Link {
    pub(super) connection: rusqlite::Connection,
    /// Name of the target for messages.
    pub(super) target: String,
    statements: Vec<Prepared>,
}

/// A statement; prepared, it is found by its text.
struct Prepared {
    text: String,
    /// For each placeholder the declared parameter.
    parameters: Vec<usize>,
    results: Vec<ColumnType>,
}

impl Link {
    pub(super) fn new(connection: rusqlite::Connection, target: String) -> Link {
        Link {
            connection,
            target,
            statements: Vec::new(),
        }
    }

    /// Prepares a workload's statements; to be called before transactions.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn prepare(
        &mut self,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<(), crate::Error> {
        self.connection
            .set_prepared_statement_cache_capacity(statements.len() + OWN_STATEMENTS);
        for declared in statements {
            let [sql] = &translate(Dialect::Sqlite, schema, declared)[..] else {
                unreachable!("in this dialect every statement is one")
            };
            let prepared = self.connection.prepare_cached(&sql.text).map(drop);
            prepared.map_err(|error| self.refusal(&sql.text, &error))?;
            self.statements.push(Prepared {
                text: sql.text.clone(),
                parameters: sql.parameters.clone(),
                results: declared.results.clone(),
            });
        }
        Ok(())
    }

    /// What an error outside of transactions means.
    pub(super) fn refusal(&self, statement: &str, error: &rusqlite::Error) -> crate::Error {
        crate::Error::Refused {
            target: self.target.clone(),
            statement: statement.to_owned(),
            reason: error.to_string(),
        }
    }

    fn control(&self, sql: &'static str) -> Result<(), Error> {
        let done = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(failure)
    }
}

impl Immediate for Link {
    fn run(&mut self, id: StatementId, given: &[Value]) -> Result<(Vec<Row>, u64), Error> {
        let prepared = &self.statements[id.0];
        let mut statement = self
            .connection
            .prepare_cached(&prepared.text)
            .map_err(failure)?;
        for (place, &at) in prepared.parameters.iter().enumerate() {
            statement
                .raw_bind_parameter(place + 1, Parameter(&given[at]))
                .map_err(failure)?;
        }
        let (mut rows, mut found) = (Vec::new(), statement.raw_query());
        while let Some(row) = found.next().map_err(failure)? {
            let columns = prepared.results.iter().enumerate().map(|(at, &declared)| {
                let found = row.get_ref(at).map_err(failure)?;
                values::value(found, declared)
            });
            rows.push(Row(columns.collect::<Result<_, _>>()?));
        }
        Ok((rows, self.connection.changes()))
    }
}

impl Connection for Link {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Error> {
        if transaction.single_statement {
            return Ok(());
        }
        self.control(match transaction.read_only {
            true => BEGIN_READING,
            false => BEGIN_WRITING,
        })
    }

    async fn commit(&mut self) -> Result<(), Error> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        let committed = self.control(COMMIT);
        if committed.is_err() {
            self.rollback().await?;
        }
        committed
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        // Some errors have ended the transaction already.
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.control(ROLLBACK)
    }
}

/// What an error within a transaction means.
fn failure(error: rusqlite::Error) -> Error {
    let reason = error.to_string();
    let Some(said) = error.sqlite_error() else {
        return Error::Other(reason);
    };
    match (said.code, said.extended_code) {
        (_, ffi::SQLITE_BUSY_SNAPSHOT) => Error::SerializationFailure(reason),
        (ErrorCode::DatabaseBusy, _) => Error::LockTimeout(reason),
        (
            _,
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_ROWID,
        ) => Error::DuplicateKey(reason),
        _ => Error::Other(reason),
    }
}
