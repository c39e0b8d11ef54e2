//! A private MariaDB.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries;
use crate::error::ServerError;
use crate::folder::{Folder, check_socket_path};
use crate::launch::{Launch, run};
use crate::options::Options;
use crate::postgresql::free_loopback_port;
use crate::running::{Identity, Running, Stopped};

const NAME: &str = "MariaDB";
const INSTALL: &str =
    "scripts/install.sh mariadb (or: apt-get install mariadb-server mariadb-client)";
/// Accounts the server may run as under root, the first that exists.
const ACCOUNTS: [&str; 2] = ["mysql", "nobody"];

/// A MariaDB with configuration and empty data, not started yet. Dropping it removes the folder.
#[derive(Debug)]
pub struct MariaDb {
    folder: Folder,
    site: Site,
    options: Options,
}

/// Where a server's programs and its socket are.
#[derive(Debug, Clone)]
struct Site {
    server: PathBuf,
    client: PathBuf,
    socket: PathBuf,
    port: Option<u16>,
}

impl MariaDb {
    /// Makes a data directory in a fresh folder, with the superuser `root` without a password and a database `test`.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`],
    /// [`ServerError::SocketPathTooLong`], or `mariadb-install-db`'s own error.
    pub fn prepare(options: &Options) -> Result<Self, ServerError> {
        let program = |name: &str| {
            binaries::find(name).ok_or_else(|| ServerError::NotInstalled {
                server: NAME,
                program: name.into(),
                install: INSTALL,
            })
        };
        let (server, client, install) = (
            program("mariadbd")?,
            program("mariadb")?,
            program("mariadb-install-db")?,
        );
        let folder = Folder::create(options.parent.as_deref(), Account::for_server(&ACCOUNTS)?)?;
        let socket = check_socket_path(folder.path().join("socket"))?;
        let port = options.loopback.then(free_loopback_port).transpose()?;
        folder.make("data")?;
        folder.make("temporary")?;
        let prepared = Self {
            folder,
            site: Site {
                server,
                client,
                socket,
                port,
            },
            options: options.clone(),
        };
        run(&mut prepared.install(install))?;
        Ok(prepared)
    }

    fn install(&self, program: PathBuf) -> Command {
        let mut launch = self.launch();
        let data = self.folder.path().join("data");
        launch.args = vec![
            "--no-defaults".into(),
            "--auth-root-authentication-method=normal".into(),
            argument("datadir", &data),
            argument("tmpdir", &self.folder.path().join("temporary")),
        ];
        launch.program = program;
        launch.command()
    }

    /// What starts the server in the foreground. Its settings are arguments, so they are all to be seen there.
    #[must_use]
    pub fn launch(&self) -> Launch {
        let path = self.folder.path();
        // The machine's own configuration describes the machine's own server. This has to be the first argument.
        let mut args: Vec<OsString> = vec!["--no-defaults".into()];
        args.push(argument("datadir", &path.join("data")));
        args.push(argument("tmpdir", &path.join("temporary")));
        args.push(argument("socket", &self.site.socket));
        args.push(argument("pid-file", &self.pid_file()));
        match self.site.port {
            Some(port) => args.extend([
                "--bind-address=127.0.0.1".into(),
                format!("--port={port}").into(),
            ]),
            None => args.push("--skip-networking".into()),
        }
        if !self.options.fsync {
            args.push("--innodb-flush-method=nosync".into());
        }
        args.extend(
            self.options
                .settings
                .iter()
                .map(|(name, value)| format!("--{name}={value}").into()),
        );
        Launch {
            program: self.site.server.clone(),
            args,
            env: vec![("LC_ALL".into(), "C".into()), ("TZ".into(), "UTC".into())],
            account: self.folder.account().cloned(),
            working_directory: path.to_owned(),
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

    /// Starts the server, behind the command `wrap` if given, and waits until it answers a query.
    ///
    /// # Errors
    /// [`ServerError::EndedAtStart`] or [`ServerError::StartTimeout`], both with the end of the log.
    pub fn start(self, wrap: Option<&[OsString]>) -> Result<RunningMariaDb, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let again = launch.clone();
        let running = Running::start(identity, self.folder, launch, wrap, &|| site.is_ready())?;
        Ok(RunningMariaDb {
            running,
            site,
            launch: again,
        })
    }

    /// Takes charge of this server when the caller starts (or has started) its [`Self::launch`] by itself: waits
    /// until it answers a query.
    ///
    /// # Errors
    /// [`ServerError::StartTimeout`].
    pub fn adopt(self) -> Result<RunningMariaDb, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let running = Running::adopt(identity, self.folder, &|| site.is_ready())?;
        Ok(RunningMariaDb {
            running,
            site,
            launch,
        })
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.path().join("pid")
    }

    fn identity(&self) -> Identity {
        Identity {
            name: NAME,
            pid_file: self.pid_file(),
            log: self.log_path(),
            stop_signal: Signal::TERM,
            limits: self.options.limits,
        }
    }
}

/// `--name=path` without a detour over text: paths need not be UTF-8.
fn argument(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(format!("--{name}="));
    argument.push(path);
    argument
}

impl Site {
    fn is_ready(&self) -> bool {
        let mut command = self.client();
        command
            .args(["-e", "SELECT 1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn client(&self) -> Command {
        let mut command = Command::new(&self.client);
        command
            .arg("--no-defaults")
            .arg(argument("socket", &self.socket))
            .arg("--user=root");
        command
            .args(["--batch", "--skip-column-names"])
            .stdin(Stdio::null());
        command
    }
}

/// A MariaDB that accepts connections. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct RunningMariaDb {
    running: Running,
    site: Site,
    launch: Launch,
}

impl RunningMariaDb {
    /// Process id of `mariadbd`, `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Folder of the server; the data directory is `data`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.running.folder().path()
    }

    /// The Unix socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.site.socket
    }

    /// TCP port of 127.0.0.1, with [`Options::loopback`].
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.site.port
    }

    /// The client `mariadb` aimed at this server as its superuser.
    #[must_use]
    pub fn client(&self) -> Command {
        self.site.client()
    }

    /// Runs SQL and returns the rows, one a line, columns separated by tabs.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with what the client said.
    pub fn query(&self, sql: &str) -> Result<String, ServerError> {
        run(self.client().args(["-e", sql]))
    }

    /// What the server (and a command it was started behind) wrote to its streams so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Stops the server and starts it again on the same data, behind the command `wrap` if given.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed, [`ServerError::EndedAtStart`] or
    /// [`ServerError::StartTimeout`], both with the end of the log.
    pub fn restart(&mut self, wrap: Option<&[OsString]>) -> Result<(), ServerError> {
        let site = &self.site;
        self.running
            .restart(self.launch.clone(), wrap, &|| site.is_ready())
    }

    /// Stops the server and waits for it and for a command it was started behind.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed.
    pub fn stop(self) -> Result<Stopped, ServerError> {
        self.running.stop()
    }
}
