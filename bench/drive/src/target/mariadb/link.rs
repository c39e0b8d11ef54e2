//! A connection to MariaDB or MySQL.

use evenkeel_workloads::interface::{
    ColumnType, Connection, Error, Row, Schema, Statement, StatementId, Transaction,
    TransactionType, Value,
};
use evenkeel_workloads::sql::{Dialect, translate};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params};

use super::values;

/// Error numbers of the server (`ER_DUP_ENTRY`, `ER_LOCK_WAIT_TIMEOUT`, `ER_LOCK_DEADLOCK`, `ER_CHECKREAD`).
const DUPLICATE_KEY: u16 = 1062;
const LOCK_WAIT_TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;
const CHANGED_SINCE_READ: u16 = 1020;

/// Whether the same statement may succeed when it is tried again: the server chose it to end a deadlock, or it waited too long for a lock.
pub(super) fn is_retryable(error: &mysql_async::Error) -> bool {
    let mysql_async::Error::Server(refused) = error else {
        return false;
    };
    matches!(refused.code, DEADLOCK | LOCK_WAIT_TIMEOUT)
}

/// A connection with a workload's statements prepared.
pub struct Link {
    pub(super) connection: Option<Conn>,
    /// Name of the target for messages.
    pub(super) target: String,
    statements: Vec<Vec<Prepared>>,
    /// Whether a transaction was begun that is not just one statement.
    open: bool,
    lost: bool,
}

/// One SQL statement; a declared one that updates and returns rows has two.
struct Prepared {
    statement: mysql_async::Statement,
    /// For each placeholder the declared parameter and its type.
    parameters: Vec<(usize, ColumnType)>,
    results: Vec<ColumnType>,
}

impl Link {
    pub(super) fn new(connection: Conn, target: String) -> Link {
        Link {
            connection: Some(connection),
            target,
            statements: Vec::new(),
            open: false,
            lost: false,
        }
    }

    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        self.lost
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
            let mut all = Vec::new();
            for sql in translate(Dialect::MySql, schema, declared) {
                let prepared = self.connection().prep(sql.text.as_str()).await;
                let statement = prepared.map_err(|error| self.refusal(&sql.text, &error))?;
                let parameters = sql
                    .parameters
                    .iter()
                    .map(|&at| (at, declared.parameters[at]))
                    .collect();
                all.push(Prepared {
                    statement,
                    parameters,
                    results: declared.results.clone(),
                });
            }
            self.statements.push(all);
        }
        Ok(())
    }

    /// The connection, which is there until the link is dropped.
    pub(super) fn connection(&mut self) -> &mut Conn {
        self.connection
            .as_mut()
            .expect("the connection is taken only when the link is dropped")
    }

    /// What an error outside of transactions means.
    pub(super) fn refusal(&mut self, statement: &str, error: &mysql_async::Error) -> crate::Error {
        let (target, reason) = (self.target.clone(), words(error));
        if is_loss(error) {
            self.lost = true;
            return crate::Error::Lost { target, reason };
        }
        crate::Error::Refused {
            target,
            statement: statement.to_owned(),
            reason,
        }
    }

    fn failure(&mut self, error: &mysql_async::Error) -> Error {
        self.lost |= is_loss(error);
        let reason = words(error);
        match error {
            mysql_async::Error::Server(refused) => match refused.code {
                DEADLOCK => Error::Deadlock(reason),
                LOCK_WAIT_TIMEOUT => Error::LockTimeout(reason),
                CHANGED_SINCE_READ => Error::SerializationFailure(reason),
                DUPLICATE_KEY => Error::DuplicateKey(reason),
                _ => Error::Other(reason),
            },
            _ => Error::Other(reason),
        }
    }

    /// Runs all statements of a declared one: the rows of the last, the number of rows the first changed.
    async fn run(&mut self, id: StatementId, values: &[Value]) -> Result<(Vec<Row>, u64), Error> {
        let ran = self.try_run(id, values).await;
        ran.map_err(|error| match error {
            Failure::Server(error) => self.failure(&error),
            Failure::Value(error) => error,
        })
    }

    async fn try_run(
        &mut self,
        id: StatementId,
        values: &[Value],
    ) -> Result<(Vec<Row>, u64), Failure> {
        let connection = self
            .connection
            .as_mut()
            .expect("the connection is taken only when the link is dropped");
        let (mut rows, mut changed) = (Vec::new(), None);
        for prepared in &self.statements[id.0] {
            let mut answer = connection
                .exec_iter(&prepared.statement, prepared.bind(values))
                .await?;
            rows.clear();
            while let Some(row) = answer.next().await? {
                rows.push(prepared.row(row)?);
            }
            changed.get_or_insert(answer.affected_rows());
            answer.drop_result().await?;
        }
        Ok((rows, changed.unwrap_or(0)))
    }

    async fn end(&mut self, sql: &str) -> Result<(), Error> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        let ended = self.connection().query_drop(sql).await;
        ended.map_err(|error| self.failure(&error))
    }
}

