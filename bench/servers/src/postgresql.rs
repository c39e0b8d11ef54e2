//! A private PostgreSQL.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::binaries;
use crate::error::ServerError;
use crate::folder::check_socket_path;
use crate::launch::run;
use crate::loopback::free_loopback_port;
use crate::options::Options;
use crate::server::{self, PreparedServer, RunningServer, ServerSpec};

const POSTGRESQL: ServerSpec = ServerSpec {
    name: "PostgreSQL",
    install: "scripts/install.sh postgresql (or: apt-get install postgresql postgresql-contrib)",
    accounts: &["postgres", "nobody"],
    pid_file: "data/postmaster.pid",
    // "Fast shutdown": transactions are aborted, a checkpoint is written.
    stop_signal: Signal::INT,
};
/// Name of the superuser inside the database, and of the database clients connect to.
const USER: &str = "postgres";
/// Without a TCP port the number only names the socket, and the socket is alone in its folder.
const SOCKET_ONLY_PORT: u16 = 5432;

/// A PostgreSQL with configuration and empty data, not started yet. Dropping it removes the folder.
pub type PostgreSql = PreparedServer<Site>;

/// A PostgreSQL that accepts connections. Dropping it stops the server (fast shutdown) and removes its folder.
pub type RunningPostgreSql = RunningServer<Site>;

/// Where a server's programs and its socket are.
#[derive(Debug)]
pub struct Site {
    programs: PathBuf,
    socket_folder: PathBuf,
    port: u16,
}

impl PreparedServer<Site> {
    /// Finds the newest PostgreSQL of this machine and makes a data directory in a fresh folder: encoding UTF-8,
    /// locale C, time zone UTC. The superuser `postgres` has no password and connects through the socket in the
    /// folder.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`],
    /// [`ServerError::SocketPathTooLong`], or `initdb`'s own error.
    pub fn prepare(options: &Options) -> Result<Self, ServerError> {
        let programs =
            binaries::postgresql_directory().ok_or_else(|| POSTGRESQL.not_installed("postgres"))?;
        let folder = POSTGRESQL.folder(options.parent.as_deref())?;
        let port = if options.loopback {
            free_loopback_port()?
        } else {
            SOCKET_ONLY_PORT
        };
        let socket_folder = folder.path().to_owned();
        check_socket_path(socket_folder.join(format!(".s.PGSQL.{port}")))?;
        let data = folder.path().join("data");
        let site = Site {
            programs,
            socket_folder,
            port,
        };
        let program = site.program("postgres");
        let args = site.server_args(&data, options);
        let server = Self::new(POSTGRESQL, folder, site, program, options.limits).with_args(args);
        run(&mut server.initdb(&data))?;
        Ok(server)
    }

    fn initdb(&self, data: &Path) -> Command {
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
        let args = args.iter().map(OsString::from).chain([data.into()]);
        self.launch_of(self.site().program("initdb"), args.collect())
            .command()
    }
}

impl Site {
    /// The server's settings are arguments, so they are all to be seen there.
    fn server_args(&self, data: &Path, options: &Options) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["-D".into(), data.into()];
        let mut set = |name: &str, value: &str| {
            args.extend(["-c".into(), format!("{name}={value}").into()]);
        };
        set(
            "listen_addresses",
            if options.loopback { "127.0.0.1" } else { "" },
        );
        set("fsync", if options.fsync { "on" } else { "off" });
        set("timezone", "UTC");
        set("log_timezone", "UTC");
        for (name, value) in &options.settings {
            set(name, value);
        }
        args.extend(["-k".into(), self.socket_folder.clone().into()]);
        args.extend(["-p".into(), self.port.to_string().into()]);
        args
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
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

impl server::Site for Site {
    fn answers(&self) -> bool {
        self.client("pg_isready")
            .args(["-t", "1"])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn setting(&self, name: &str, value: &str) -> Vec<OsString> {
        vec!["-c".into(), format!("{name}={value}").into()]
    }
}

impl RunningServer<Site> {
    /// Folder of the socket, as `psql -h` and `PGHOST` take it.
    pub fn socket_folder(&self) -> &Path {
        &self.site().socket_folder
    }

    /// Port: the TCP port with [`Options::loopback`], else only the number in the socket's name.
    pub fn port(&self) -> u16 {
        self.site().port
    }

    /// A client program of this PostgreSQL (`psql`, `pgbench`, `pg_dump`, ...) connected to this server as its
    /// superuser. The caller adds the database's name.
    pub fn client(&self, name: &str) -> Command {
        self.site().client(name)
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
}
