//! Errors, each with what to do.

use std::io;
use std::path::PathBuf;

use evenkeel_servers::ServerError;
use evenkeel_store::StoreError;

/// Why a benchmark could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arguments that make no sense, or not together.
    #[error("{0}")]
    Setting(String),
    /// A private server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// No connection.
    #[error(
        "cannot connect to {target}: {reason}; check that the server runs and that the URL is right"
    )]
    Connect {
        /// Name of the target.
        target: String,
        /// The error of the system or the server.
        reason: String,
    },
    /// A connection that had been there was lost.
    #[error("lost the connection to {target}: {reason}; the server's log says why it ended")]
    Lost {
        /// Name of the target.
        target: String,
        /// The error of the system or the server.
        reason: String,
    },
    /// No answer within the limit.
    #[error(
        "{target} has not answered for {limit_s} s; it may hang, or be overloaded: try fewer --clients or a lower --rate"
    )]
    Silent {
        /// Name of the target.
        target: String,
        /// The limit.
        limit_s: u64,
    },
    /// The target refused something that it should not refuse.
    #[error("{target} refused `{statement}`: {reason}")]
    Refused {
        /// Name of the target.
        target: String,
        /// The statement, or what was tried.
        statement: String,
        /// The server's error.
        reason: String,
    },
    /// There are tables with the workload's names that this program did not make.
    #[error(
        "{target} has a table `{table}` that evenkeel did not create, and does not drop; \
         give the benchmark a database of its own, e.g. CREATE DATABASE evenkeel"
    )]
    Foreign {
        /// Name of the target.
        target: String,
        /// The table.
        table: String,
    },
    /// A transaction met data that the workload rules out.
    #[error("the workload {workload} failed on {target}: {reason}")]
    Workload {
        /// Name of the workload.
        workload: String,
        /// Name of the target.
        target: String,
        /// The finding.
        reason: String,
    },
    /// The embedded store.
    #[error("the embedded store: {0}")]
    Store(String),
    /// The operating system refused a step.
    #[error("cannot {action}: {source}")]
    System {
        /// The operation.
        action: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A file that was to be written.
    #[error("cannot write {}: {source}; check the directory and the free space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Store(error.to_string())
    }
}
