//! A connection to PostgreSQL.

use std::pin::pin;

use evenkeel_workloads::interface::{
    ColumnType, Connection, Error, Row, Schema, Statement, StatementId, Transaction,
    TransactionType, Value,
};
use evenkeel_workloads::sql::{Dialect, translate};
use futures_util::TryStreamExt;
use futures_util::future::{join, try_join_all};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, RowStream};

use super::values::{Parameter, Raw};

/// A connection with a workload's statements prepared.
///
/// `BEGIN` is not waited for: it is sent with the first statement, as common drivers do (JDBC's among them). The
/// lines of an order are sent together. So a transaction costs one round trip a statement, and one for the commit.
pub struct Link {
    pub(super) client: Client,
    /// Name of the target for messages.
    pub(super) target: String,
    statements: Vec<Prepared>,
    state: State,
    lost: bool,
}

/// What the server knows of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No transaction is open: every statement is its own.
    Autocommit,
    /// `BEGIN` is to be sent with the first statement.
    Unsent,
    /// It runs.
    Running,
    /// A statement failed: nothing but a rollback is possible.
    Failed,
}

struct Prepared {
    statement: tokio_postgres::Statement,
    /// For each placeholder the declared parameter and its type.
    parameters: Vec<(usize, ColumnType)>,
    results: Vec<ColumnType>,
}

impl Link {
    pub(super) fn new(client: Client, target: String) -> Link {
        Link {
            client,
            target,
            statements: Vec::new(),
            state: State::Autocommit,
            lost: false,
        }
    }

    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        self.lost || self.client.is_closed()
    }

    /// Prepares a workload's statements; to be called before transactions.
    ///
    /// # Errors
    /// What the server says.
    pub async fn prepare(
        &mut self,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<(), crate::Error> {
        for declared in statements {
            // PostgreSQL's dialect needs one statement for each.
            for sql in translate(Dialect::Postgres, schema, declared) {
                let prepared = self.client.prepare(&sql.text).await;
                let statement = prepared.map_err(|error| self.refusal(&sql.text, &error))?;
                let parameters = sql
                    .parameters
                    .iter()
                    .map(|&at| (at, declared.parameters[at]))
                    .collect();
                self.statements.push(Prepared {
                    statement,
                    parameters,
                    results: declared.results.clone(),
                });
            }
        }
        Ok(())
    }

    /// What an error outside of transactions means.
    pub(super) fn refusal(&self, statement: &str, error: &tokio_postgres::Error) -> crate::Error {
        let (target, reason) = (self.target.clone(), words(error));
        if self.client.is_closed() || is_loss(error) {
            return crate::Error::Lost { target, reason };
        }
        crate::Error::Refused {
            target,
            statement: statement.to_owned(),
            reason,
        }
    }

    fn failure(&mut self, error: &tokio_postgres::Error) -> Error {
        if self.state != State::Autocommit {
            self.state = State::Failed;
        }
        self.lost |= is_loss(error);
        let reason = words(error);
        match error.code() {
            Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Error::Deadlock(reason),
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => {
                Error::SerializationFailure(reason)
            }
            Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => Error::LockTimeout(reason),
            Some(code) if *code == SqlState::UNIQUE_VIOLATION => Error::DuplicateKey(reason),
            _ => Error::Other(reason),
        }
    }

    /// Sends a statement, behind `BEGIN` if that is still to be sent.
    async fn send(&mut self, id: StatementId, parameters: &[Value]) -> Result<RowStream, Error> {
        let sent = {
            let prepared = &self.statements[id.0];
            let answer = self
                .client
                .query_raw(&prepared.statement, prepared.bind(parameters));
            if self.state == State::Unsent {
                let (begun, answer) = join(self.client.batch_execute("BEGIN"), answer).await;
                begun.and(answer)
            } else {
                answer.await
            }
        };
        if self.state == State::Unsent {
            self.state = State::Running;
        }
        sent.map_err(|error| self.failure(&error))
    }
}

impl Prepared {
    fn bind<'a>(
        &'a self,
        values: &'a [Value],
    ) -> impl ExactSizeIterator<Item = Parameter<'a>> + Send + 'a {
        self.parameters.iter().map(|&(at, column_type)| Parameter {
            value: &values[at],
            column_type,
        })
    }

    fn row(&self, row: &tokio_postgres::Row) -> Result<Row, Error> {
        let columns = self.results.iter().enumerate();
        let values = columns.map(|(at, &declared)| {
            let raw: Raw<'_> = row
                .try_get(at)
                .map_err(|error| Error::Other(error.to_string()))?;
            raw.value(declared)
        });
        values.collect::<Result<_, _>>().map(Row)
    }
}

impl Transaction for Link {
    async fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<Vec<Row>, Error> {
        let mut answer = pin!(self.send(statement, parameters).await?);
        let mut rows = Vec::new();
        loop {
            match answer.try_next().await {
                Ok(Some(row)) => rows.push(self.statements[statement.0].row(&row)?),
                Ok(None) => return Ok(rows),
                Err(error) => return Err(self.failure(&error)),
            }
        }
    }

    async fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<u64, Error> {
        let mut answer = pin!(self.send(statement, parameters).await?);
        loop {
            match answer.try_next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(answer.rows_affected().unwrap_or(0)),
                Err(error) => return Err(self.failure(&error)),
            }
        }
    }

    async fn execute_all(
        &mut self,
        statement: StatementId,
        parameters: &[Vec<Value>],
    ) -> Result<(), Error> {
        if self.state == State::Unsent && !parameters.is_empty() {
            self.state = State::Running;
            let begun = self.client.batch_execute("BEGIN").await;
            begun.map_err(|error| self.failure(&error))?;
        }
        let done = {
            let prepared = &self.statements[statement.0];
            try_join_all(parameters.iter().map(|values| {
                self.client
                    .execute_raw(&prepared.statement, prepared.bind(values))
            }))
            .await
        };
        done.map(drop).map_err(|error| self.failure(&error))
    }
}

impl Connection for Link {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Error> {
        self.state = if transaction.single_statement {
            State::Autocommit
        } else {
            State::Unsent
        };
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Autocommit) {
            State::Autocommit | State::Unsent => Ok(()),
            State::Running => {
                let committed = self.client.batch_execute("COMMIT").await;
                committed.map_err(|error| self.failure(&error))
            }
            // The server would answer a COMMIT with a rollback, and call it a success.
            State::Failed => Err(Error::Other(
                "a transaction whose statement failed was to be committed".to_owned(),
            )),
        }
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Autocommit) {
            State::Autocommit | State::Unsent => Ok(()),
            State::Running | State::Failed => {
                let rolled_back = self.client.batch_execute("ROLLBACK").await;
                rolled_back.map_err(|error| self.failure(&error))
            }
        }
    }
}

/// Whether an error means that there is no connection any more: it is closed, or the server says that it goes (class 57P,
/// operator intervention).
fn is_loss(error: &tokio_postgres::Error) -> bool {
    let cut = std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
    error.is_closed()
        || cut
        || error
            .code()
            .is_some_and(|code| code.code().starts_with("57P"))
}

/// What went wrong in words: the server's, or the system's at the end of the chain of causes.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(refused) = error.as_db_error() {
        let detail = refused
            .detail()
            .map_or(String::new(), |detail| format!(" ({detail})"));
        return format!("{}: {}{detail}", refused.severity(), refused.message());
    }
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
