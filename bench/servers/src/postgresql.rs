//! A private PostgreSQL.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries;
use crate::error::{During, ServerError};
use crate::folder::{Folder, check_socket_path};
use crate::launch::{Launch, run};
use crate::options::Options;
use crate::running::{Identity, Running, Stopped};

const NAME: &str = "PostgreSQL";
const INSTALL: &str =
    "scripts/install.sh postgresql (or: apt-get install postgresql postgresql-contrib)";
/// Accounts the server may run as under root, the first that exists.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];
/// Name of the superuser inside the database, and of the database clients connect to.
const USER: &str = "postgres";
/// Without a TCP port the number only names the socket, and the socket is alone in its folder.
const SOCKET_ONLY_PORT: u16 = 5432;

/// A PostgreSQL with configuration and empty data, not started yet. Dropping it removes the folder.
#[derive(Debug)]
pub struct PostgreSql {
    folder: Folder,
    site: Site,
    options: Options,
}

/// Where a server's programs and its socket are.
#[derive(Debug, Clone)]
struct Site {
    programs: PathBuf,
    data: PathBuf,
    socket_folder: PathBuf,
    port: u16,
}

impl PostgreSql {
    /// Finds the newest PostgreSQL of this machine and makes a data directory in a fresh folder: encoding UTF-8,
    /// locale C, time zone UTC, superuser `postgres` without a password, reachable through the socket in the folder.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`],
    /// [`ServerError::SocketPathTooLong`], or `initdb`'s own error.
    pub fn prepare(options: &Options) -> Result<Self, ServerError> {
        let programs = binaries::postgresql_directory().ok_or(ServerError::NotInstalled {
            server: NAME,
            program: "postgres".into(),
            install: INSTALL,
        })?;
        let folder = Folder::create(options.parent.as_deref(), Account::for_server(&ACCOUNTS)?)?;
        let port = if options.loopback {
            free_loopback_port()?
        } else {
            SOCKET_ONLY_PORT
        };
        let socket_folder = folder.path().to_owned();
        check_socket_path(socket_folder.join(format!(".s.PGSQL.{port}")))?;
        let site = Site {
            programs,
            data: folder.path().join("data"),
            socket_folder,
            port,
        };
        let server = Self {
            folder,
            site,
            options: options.clone(),
        };
        run(&mut server.initdb())?;
        Ok(server)
    }

    fn initdb(&self) -> Command {
        let mut launch = self.launch();
        launch.program = self.site.program("initdb");
        // Nothing is worth a sync yet: if the machine fails here the folder is abandoned anyhow.
        let args = [
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--username",
            USER,
            "--pgdata",
        ];
        launch.args = args
            .iter()
            .map(OsString::from)
            .chain([self.site.data.clone().into()])
            .collect();
        launch.command()
    }

    /// What starts the server in the foreground. Its settings are arguments, so they are all to be seen there.
    #[must_use]
    pub fn launch(&self) -> Launch {
        let mut args: Vec<OsString> = vec!["-D".into(), self.site.data.clone().into()];
        let mut set = |name: &str, value: &str| {
            args.extend(["-c".into(), format!("{name}={value}").into()]);
        };
        set(
            "listen_addresses",
            if self.options.loopback {
                "127.0.0.1"
            } else {
                ""
            },
        );
        set("fsync", if self.options.fsync { "on" } else { "off" });
        set("timezone", "UTC");
        set("log_timezone", "UTC");
        for (name, value) in &self.options.settings {
            set(name, value);
        }
        args.extend(["-k".into(), self.site.socket_folder.clone().into()]);
        args.extend(["-p".into(), self.site.port.to_string().into()]);
        Launch {
            program: self.site.program("postgres"),
            args,
            env: vec![("LC_ALL".into(), "C".into())],
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

    /// Starts the server, behind the command `wrap` if given, and waits until it accepts connections.
    ///
    /// # Errors
    /// [`ServerError::EndedAtStart`] or [`ServerError::StartTimeout`], both with the end of the log.
    pub fn start(self, wrap: Option<&[OsString]>) -> Result<RunningPostgreSql, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let again = launch.clone();
        let running = Running::start(identity, self.folder, launch, wrap, &|| site.is_ready())?;
        Ok(RunningPostgreSql {
            running,
            site,
            launch: again,
        })
    }

    /// Takes charge of this server when the caller starts (or has started) its [`Self::launch`] by itself: waits
    /// until it accepts connections.
    ///
    /// # Errors
    /// [`ServerError::StartTimeout`].
    pub fn adopt(self) -> Result<RunningPostgreSql, ServerError> {
        let (identity, launch, site) = (self.identity(), self.launch(), self.site);
        let running = Running::adopt(identity, self.folder, &|| site.is_ready())?;
        Ok(RunningPostgreSql {
            running,
            site,
            launch,
        })
    }

    fn identity(&self) -> Identity {
        Identity {
            name: NAME,
            pid_file: self.site.data.join("postmaster.pid"),
            log: self.log_path(),
            // "Fast shutdown": transactions are aborted, a checkpoint is written.
            stop_signal: Signal::INT,
            limits: self.options.limits,
        }
    }
}

impl Site {
    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    fn is_ready(&self) -> bool {
        self.client("pg_isready")
            .args(["-t", "1"])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// A client program aimed at this server, whatever the caller's environment says.
    fn client(&self, name: &str) -> Command {
        let mut command = Command::new(self.program(name));
        for (variable, _) in std::env::vars_os() {
            if variable
                .to_str()
                .is_some_and(|variable| variable.starts_with("PG"))
            {
                command.env_remove(variable);
            }
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
            .arg("-h")
            .arg(&self.socket_folder)
            .args(["-p", &self.port.to_string(), "-U", USER]);
        command
    }
}

/// A PostgreSQL that accepts connections. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct RunningPostgreSql {
    running: Running,
    site: Site,
    launch: Launch,
}

impl RunningPostgreSql {
    /// Process id of the postmaster, `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Folder of the server; the socket `.s.PGSQL.<port>` is in it, the data directory is `data`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.running.folder().path()
    }

    /// Folder of the socket, as `psql -h` and `PGHOST` take it.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.site.socket_folder
    }

    /// Port: the TCP port with [`Options::loopback`], else only the number in the socket's name.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.site.port
    }

    /// A client program of this PostgreSQL (`psql`, `pgbench`, `pg_dump`, ...) aimed at this server as its superuser;
    /// the database's name is left to the caller.
    #[must_use]
    pub fn client(&self, name: &str) -> Command {
        self.site.client(name)
    }

    /// Runs one SQL command and returns its rows, one a line, columns separated by `|`.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with what `psql` said.
    pub fn psql(&self, sql: &str) -> Result<String, ServerError> {
        let mut command = self.client("psql");
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            USER,
            "-c",
            sql,
        ]);
        run(&mut command)
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

    /// Stops the server (fast shutdown) and waits for it and for a command it was started behind.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed.
    pub fn stop(self) -> Result<Stopped, ServerError> {
        self.running.stop()
    }
}

/// A TCP port of 127.0.0.1 that nobody uses at the moment. Another process may take it before the server does; the
/// server then says so.
pub(crate) fn free_loopback_port() -> Result<u16, ServerError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .during(|| "find a free port of 127.0.0.1".into())
}
