//! SQLite as a target: within this process, on a temporary file or one that is named.
//!
//! A client is a thread with a separate connection. The journal is a write-ahead log, which every commit syncs
//! (`synchronous=FULL`); readers then run concurrently with the single writer.

mod link;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use evenkeel_workloads::interface::{Batch, Schema, Statement, Table};
use evenkeel_workloads::sql::{Dialect, create_table};
use rusqlite::Connection;

use super::sql::{FoundTable, SqlLink, SqlTarget};
use crate::Error;
use values::Parameter;

pub use link::Link;

/// What is set unless the user sets it: the durability of the other targets.
const DEFAULTS: [(&str, &str); 2] = [("journal_mode", "WAL"), ("synchronous", "FULL")];
/// How long a transaction waits for the write lock before it is tried again.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// What distinguishes our tables from others': SQLite keeps the text of a `CREATE TABLE`, comments included.
const OURS: &str = "/* made by evenkeel */";
/// Where the marks of our tables are, as SQLite has no comments on tables.
const MARKS: &str = "evenkeel_mark";
/// Rows that are loaded in one transaction.
const LOAD_ROWS: usize = 10_000;

/// A database.
pub struct Target {
    path: PathBuf,
    name: String,
    /// `PRAGMA`s of each connection.
    settings: Vec<(String, String)>,
    _temporary: Option<tempfile::TempDir>,
}

impl Target {
    /// Makes a database in a temporary directory, with these `PRAGMA`s on each connection.
    ///
    /// # Errors
    /// A setting makes no sense, or what the system says.
    pub fn temporary(settings: &[(String, String)]) -> Result<Target, Error> {
        let made = tempfile::Builder::new()
            .prefix("evenkeel-sqlite-")
            .tempdir();
        let directory = made.map_err(|source| Error::System {
            action: "make a temporary directory".to_owned(),
            source,
        })?;
        let target = Target::open(
            &directory.path().join("bench.db"),
            "private SQLite",
            settings,
        )?;
        Ok(Target {
            _temporary: Some(directory),
            ..target
        })
    }

    /// Uses the database at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// A setting makes no sense, or the file is no database.
    pub fn at(path: &Path, settings: &[(String, String)]) -> Result<Target, Error> {
        Target::open(path, &format!("SQLite at {}", path.display()), settings)
    }

    fn open(path: &Path, name: &str, settings: &[(String, String)]) -> Result<Target, Error> {
        let mut target = Target {
            path: path.to_owned(),
            name: name.to_owned(),
            settings: all_settings(settings),
            _temporary: None,
        };
        let link = target.open_link()?;
        target.name = target.described(&link)?;
        Ok(target)
    }

    fn open_link(&self) -> Result<Link, Error> {
        let opened = Connection::open(&self.path);
        let connection = opened.map_err(|error| Error::Refused {
            target: self.name.clone(),
            statement: format!("open {}", self.path.display()),
            reason: error.to_string(),
        })?;
        let link = Link::new(connection, self.name.clone());
        let waiting = link.connection.busy_timeout(BUSY_TIMEOUT);
        waiting.map_err(|error| link.refusal("PRAGMA busy_timeout", &error))?;
        for (name, value) in &self.settings {
            check_setting(&link, name, value)?;
            let set = link.connection.pragma_update(None, name, value);
            set.map_err(|error| link.refusal(&format!("PRAGMA {name} = {value}"), &error))?;
        }
        Ok(link)
    }

    /// Name with version and with the durability that is in force, as SQLite takes any word for a value.
    fn described(&self, link: &Link) -> Result<String, Error> {
        let asked = link
            .connection
            .pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))
            .and_then(|journal| {
                let level = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
                let level = link
                    .connection
                    .pragma_query_value(None, "synchronous", level)?;
                Ok((journal, level))
            });
        let (journal, level) =
            asked.map_err(|error| link.refusal("PRAGMA journal_mode, synchronous", &error))?;
        // In the order of their numbers.
        let level = ["off", "normal", "full", "extra"][level.clamp(0, 3) as usize];
        let name = self
            .name
            .replacen("SQLite", &format!("SQLite {}", rusqlite::version()), 1);
        Ok(format!("{name}, journal {journal}, synchronous {level}"))
    }
}

/// The user's settings, after the defaults that they do not override.
fn all_settings(settings: &[(String, String)]) -> Vec<(String, String)> {
    let given: Vec<(String, String)> = settings
        .iter()
        .map(|(name, value)| (name.replace('-', "_").to_lowercase(), value.clone()))
        .collect();
    let defaults = DEFAULTS
        .iter()
        .filter(|(name, _)| given.iter().all(|(given, _)| given != name))
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    defaults.chain(given.iter().cloned()).collect()
}

