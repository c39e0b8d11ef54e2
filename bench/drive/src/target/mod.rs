//! What is put under load: the embedded store, PostgreSQL, MariaDB or SQLite.

pub mod address;
pub mod embedded;
mod executor;
mod link;
pub mod mariadb;
pub mod postgres;
mod session;
mod sql;
pub mod sqlite;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use evenkeel_servers::{RunningMariaDb, RunningPostgreSql};
use evenkeel_workloads::interface::complete;

use crate::Error;
use crate::dataset::Dataset;
use crate::progress::Progress;
use executor::{Executor, runtime};
use link::Inner;
pub use link::Link;
pub use session::Session;
use sql::{SqlLink, SqlTarget};

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
    pub fn pid(&self) -> Option<u32> {
        match self {
            PrivateServer::Postgres(server) => server.pid(),
            PrivateServer::MariaDb(server) => server.pid(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        match self {
            PrivateServer::Postgres(server) => server.folder(),
            PrivateServer::MariaDb(server) => server.folder(),
        }
    }
}

impl Target {
    /// Its name with version, for reports and messages.
    pub fn name(&self) -> &str {
        match self {
            Target::Embedded(target) => target.name(),
            Target::Postgres(target) => target.name(),
            Target::MariaDb(target) => target.name(),
            Target::Sqlite(target) => target.name(),
        }
    }

    /// The rows that some SQL returns, as text, on a separate connection.
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

    /// Its private server, to be restarted or profiled.
    pub fn server(&mut self) -> Option<PrivateServer<'_>> {
        match self {
            Target::Postgres(target) => target.private_mut().map(PrivateServer::Postgres),
            Target::MariaDb(target) => target.private_mut().map(PrivateServer::MariaDb),
            Target::Embedded(_) | Target::Sqlite(_) => None,
        }
    }

    /// Variables by which clients of the server's own find it, and for others the directory of its socket or its host, and its port.
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
        workload: &dyn Dataset,
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
    pub fn connect(&self, workload: &dyn Dataset) -> Result<Session, Error> {
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

async fn prepared<T: SqlTarget>(target: &T, workload: &dyn Dataset) -> Result<T::Link, Error> {
    let mut link = target.connect().await?;
    link.prepare(workload.schema(), workload.statements())
        .await?;
    Ok(link)
}
