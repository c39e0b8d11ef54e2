//! A connection to any target.

use evenkeel_workloads::interface::{
    Connection, Error as Failure, Row, StatementId, Transaction, TransactionType, Value,
};

use super::{embedded, mariadb, postgres, sqlite};
use crate::round_trip::RoundTrips;

/// A connection to any target, whose client may be some way off.
pub struct Link {
    pub(super) inner: Inner,
    pub(super) round_trips: Option<RoundTrips>,
}

/// The connection itself.
pub(super) enum Inner {
    /// To the embedded store.
    Embedded(Box<embedded::Link>),
    /// To PostgreSQL.
    Postgres(postgres::Link),
    /// To MariaDB or MySQL.
    MariaDb(mariadb::Link),
    /// To SQLite.
    Sqlite(sqlite::Link),
}

/// Does the same with whatever link it is.
macro_rules! any {
    ($link:expr, $inner:ident => $does:expr) => {
        match $link {
            Inner::Embedded($inner) => $does,
            Inner::Postgres($inner) => $does,
            Inner::MariaDb($inner) => $does,
            Inner::Sqlite($inner) => $does,
        }
    };
}

impl Link {
    pub(super) fn new(inner: Inner) -> Link {
        Link {
            inner,
            round_trips: None,
        }
    }

    fn before_statement(&mut self) {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.statement();
        }
    }

    /// A target has undone a transaction when it says so: nothing is held while the client hears of it.
    fn after_statement<T>(&mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        if let (Some(round_trips), Err(_)) = (&mut self.round_trips, &done) {
            round_trips.failed();
        }
        done
    }

    fn before_end(&mut self) {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.end();
        }
    }

    /// Begins a transaction that reads while nobody else runs.
    ///
    /// # Errors
    /// See [`Connection::begin`].
    pub async fn begin_alone(&mut self) -> Result<(), Failure> {
        let reading = TransactionType::reading();
        match &mut self.inner {
            Inner::Embedded(link) => {
                link.begin_alone();
                Ok(())
            }
            Inner::Postgres(link) => link.begin(&reading).await,
            Inner::MariaDb(link) => link.begin(&reading).await,
            Inner::Sqlite(link) => link.begin(&reading).await,
        }
    }
}

impl Transaction for Link {
    async fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<Vec<Row>, Failure> {
        self.before_statement();
        let done = any!(&mut self.inner, link => link.query(statement, parameters).await);
        self.after_statement(done)
    }

    async fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<u64, Failure> {
        self.before_statement();
        let done = any!(&mut self.inner, link => link.execute(statement, parameters).await);
        self.after_statement(done)
    }

    async fn execute_all(
        &mut self,
        statement: StatementId,
        parameters: &[Vec<Value>],
    ) -> Result<(), Failure> {
        self.before_statement();
        let done = any!(&mut self.inner, link => link.execute_all(statement, parameters).await);
        self.after_statement(done)
    }
}

impl Connection for Link {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Failure> {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.begin(transaction.single_statement);
        }
        any!(&mut self.inner, link => link.begin(transaction).await)
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        self.before_end();
        any!(&mut self.inner, link => link.commit().await)
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        self.before_end();
        any!(&mut self.inner, link => link.rollback().await)
    }
}
