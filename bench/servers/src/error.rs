//! Errors of private servers, each with what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a private server could not be prepared, started, asked or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A program of the server is not on this machine.
    #[error("{server} is not installed (no `{program}`); install it with: {install}")]
    NotInstalled {
        /// Name of the server, e.g. `PostgreSQL`.
        server: &'static str,
        /// The program that was looked for.
        program: String,
        /// The command that installs it.
        install: &'static str,
    },
    /// No official build of MariaDB where one was asked for.
    #[error("there is no MariaDB {wanted} in {directory} (bin/mariadbd and share/*_system_tables.sql); fetch one with: scripts/install.sh mariadb-10.2.11 (or mariadb-11.4.5)", directory = .directory.display())]
    NoRelease {
        /// The version or directory that was asked for.
        wanted: String,
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// Run by root, and none of the accounts the server could run as exists.
    #[error(
        "the server refuses to run as root and none of the accounts {accounts} exists; add one with: useradd --system {first}"
    )]
    NoAccount {
        /// The accounts looked for, separated by commas.
        accounts: String,
        /// The first of them.
        first: &'static str,
    },
    /// The server's account may not enter a folder on the way to its own.
    #[error("the account `{account}` may not enter {folder}; set TMPDIR to a folder that everybody may enter, e.g. /tmp", folder = .folder.display())]
    Unreachable {
        /// Account the server runs as.
        account: String,
        /// The first folder it may not enter.
        folder: PathBuf,
    },
    /// The address of a Unix socket holds 107 bytes; this path is longer.
    #[error("the socket's path {path} is {bytes} bytes long, and the system's limit is 107; set TMPDIR to a shorter folder, e.g. /tmp", path = .path.display())]
    SocketPathTooLong {
        /// The path that does not fit.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// A program ended with an error.
    #[error("`{command}` failed ({status}):\n{output}")]
    Failed {
        /// The program and its arguments.
        command: String,
        /// Its exit status in words.
        status: String,
        /// Text on its error stream, or on its output where that is empty.
        output: String,
    },
    /// The server's process ended before it accepted a connection.
    #[error("{server} ended while starting ({status}); the end of its log:\n{log}")]
    EndedAtStart {
        /// Name of the server.
        server: &'static str,
        /// Exit status in words.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// The server did not accept a connection in time.
    #[error("{server} accepted no connection within {limit:?}; the end of its log:\n{log}")]
    StartTimeout {
        /// Name of the server.
        server: &'static str,
        /// The limit, see [`crate::Limits::start`].
        limit: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// The server had to be killed because it did not stop in time.
    #[error("{server} did not stop within {limit:?} and was killed; the end of its log:\n{log}")]
    StopTimeout {
        /// Name of the server.
        server: &'static str,
        /// The limit, see [`crate::Limits::stop`].
        limit: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// Processes of a folder whose owner was killed do not end.
    #[error("what runs in {folder} does not end (processes {numbers}); end it yourself, and remove the folder", folder = .folder.display(), numbers = listed(.processes))]
    NotEnded {
        /// The folder.
        folder: PathBuf,
        /// The processes.
        processes: Vec<i32>,
    },
    /// A client program wrote something this crate does not understand.
    #[error("cannot read the {what} in what `{program}` wrote:\n{output}")]
    Unreadable {
        /// The program.
        program: &'static str,
        /// The missing thing.
        what: &'static str,
        /// All that it wrote.
        output: String,
    },
    /// The operating system refused a step.
    #[error("{action}: {source}")]
    Io {
        /// The operation.
        action: String,
        /// Why it failed.
        source: io::Error,
    },
}

fn listed(processes: &[i32]) -> String {
    let all: Vec<String> = processes.iter().map(i32::to_string).collect();
    all.join(", ")
}

/// Names the step an `io::Error` comes from.
pub(crate) trait During<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, ServerError>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, ServerError> {
        self.map_err(|source| ServerError::Io {
            action: action(),
            source,
        })
    }
}
