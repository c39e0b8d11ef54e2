//! Options of a private database server.

use std::path::PathBuf;
use std::time::Duration;

use crate::release::Release;

/// Options of a private PostgreSQL or MariaDB.
#[derive(Debug, Clone)]
pub struct Options {
    /// Also listen on a free port of 127.0.0.1. Without it there is only the Unix socket.
    pub loopback: bool,
    /// Commits wait for the disk (PostgreSQL `fsync`, MariaDB `innodb_flush_method`). On by default: without it
    /// latency is not that of a real server.
    pub fsync: bool,
    /// Further settings as the server's configuration names them, e.g. `("shared_buffers", "256MB")`.
    /// A later one overrides an earlier one and those this crate sets.
    pub settings: Vec<(String, String)>,
    /// The MariaDB to start, if not the one that the system's packages have installed.
    pub release: Option<Release>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// Time limits of starting and stopping.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            loopback: false,
            fsync: true,
            settings: Vec::new(),
            release: None,
            parent: None,
            limits: Limits::default(),
        }
    }
}

/// Time limits of a server's start and stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From the start of the process to the first accepted connection.
    pub start: Duration,
    /// From the request to stop to the last process gone; then the server is killed.
    pub stop: Duration,
}

impl Default for Limits {
    /// A minute for each: a server under a profiler, on a loaded machine, starts many times slower than alone.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            stop: Duration::from_secs(60),
        }
    }
}