/// What went wrong while rows were fetched.
enum Failure {
    Server(mysql_async::Error),
    Value(Error),
}

impl From<mysql_async::Error> for Failure {
    fn from(error: mysql_async::Error) -> Self {
        Failure::Server(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Value(error)
    }
}

impl Prepared {
    fn bind(&self, given: &[Value]) -> Params {
        if self.parameters.is_empty() {
            return Params::Empty;
        }
        let bound = self
            .parameters
            .iter()
            .map(|&(at, declared)| values::parameter(&given[at], declared));
        Params::Positional(bound.collect())
    }

    fn row(&self, row: mysql_async::Row) -> Result<Row, Error> {
        let columns = row.unwrap_raw().into_iter().zip(&self.results);
        let value = |(wire, &declared): (Option<mysql_async::Value>, _)| {
            values::value(wire.unwrap_or(mysql_async::Value::NULL), declared)
        };
        columns.map(value).collect::<Result<_, _>>().map(Row)
    }
}

impl Transaction for Link {
    async fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<Vec<Row>, Error> {
        self.run(statement, parameters).await.map(|(rows, _)| rows)
    }

    async fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<u64, Error> {
        self.run(statement, parameters)
            .await
            .map(|(_, changed)| changed)
    }

    /// MariaDB executes a prepared statement for many rows in one message (`COM_STMT_BULK_EXECUTE`).
    async fn execute_all(
        &mut self,
        statement: StatementId,
        parameters: &[Vec<Value>],
    ) -> Result<(), Error> {
        let [prepared] = &self.statements[statement.0][..] else {
            for row in parameters {
                self.execute(statement, row).await?;
            }
            return Ok(());
        };
        if parameters.is_empty() {
            return Ok(());
        }
        let connection = self
            .connection
            .as_mut()
            .expect("the connection is taken only when the link is dropped");
        let bound: Vec<Params> = parameters.iter().map(|row| prepared.bind(row)).collect();
        let done = connection.exec_batch(&prepared.statement, bound).await;
        done.map_err(|error| self.failure(&error))
    }
}

impl Connection for Link {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Error> {
        if transaction.single_statement {
            return Ok(());
        }
        let begun = self.connection().query_drop("START TRANSACTION").await;
        begun.map_err(|error| self.failure(&error))?;
        self.open = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.end("COMMIT").await
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        self.end("ROLLBACK").await
    }
}

/// Whether an error means that there is no connection any more.
pub(super) fn is_loss(error: &mysql_async::Error) -> bool {
    use mysql_async::DriverError::ConnectionClosed;
    match error {
        mysql_async::Error::Io(_) | mysql_async::Error::Driver(ConnectionClosed) => true,
        // ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED.
        mysql_async::Error::Server(refused) => matches!(refused.code, 1053 | 1927),
        _ => false,
    }
}

/// What went wrong in words.
pub(super) fn words(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(refused) => {
            format!("error {}: {}", refused.code, refused.message)
        }
        mysql_async::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