/// SQLite ignores a `PRAGMA` that it does not know.
fn check_setting(link: &Link, name: &str, value: &str) -> Result<(), Error> {
    const KNOWN: &str = "SELECT count(*) FROM pragma_pragma_list WHERE name = ?1";
    let known = link
        .connection
        .query_row(KNOWN, [name], |row| row.get::<_, i64>(0))
        .map_err(|error| link.refusal(KNOWN, &error))?;
    if known == 0 {
        return Err(Error::Setting(format!(
            "SQLite has no PRAGMA {name}={value}; write a name of https://sqlite.org/pragma.html"
        )));
    }
    Ok(())
}

impl SqlTarget for Target {
    const DIALECT: Dialect = Dialect::Sqlite;
    type Link = Link;

    fn name(&self) -> &str {
        &self.name
    }

    async fn connect(&self) -> Result<Link, Error> {
        self.open_link()
    }
}

impl SqlLink for Link {
    async fn command(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|error| self.refusal(sql, &error))
    }

    async fn prepare(&mut self, schema: &Schema, statements: &[Statement]) -> Result<(), Error> {
        Link::prepare(self, schema, statements)
    }

    async fn find(&mut self, names: &[String]) -> Result<Vec<FoundTable>, Error> {
        const FIND: &str =
            "SELECT lower(name), sql FROM sqlite_schema WHERE type IN ('table', 'view')";
        let tables = self.pairs(FIND)?;
        let marks = match tables.iter().any(|(table, _)| table == MARKS) {
            true => self.pairs(&format!("SELECT lower(name), mark FROM {MARKS}"))?,
            false => Vec::new(),
        };
        let found = tables
            .into_iter()
            .filter(|(table, _)| names.contains(table));
        let found = found.map(|(table, sql)| {
            let mark = marks.iter().find(|(marked, _)| *marked == table);
            let ours = sql.contains(OURS);
            FoundTable {
                comment: mark.filter(|_| ours).map(|(_, mark)| mark.clone()),
                table,
            }
        });
        Ok(found.collect())
    }

    fn create(&self, table: &Table, mark: &str) -> String {
        let create = create_table(Dialect::Sqlite, table).replacen('(', &format!("{OURS} ("), 1);
        format!(
            "BEGIN IMMEDIATE; {create};
             CREATE TABLE IF NOT EXISTS {MARKS} (name TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
             INSERT OR REPLACE INTO {MARKS} VALUES ('{}', '{}'); COMMIT",
            table.name,
            mark.replace('\'', "''")
        )
    }

    fn mark(&self, table: &Table, mark: &str) -> String {
        format!(
            "UPDATE {MARKS} SET mark = '{}' WHERE name = '{}'",
            mark.replace('\'', "''"),
            table.name
        )
    }

    async fn load(
        &mut self,
        schema: &Schema,
        batches: Box<dyn Iterator<Item = Batch> + Send + '_>,
        loaded: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        let mut rows = 0;
        for batch in batches {
            if rows == 0 {
                self.command("BEGIN IMMEDIATE").await?;
            }
            let table = &schema[batch.table];
            self.insert(table, &batch)?;
            loaded(batch.rows.len() as u64);
            rows += batch.rows.len();
            if rows >= LOAD_ROWS {
                self.command("COMMIT").await?;
                rows = 0;
            }
        }
        if rows > 0 {
            self.command("COMMIT").await?;
        }
        Ok(())
    }
}

impl Link {
    fn insert(&self, table: &Table, batch: &Batch) -> Result<(), Error> {
        let places: Vec<String> = (1..=table.columns.len())
            .map(|place| format!("?{place}"))
            .collect();
        let sql = format!("INSERT INTO {} VALUES ({})", table.name, places.join(", "));
        let inserted = self.connection.prepare_cached(&sql).and_then(|mut insert| {
            batch.rows.iter().try_for_each(|row| {
                let values = row.0.iter().map(Parameter);
                insert.execute(rusqlite::params_from_iter(values)).map(drop)
            })
        });
        inserted.map_err(|error| self.refusal(&sql, &error))
    }

    /// The rows of a query of two texts.
    fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>, Error> {
        let read = self.connection.prepare(sql).and_then(|mut statement| {
            let rows = statement.query_map([], |row| {
                Ok((
                    row.get(0)?,
                    row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                ))
            })?;
            rows.collect()
        });
        read.map_err(|error| self.refusal(sql, &error))
    }
}
