//! A private memcached on a port of 127.0.0.1.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::error::ServerError;
use crate::loopback::{LoopbackServer, Software};
use crate::options::Limits;
use crate::requests::line_begins;
use crate::server::ServerSpec;

const MEMCACHED: Software = Software {
    kind: ServerSpec {
        name: "memcached",
        install: "scripts/install.sh memcached (or: apt-get install memcached libmemcached-tools)",
        accounts: &["memcache", "memcached", "nobody"],
        pid_file: "pid",
        stop_signal: Signal::TERM,
    },
    programs: &["memcached"],
    answers: |port| line_begins(port, "version", "VERSION "),
};

/// A private memcached.
#[derive(Debug, Clone)]
pub struct Memcached {
    /// Worker threads, each with an event loop (`-t`).
    pub threads: u32,
    /// Further arguments, e.g. `-m` and `256`.
    pub args: Vec<OsString>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// Time limits of starting and stopping.
    pub limits: Limits,
}

impl Default for Memcached {
    /// Four threads, as memcached itself.
    fn default() -> Self {
        Self {
            threads: 4,
            args: Vec::new(),
            parent: None,
            limits: Limits::default(),
        }
    }
}

impl Memcached {
    /// Makes a fresh folder, for its process id.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`] or [`ServerError::Unreachable`].
    pub fn prepare(&self) -> Result<LoopbackServer, ServerError> {
        let server = LoopbackServer::create(MEMCACHED, self.parent.as_deref(), self.limits)?;
        let own = [
            "-l".into(),
            "127.0.0.1".into(),
            "-p".into(),
            server.port().to_string().into(),
            "-P".into(),
            server.pid_file().into_os_string(),
            "-t".into(),
            self.threads.to_string().into(),
        ];
        Ok(server.with_args(own).with_args(self.args.iter().cloned()))
    }
}
