//! A private server, whichever it is: prepared, started, adopted, stopped. What differs between them is a [`ServerSpec`], and a
//! [`Site`] to reach the server at.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries;
use crate::error::ServerError;
use crate::folder::Folder;
use crate::launch::Launch;
use crate::options::Limits;
use crate::running::{Identity, Running, Stopped};

/// Properties of a kind of server before one is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerSpec {
    /// Name for messages.
    pub name: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// Accounts the server may run as under root, the first that exists.
    pub accounts: &'static [&'static str],
    /// Where in its folder its process id is while it runs.
    pub pid_file: &'static str,
    /// Signal that makes it end at once but in order.
    pub stop_signal: Signal,
}

impl ServerSpec {
    /// The first of the programs with these names that exists.
    pub(crate) fn program(&self, names: &[&str]) -> Result<PathBuf, ServerError> {
        let found = names.iter().find_map(|name| binaries::find(name));
        found.ok_or_else(|| self.not_installed(names[0]))
    }

    /// The error that this program is absent.
    pub(crate) fn not_installed(&self, program: &str) -> ServerError {
        ServerError::NotInstalled {
            server: self.name,
            program: program.into(),
            install: self.install,
        }
    }

    /// A fresh folder that belongs to the server's account.
    pub(crate) fn folder(&self, parent: Option<&Path>) -> Result<Folder, ServerError> {
        Folder::create(parent, Account::for_server(self.accounts)?)
    }
}

/// Where a server is reached.
pub trait Site: Debug {
    /// Whether it answers.
    fn answers(&self) -> bool;

    /// The arguments that set a setting of its configuration; none where it has no such arguments.
    fn setting(&self, name: &str, value: &str) -> Vec<OsString> {
        let _ = (name, value);
        Vec::new()
    }
}

/// A server with configuration and data in a private folder, not started yet. Dropping it removes the folder.
#[derive(Debug)]
pub struct PreparedServer<S> {
    kind: ServerSpec,
    folder: Folder,
    site: S,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    limits: Limits,
}

impl<S: Site> PreparedServer<S> {
    /// A server without its arguments.
    pub(crate) fn new(
        kind: ServerSpec,
        folder: Folder,
        site: S,
        program: PathBuf,
        limits: Limits,
    ) -> Self {
        Self {
            kind,
            folder,
            site,
            program,
            args: Vec::new(),
            env: vec![("LC_ALL".into(), "C".into()), ("TZ".into(), "UTC".into())],
            limits,
        }
    }

    /// The same server with further arguments. It must stay in the foreground and write its process id to
    /// [`Self::pid_file`].
    pub(crate) fn with_args<A: Into<OsString>>(
        mut self,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same server with a further variable in its environment.
    pub(crate) fn with_env(mut self, variable: (OsString, OsString)) -> Self {
        self.env.push(variable);
        self
    }

    /// Where its process id has to be while it runs.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.folder.path().join(self.kind.pid_file)
    }

    /// The folder, which belongs to the server's account.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where it will be reached.
    pub(crate) fn site(&self) -> &S {
        &self.site
    }

    /// The start of the server in the foreground.
    pub fn launch(&self) -> Launch {
        Launch {
            program: self.program.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            account: self.folder.account().cloned(),
            working_directory: self.folder.path().to_owned(),
        }
    }

    /// The start of another program of the server, as the same user in the same folder.
    pub(crate) fn launch_of(&self, program: PathBuf, args: Vec<OsString>) -> Launch {
        Launch {
            program,
            args,
            ..self.launch()
        }
    }

    /// [`Launch::command`] of [`Self::launch`].
    pub fn command(&self) -> Command {
        self.launch().command()
    }

    /// File to which `start` sends the server's output and error streams.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts the server, under the command `wrap` if given, and waits until it answers.
    ///
    /// # Errors
    /// [`ServerError::EndedAtStart`] or [`ServerError::StartTimeout`], both with the end of the log.
    pub fn start(self, wrap: Option<&[OsString]>) -> Result<RunningServer<S>, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let again = launch.clone();
        let running = Running::start(identity, self.folder, launch, wrap, &|| site.answers())?;
        Ok(RunningServer {
            running,
            site,
            launch: again,
        })
    }

    /// Takes charge of this server when the caller starts (or has started) its [`Self::launch`] by itself: waits
    /// until it answers.
    ///
    /// # Errors
    /// [`ServerError::StartTimeout`].
    pub fn adopt(self) -> Result<RunningServer<S>, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let running = Running::adopt(identity, self.folder, &|| site.answers())?;
        Ok(RunningServer {
            running,
            site,
            launch,
        })
    }

    fn identity(&self) -> Identity {
        Identity {
            name: self.kind.name,
            pid_file: self.pid_file(),
            log: self.log_path(),
            stop_signal: self.kind.stop_signal,
            limits: self.limits,
        }
    }
}

/// A server that answers. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct RunningServer<S> {
    running: Running,
    site: S,
    launch: Launch,
}

impl<S> RunningServer<S> {
    /// Where it is reached.
    pub(crate) fn site(&self) -> &S {
        &self.site
    }

    /// Process id of the server, the parent's where it has several processes; `None` once it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Folder of the server; the data directory, where there is one, is `data`.
    pub fn folder(&self) -> &Path {
        self.running.folder().path()
    }

    /// Text that the server (and a command above it) wrote to its streams so far.
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Stops the server in order and waits for it and for a command it was started behind.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed.
    pub fn stop(self) -> Result<Stopped, ServerError> {
        self.running.stop()
    }
}

impl<S: Site> RunningServer<S> {
    /// Stops the server and starts it again on the same data, under the command `wrap` if given.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed, [`ServerError::EndedAtStart`] or
    /// [`ServerError::StartTimeout`], both with the end of the log.
    pub fn restart(&mut self, wrap: Option<&[OsString]>) -> Result<(), ServerError> {
        let site = &self.site;
        self.running
            .restart(self.launch.clone(), wrap, &|| site.answers())
    }

    /// Stops the server and starts it again on the same data, with these settings on top of those it was prepared with. They
    /// are forgotten by the next restart.
    ///
    /// # Errors
    /// Those of [`Self::restart`]; after one the server does not run, and can be restarted with other settings.
    pub fn restart_with(&mut self, settings: &[(String, String)]) -> Result<(), ServerError> {
        let site = &self.site;
        let mut launch = self.launch.clone();
        let added = settings
            .iter()
            .flat_map(|(name, value)| site.setting(name, value));
        launch.args.extend(added);
        self.running.restart(launch, None, &|| site.answers())
    }
}
