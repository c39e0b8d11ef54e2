//! What is put under load: the embedded store, PostgreSQL, MariaDB or SQLite.

pub mod address;
pub mod embedded;
pub mod executor;
mod link;
pub mod mariadb;
pub mod postgres;
pub mod sql;
pub mod sqlite;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_servers::{RunningMariaDb, RunningPostgreSql};
use evenkeel_store::{Store, StoreError, TransactionOptions};
use evenkeel_workloads::interface::{Error as Failure, complete};

use crate::Error;
use crate::progress::Progress;
use crate::round_trip::{RoundTrips, SleepLog};
use crate::workload::AnyWorkload;
use executor::{Executor, runtime};
use link::Inner;
pub use link::Link;
use sql::{SqlLink, SqlTarget};

/// Longest that a server may take for one attempt of a transaction.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// A target.
pub enum Target {
    /// The embedded store.
    Embedded(Box<embedded::Target>),
    /// PostgreSQL.
    Postgres(Box<postgres::Target>),
    /// MariaDB or MySQL.
    MariaDb(Box<mariadb::Target>),
    /// SQLite.
    Sqlite(Box<sqlite::Target>),
}

impl From<embedded::Target> for Target {
    fn from(target: embedded::Target) -> Target {
        Target::Embedded(Box::new(target))
    }
}

impl From<postgres::Target> for Target {
    fn from(target: postgres::Target) -> Target {
        Target::Postgres(Box::new(target))
    }
}

impl From<mariadb::Target> for Target {
    fn from(target: mariadb::Target) -> Target {
        Target::MariaDb(Box::new(target))
    }
}

impl From<sqlite::Target> for Target {
    fn from(target: sqlite::Target) -> Target {
        Target::Sqlite(Box::new(target))
    }
}

/// A row whose values are text; none for NULL.
pub type TextRow = Vec<Option<String>>;

/// A server of the target's own.
pub enum PrivateServer<'a> {
    /// A PostgreSQL.
    Postgres(&'a mut RunningPostgreSql),
    /// A MariaDB.
    MariaDb(&'a mut RunningMariaDb),
}

impl PrivateServer<'_> {
    /// Stops it and starts it again with these settings on top of those it was started with at first.
    ///
    /// # Errors
    /// See [`evenkeel_servers::RunningServer::restart_with`].
    pub fn restart_with(&mut self, settings: &[(String, String)]) -> Result<(), Error> {
        match self {
            PrivateServer::Postgres(server) => server.restart_with(settings)?,
            PrivateServer::MariaDb(server) => server.restart_with(settings)?,
        }
        Ok(())
    }

    /// Its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            PrivateServer::Postgres(server) => server.pid(),
            PrivateServer::MariaDb(server) => server.pid(),
        }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            PrivateServer::Postgres(server) => server.folder(),
            PrivateServer::MariaDb(server) => server.folder(),
        }
    }
}

impl Target {
    /// Its name with version, for reports and messages.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Target::Embedded(target) => target.name(),
            Target::Postgres(target) => target.name(),
            Target::MariaDb(target) => target.name(),
            Target::Sqlite(target) => target.name(),
        }
    }

    /// The rows that some SQL returns, as text, on a connection of its own.
    ///
    /// # Errors
    /// What the target says; [`Error::Setting`] where it speaks no SQL over a connection.
    pub fn rows(&self, sql: &str) -> Result<Vec<TextRow>, Error> {
        match self {
            Target::Postgres(target) => {
                runtime()?.block_on(async { target.connect().await?.text_rows(sql).await })
            }
            Target::MariaDb(target) => {
                runtime()?.block_on(async { target.connect().await?.text_rows(sql).await })
            }
            Target::Embedded(_) | Target::Sqlite(_) => Err(Error::Setting(format!(
                "{} is not asked by SQL over a connection",
                self.name()
            ))),
        }
    }

    /// The private server behind it, to be restarted or profiled.
    pub fn server(&mut self) -> Option<PrivateServer<'_>> {
        match self {
            Target::Postgres(target) => target.private_mut().map(PrivateServer::Postgres),
            Target::MariaDb(target) => target.private_mut().map(PrivateServer::MariaDb),
            Target::Embedded(_) | Target::Sqlite(_) => None,
        }
    }

    /// Variables by which clients of the server's own find it, and for others the directory of its socket or its host, and its port.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        match self {
            Target::Postgres(target) => target.environment(),
            Target::MariaDb(target) => target.environment(),
            Target::Embedded(_) | Target::Sqlite(_) => Vec::new(),
        }
    }

    /// Sees to it that the workload's tables and initial data are there.
    ///
    /// # Errors
    /// There are tables of somebody else, or what the target says.
    pub fn set_up(
        &self,
        workload: &dyn AnyWorkload,
        reload: bool,
        loaders: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        match self {
            Target::Embedded(target) => target.set_up(workload, reload, loaders, stop, progress),
            Target::Postgres(target) => {
                sql::set_up(target.as_ref(), workload, reload, loaders, stop, progress)
            }
            Target::MariaDb(target) => {
                sql::set_up(target.as_ref(), workload, reload, loaders, stop, progress)
            }
            // It has one writer at a time.
            Target::Sqlite(target) => {
                sql::set_up(target.as_ref(), workload, reload, 1, stop, progress)
            }
        }
    }

    /// A session with the workload's statements prepared.
    ///
    /// # Errors
    /// What the target says.
    pub fn connect(&self, workload: &dyn AnyWorkload) -> Result<Session, Error> {
        let (link, executor) = match self {
            Target::Embedded(target) => (
                Inner::Embedded(Box::new(target.connect(workload)?)),
                Executor::Direct,
            ),
            Target::Postgres(target) => {
                let runtime = runtime()?;
                (
                    Inner::Postgres(runtime.block_on(prepared(target.as_ref(), workload))?),
                    Executor::Runtime(runtime),
                )
            }
            Target::MariaDb(target) => {
                let runtime = runtime()?;
                (
                    Inner::MariaDb(runtime.block_on(prepared(target.as_ref(), workload))?),
                    Executor::Runtime(runtime),
                )
            }
            Target::Sqlite(target) => (
                Inner::Sqlite(complete(prepared(target.as_ref(), workload))?),
                Executor::Direct,
            ),
        };
        let workers = match self {
            Target::Embedded(target) if target.has_workers() => Some(target.store().clone()),
            _ => None,
        };
        Ok(Session {
            link: Some(Link::new(link)),
            executor,
            workers,
            target: self.name().to_owned(),
        })
    }
}

