//! A private Redis without persistence, on a port of 127.0.0.1.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::error::ServerError;
use crate::loopback::{LoopbackServer, Software};
use crate::options::Limits;
use crate::requests::line_begins;
use crate::server::ServerSpec;

const REDIS: Software = Software {
    kind: ServerSpec {
        name: "Redis",
        install: "scripts/install.sh redis (or: apt-get install redis-server redis-tools)",
        accounts: &["redis", "nobody"],
        pid_file: "pid",
        stop_signal: Signal::TERM,
    },
    programs: &["redis-server"],
    answers: |port| line_begins(port, "PING", "+PONG\r\n"),
};

/// A private Redis.
#[derive(Debug, Clone)]
pub struct Redis {
    /// Threads that write answers, the main one among them (`io-threads`); they are used only while many clients wait.
    pub io_threads: u32,
    /// Lines added to the configuration, e.g. `io-threads-do-reads yes`.
    pub directives: Vec<String>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// Time limits of starting and stopping.
    pub limits: Limits,
}

impl Default for Redis {
    /// Has one thread, as Redis itself.
    fn default() -> Self {
        Self {
            io_threads: 1,
            directives: Vec::new(),
            parent: None,
            limits: Limits::default(),
        }
    }
}

impl Redis {
    /// Writes a configuration into a fresh folder.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`] or [`ServerError::Unreachable`]. What Redis says about
    /// a directive shows at its start.
    pub fn prepare(&self) -> Result<LoopbackServer, ServerError> {
        let server = LoopbackServer::create(REDIS, self.parent.as_deref(), self.limits)?;
        let configuration = self.configuration(server.folder().path(), server.port());
        let file = server.folder().write("redis.conf", configuration)?;
        Ok(server.with_args([file]))
    }

    fn configuration(&self, folder: &Path, port: u16) -> String {
        let folder = folder.display();
        let mut text = format!(
            "bind 127.0.0.1\nport {port}\ndaemonize no\npidfile {folder}/pid\ndir {folder}\nsave \"\"\nappendonly no\n\
             io-threads {}\n",
            self.io_threads
        );
        for directive in &self.directives {
            text += directive;
            text.push('\n');
        }
        text
    }
}
