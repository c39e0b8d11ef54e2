//! What servers share that are known by a port of 127.0.0.1 alone: Apache, nginx, Redis and memcached.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries;
use crate::error::ServerError;
use crate::folder::Folder;
use crate::launch::Launch;
use crate::options::Limits;
use crate::postgresql::free_loopback_port;
use crate::running::{Identity, Running, Stopped};

/// What such servers differ in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Name for messages.
    pub name: &'static str,
    /// Names of the program, the first that exists.
    pub programs: &'static [&'static str],
    /// The command that installs it.
    pub install: &'static str,
    /// Accounts the server may run as under root, the first that exists.
    pub accounts: &'static [&'static str],
    /// Whether the server answers at this port.
    pub answers: fn(u16) -> bool,
}

/// A server in a folder of its own, on a free port of 127.0.0.1, not started yet. Dropping it removes the folder.
#[derive(Debug)]
pub struct LoopbackServer {
    kind: Kind,
    folder: Folder,
    program: PathBuf,
    args: Vec<OsString>,
    port: u16,
    limits: Limits,
}

impl LoopbackServer {
    /// Finds the program, a folder and a port. What the server needs in the folder, and its arguments, come after.
    pub(crate) fn create(
        kind: Kind,
        parent: Option<&Path>,
        limits: Limits,
    ) -> Result<Self, ServerError> {
        let program = kind.programs.iter().find_map(|name| binaries::find(name));
        let program = program.ok_or(ServerError::NotInstalled {
            server: kind.name,
            program: kind.programs[0].into(),
            install: kind.install,
        })?;
        let folder = Folder::create(parent, Account::for_server(kind.accounts)?)?;
        Ok(Self {
            kind,
            folder,
            program,
            args: Vec::new(),
            port: free_loopback_port()?,
            limits,
        })
    }

    /// The same server with arguments. It must stay in the foreground and write its process id to [`Self::pid_file`].
    pub(crate) fn with_args<A: Into<OsString>>(
        mut self,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Where its process id has to be while it runs.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.folder.path().join("pid")
    }

    /// The folder, which belongs to the server's account.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// TCP port of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What starts the server in the foreground.
    #[must_use]
    pub fn launch(&self) -> Launch {
        Launch {
            program: self.program.clone(),
            args: self.args.clone(),
            env: vec![("LC_ALL".into(), "C".into()), ("TZ".into(), "UTC".into())],
            account: self.folder.account().cloned(),
            working_directory: self.folder.path().to_owned(),
        }
    }

    /// [`Launch::command`] of [`Self::launch`].
    #[must_use]
    pub fn command(&self) -> Command {
        self.launch().command()
    }

    /// File to which `start` sends the server's output and error streams.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts the server, behind the command `wrap` if given, and waits until it answers a request.
    ///
    /// # Errors
    /// [`ServerError::EndedAtStart`] or [`ServerError::StartTimeout`], both with the end of the log.
    pub fn start(self, wrap: Option<&[OsString]>) -> Result<RunningLoopbackServer, ServerError> {
        let (identity, launch, port) = (self.identity(), self.launch(), self.port);
        let answers = self.kind.answers;
        let running = Running::start(identity, self.folder, launch, wrap, &|| answers(port))?;
        Ok(RunningLoopbackServer { running, port })
    }

    /// Takes charge of this server when the caller starts (or has started) its [`Self::launch`] by itself: waits
    /// until it answers a request.
    ///
    /// # Errors
    /// [`ServerError::StartTimeout`].
    pub fn adopt(self) -> Result<RunningLoopbackServer, ServerError> {
        let (identity, port, answers) = (self.identity(), self.port, self.kind.answers);
        let running = Running::adopt(identity, self.folder, &|| answers(port))?;
        Ok(RunningLoopbackServer { running, port })
    }

    fn identity(&self) -> Identity {
        Identity {
            name: self.kind.name,
            pid_file: self.pid_file(),
            log: self.log_path(),
            stop_signal: Signal::TERM,
            limits: self.limits,
        }
    }
}

/// A server that answers at its port. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct RunningLoopbackServer {
    running: Running,
    port: u16,
}

impl RunningLoopbackServer {
    /// Process id of the server, the parent's where it has several processes; `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Folder of the server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.running.folder().path()
    }

    /// TCP port of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server (and a command it was started behind) wrote to its streams so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Stops the server and waits for it and for a command it was started behind.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed.
    pub fn stop(self) -> Result<Stopped, ServerError> {
        self.running.stop()
    }
}