async fn prepared<T: SqlTarget>(target: &T, workload: &dyn AnyWorkload) -> Result<T::Link, Error> {
    let mut link = target.connect().await?;
    link.prepare(workload.schema(), workload.statements())
        .await?;
    Ok(link)
}

/// A link and what runs its futures.
pub struct Session {
    link: Option<Link>,
    executor: Executor,
    /// The store, if its worker threads are to do the work.
    workers: Option<Store>,
    target: String,
}

impl Session {
    /// Runs `body` on the link, up to a time limit if the target is a server.
    ///
    /// # Errors
    /// [`Error::Silent`] if the limit passed.
    pub fn run<T: Send>(
        &mut self,
        body: impl AsyncFnOnce(&mut Link) -> Result<T, Failure> + Send,
    ) -> Result<Result<T, Failure>, Error> {
        let link = self
            .link
            .as_mut()
            .expect("the link is there until the session is dropped");
        match (&self.executor, &self.workers) {
            (Executor::Direct, None) => Ok(complete(body(link))),
            (Executor::Direct, Some(store)) => {
                // The transaction that a worker begins by itself stays empty: the body has its own.
                let work =
                    |_: &mut evenkeel_store::Transaction| Ok::<_, StoreError>(complete(body(link)));
                let done = store.execute(TransactionOptions::default(), work).result;
                done.map_err(|error| Error::Store(error.to_string()))
            }
            (Executor::Runtime(_), _) => {
                let limited = async { tokio::time::timeout(ANSWER_LIMIT, body(link)).await };
                self.executor.block_on(limited).map_err(|_| Error::Silent {
                    target: self.target.clone(),
                    limit_s: ANSWER_LIMIT.as_secs(),
                })
            }
        }
    }

    /// Runs `body` on the link however long it takes.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn run_unlimited<T>(
        &mut self,
        body: impl AsyncFnOnce(&mut Link) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let link = self
            .link
            .as_mut()
            .expect("the link is there until the session is dropped");
        self.executor.block_on(body(link))
    }

    /// A request has come to its end: what follows is no retry of it.
    pub fn request_ended(&mut self) {
        if let Some(Inner::Embedded(link)) = self.link.as_mut().map(|link| &mut link.inner) {
            link.forget_age();
        }
    }

    /// From now on the client is this far off within its transactions. Returns where it writes down how long it slept.
    ///
    /// # Errors
    /// [`Error::Setting`] where the store's workers execute whole transactions: no client has its turn within them.
    pub fn set_round_trips(&mut self, round_trips: RoundTrips) -> Result<SleepLog, Error> {
        if self.workers.is_some() {
            return Err(Error::Setting(
                "with --set workers=N a transaction is executed as a whole, without its client: leave out --round-trip, or the workers"
                    .to_owned(),
            ));
        }
        let (log, link) = (round_trips.log(), self.link.as_mut());
        let link = link.expect("the link is there until the session is dropped");
        link.round_trips = Some(round_trips);
        Ok(log)
    }

    /// What an error means that no retry mends.
    #[must_use]
    pub fn failure(&self, workload: &str, failure: &Failure) -> Error {
        let (target, reason) = (self.target.clone(), failure.to_string());
        let lost = match self.link.as_ref().map(|link| &link.inner) {
            Some(Inner::Postgres(link)) => link.is_lost(),
            Some(Inner::MariaDb(link)) => link.is_lost(),
            Some(Inner::Embedded(_) | Inner::Sqlite(_)) | None => false,
        };
        if lost {
            Error::Lost { target, reason }
        } else {
            Error::Workload {
                workload: workload.to_owned(),
                target,
                reason,
            }
        }
    }
}

impl Drop for Session {
    /// Servers are notified that a connection ends, which takes a turn of the event loop.
    fn drop(&mut self) {
        let link = self.link.take();
        if let Executor::Runtime(runtime) = &self.executor {
            runtime.block_on(async {
                drop(link);
                tokio::task::yield_now().await;
            });
        }
    }
}
