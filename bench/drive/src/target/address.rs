//! What a target is called: its kind, or the URL or file of one that is there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use evenkeel_servers::Release;

use super::{Target, embedded, mariadb, postgres, sqlite};
use crate::Error;

/// Where the target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The embedded store.
    Embedded,
    /// A private PostgreSQL.
    Postgres,
    /// A private MariaDB.
    MariaDb,
    /// A private MariaDB of an official build: its version, or its directory.
    MariaDbRelease(String),
    /// SQLite with a private file.
    Sqlite,
    /// The PostgreSQL server at this URL.
    PostgresAt(String),
    /// The MariaDB or MySQL server at this URL.
    MariaDbAt(String),
    /// SQLite with this file.
    SqliteAt(PathBuf),
}

/// How each is written, for messages.
const FORMS: &str = "embedded, postgres, mariadb, mariadb:10.2.11 (an official build, or its directory), sqlite, postgres://user:password@host/database, \
                     mysql://user:password@host/database and sqlite:/path/to/file.db";

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address, Error> {
        let private = match text {
            "embedded" => Some(Address::Embedded),
            "postgres" => Some(Address::Postgres),
            "mariadb" => Some(Address::MariaDb),
            "sqlite" => Some(Address::Sqlite),
            _ => None,
        };
        let at_url = || {
            let (scheme, _) = text.split_once("://")?;
            match scheme {
                "postgres" | "postgresql" => Some(Address::PostgresAt(text.to_owned())),
                "mysql" | "mariadb" => Some(Address::MariaDbAt(text.to_owned())),
                _ => None,
            }
        };
        let in_file = || {
            let file = text.strip_prefix("sqlite:")?;
            (!file.is_empty()).then(|| Address::SqliteAt(file.into()))
        };
        let of_release = || {
            let release = text.strip_prefix("mariadb:")?;
            let is_url = release.starts_with("//");
            (!release.is_empty() && !is_url).then(|| Address::MariaDbRelease(release.to_owned()))
        };
        private
            .or_else(in_file)
            .or_else(of_release)
            .or_else(at_url)
            .ok_or_else(|| Error::Setting(format!("no target {text}; there are {FORMS}")))
    }
}

/// What is needed to open a target.
pub(crate) struct Opening<'a> {
    /// Connections that there will be.
    pub(crate) clients: usize,
    /// Settings of the store or of the server, by name.
    pub(crate) settings: &'a [(String, String)],
    /// Schedule of the embedded store's locks.
    pub(crate) schedule: Option<&'a str>,
    /// Directory of the embedded store.
    pub(crate) data: Option<&'a Path>,
}

impl Address {
    /// The target, started if it is a private one.
    pub(crate) fn open(&self, opening: &Opening<'_>) -> Result<Target, Error> {
        let &Opening {
            clients,
            settings,
            schedule,
            data,
        } = opening;
        if *self != Address::Embedded && (schedule.is_some() || data.is_some()) {
            return Err(Error::Setting(
                "--schedule and --data are for --target embedded".to_owned(),
            ));
        }
        match self {
            Address::Embedded => {
                // After the other settings, so that it takes effect.
                let schedule = schedule.map(|name| ("schedule".to_owned(), name.to_owned()));
                let settings: Vec<(String, String)> =
                    settings.iter().cloned().chain(schedule).collect();
                embedded::Target::open(data, &settings).map(Target::from)
            }
            Address::Postgres => postgres::Target::start(clients, settings).map(Target::from),
            Address::MariaDb => mariadb::Target::start(clients, settings, None).map(Target::from),
            Address::MariaDbRelease(release) => {
                let release = Some(Release::find(release)?);
                mariadb::Target::start(clients, settings, release).map(Target::from)
            }
            Address::Sqlite => sqlite::Target::temporary(settings).map(Target::from),
            Address::PostgresAt(url) => postgres::Target::at(url, settings).map(Target::from),
            Address::MariaDbAt(url) => mariadb::Target::at(url, settings).map(Target::from),
            Address::SqliteAt(file) => sqlite::Target::at(file, settings).map(Target::from),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Embedded => f.write_str("embedded"),
            Address::Postgres => f.write_str("postgres"),
            Address::MariaDb => f.write_str("mariadb"),
            Address::MariaDbRelease(release) => write!(f, "mariadb:{release}"),
            Address::Sqlite => f.write_str("sqlite"),
            Address::PostgresAt(url) | Address::MariaDbAt(url) => f.write_str(url),
            Address::SqliteAt(file) => write!(f, "sqlite:{}", file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opened(text: &str) -> Result<String, Error> {
        let opening = Opening {
            clients: 1,
            settings: &[],
            schedule: None,
            data: None,
        };
        let target = text.parse::<Address>()?.open(&opening)?;
        Ok(target.name().to_owned())
    }

    #[test]
    fn sqlite_is_a_private_file_or_the_one_that_is_named() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("named.db");
        let private = opened("sqlite").expect("a target");
        assert!(private.starts_with("private SQLite 3."), "{private}");
        let named = opened(&format!("sqlite:{}", file.display())).expect("a target");
        assert!(
            named.contains(&format!(" at {}", file.display())),
            "{named}"
        );
        assert!(file.exists());
        let error = opened("sqlite:").expect_err("no file");
        assert!(error.to_string().contains("no target sqlite:;"), "{error}");
    }

    /// Each kind of target has a directory of its name; a private one of it is asked for by that name, and messages list it.
    #[test]
    fn every_kind_has_a_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/target");
        let mut kinds = 0;
        for entry in std::fs::read_dir(folder).expect("the targets' sources") {
            let entry = entry.expect("an entry");
            if !entry.path().is_dir() {
                continue;
            }
            let name = entry.file_name().into_string().expect("a name");
            let parsed = name.parse::<Address>();
            let address = parsed.unwrap_or_else(|error| {
                panic!(
                    "target/{name} has no variant of Address that is asked for by its name: {error}"
                )
            });
            assert_eq!(address.to_string(), name);
            assert!(
                FORMS.split(", ").any(|form| form == name),
                "{name} is not in FORMS of address.rs: {FORMS}"
            );
            kinds += 1;
        }
        assert!(kinds >= 4, "{kinds}");
    }

    proptest! {
        #[test]
        fn addresses_parse_and_print_alike(
            text in "(sqlite|embedded|postgres(ql)?|mysql|mariadb|[a-z]{0,3})?(:|://)?[ -~]{0,20}",
        ) {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string(), text);
            }
        }
    }
}
