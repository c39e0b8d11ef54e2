//! A private MariaDB.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::error::ServerError;
use crate::folder::check_socket_path;
use crate::launch::run;
use crate::loopback::free_loopback_port;
use crate::options::Options;
use crate::release::{Release, argument};
use crate::server::{self, PreparedServer, RunningServer, ServerSpec};

const MARIADB: ServerSpec = ServerSpec {
    name: "MariaDB",
    install: "scripts/install.sh mariadb (or: apt-get install mariadb-server mariadb-client)",
    accounts: &["mysql", "nobody"],
    pid_file: "pid",
    stop_signal: Signal::TERM,
};

/// The machine's own configuration describes the machine's own server. This has to be the first argument.
const OWN_SETTINGS: &str = "--no-defaults";

/// A MariaDB with configuration and empty data, not started yet. Dropping it removes the folder.
pub type MariaDb = PreparedServer<Site>;

/// A MariaDB that accepts connections. Dropping it stops the server and removes its folder.
pub type RunningMariaDb = RunningServer<Site>;

/// Where a server's client and its socket are.
#[derive(Debug)]
pub struct Site {
    client: PathBuf,
    socket: PathBuf,
    port: Option<u16>,
}

impl PreparedServer<Site> {
    /// Makes a data directory in a fresh folder, with the superuser `root` without a password and a database `test`.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`],
    /// [`ServerError::SocketPathTooLong`], or `mariadb-install-db`'s own error.
    pub fn prepare(options: &Options) -> Result<Self, ServerError> {
        let installation = Installation::find(options.release.as_ref())?;
        let folder = MARIADB.folder(options.parent.as_deref())?;
        let socket = check_socket_path(folder.path().join("socket"))?;
        let port = options.loopback.then(free_loopback_port).transpose()?;
        let directories = [
            argument("datadir", &folder.make("data")?),
            argument("tmpdir", &folder.make("temporary")?),
        ];
        let site = Site {
            client: installation.client.clone(),
            socket,
            port,
        };
        let program = installation.server.clone();
        let mut server = Self::new(MARIADB, folder, site, program, options.limits)
            .with_args([OWN_SETTINGS])
            .with_args(directories.clone());
        if let Some(release) = &options.release {
            server = server.with_args(release.args()).with_env(release.env());
        }
        installation.make_tables(&server, &directories)?;
        let args = server.settings(options);
        Ok(server.with_args(args))
    }

    /// TCP port of 127.0.0.1, with [`Options::loopback`].
    pub fn port(&self) -> Option<u16> {
        self.site().port
    }

    /// Settings are arguments, so they are all to be seen there.
    fn settings(&self, options: &Options) -> Vec<OsString> {
        let mut args = vec![
            argument("socket", &self.site().socket),
            argument("pid-file", &self.pid_file()),
        ];
        match self.site().port {
            Some(port) => args.extend([
                "--bind-address=127.0.0.1".into(),
                format!("--port={port}").into(),
            ]),
            None => args.push("--skip-networking".into()),
        }
        if !options.fsync {
            args.push("--innodb-flush-method=nosync".into());
        }
        let settings = options.settings.iter();
        args.extend(settings.map(|(name, value)| format!("--{name}={value}").into()));
        args
    }
}

/// The programs of a MariaDB, and how its system tables are made.
struct Installation<'a> {
    server: PathBuf,
    client: PathBuf,
    tables: Tables<'a>,
}

enum Tables<'a> {
    /// By this program, `mariadb-install-db`.
    Installed(PathBuf),
    /// By the release's server.
    Bootstrapped(&'a Release),
}

impl<'a> Installation<'a> {
    /// The release, or what the system's packages have installed.
    fn find(release: Option<&'a Release>) -> Result<Self, ServerError> {
        let installed = |name: &str| MARIADB.program(&[name]);
        Ok(match release {
            Some(release) => Installation {
                server: release.server().ok_or(MARIADB.not_installed("mariadbd"))?,
                client: installed("mariadb").unwrap_or_else(|_| release.client()),
                tables: Tables::Bootstrapped(release),
            },
            None => Installation {
                server: installed("mariadbd")?,
                client: installed("mariadb")?,
                tables: Tables::Installed(installed("mariadb-install-db")?),
            },
        })
    }

    /// Makes the system tables in the data directory of a server that has no settings yet.
    fn make_tables(&self, server: &MariaDb, directories: &[OsString]) -> Result<(), ServerError> {
        match &self.tables {
            Tables::Bootstrapped(release) => release.bootstrap(&server.launch()),
            Tables::Installed(install) => {
                let own = [OWN_SETTINGS, "--auth-root-authentication-method=normal"];
                let own = own.map(OsString::from).into_iter();
                let args = own.chain(directories.iter().cloned()).collect();
                run(&mut server.launch_of(install.clone(), args).command()).map(drop)
            }
        }
    }
}

impl server::Site for Site {
    fn answers(&self) -> bool {
        let mut command = self.client();
        command
            .args(["-e", "SELECT 1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn setting(&self, name: &str, value: &str) -> Vec<OsString> {
        vec![format!("--{name}={value}").into()]
    }
}

impl Site {
    fn client(&self) -> Command {
        let mut command = Command::new(&self.client);
        command
            .arg(OWN_SETTINGS)
            .arg(argument("socket", &self.socket))
            .arg("--user=root");
        command
            .args(["--batch", "--skip-column-names"])
            .stdin(Stdio::null());
        command
    }
}

impl RunningServer<Site> {
    /// The Unix socket.
    pub fn socket(&self) -> &Path {
        &self.site().socket
    }

    /// TCP port of 127.0.0.1, with [`Options::loopback`].
    pub fn port(&self) -> Option<u16> {
        self.site().port
    }

    /// The client `mariadb` aimed at this server as its superuser.
    pub fn client(&self) -> Command {
        self.site().client()
    }

    /// Runs SQL and returns the rows, one a line, columns separated by tabs.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with what the client said.
    pub fn query(&self, sql: &str) -> Result<String, ServerError> {
        run(self.client().args(["-e", sql]))
    }
}
