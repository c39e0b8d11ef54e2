//! MariaDB (and MySQL) as a target: a private server, or one that is there.

mod link;
mod values;

use evenkeel_servers::{MariaDb, Options, Release, RunningMariaDb};
use evenkeel_workloads::interface::{Batch, Schema, Statement, Table};
use evenkeel_workloads::sql::{Dialect, create_table};
use futures_util::stream;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Value};

use super::sql::{FoundTable, SqlLink, SqlTarget};
use crate::Error;

pub use link::Link;

/// Connections that a private server allows beyond those of the clients: loaders, the check, the server's own.
const SPARE_CONNECTIONS: usize = 40;
/// Prepared statements that a connection may have: more than any workload declares, so that none is closed behind our
/// back.
const STATEMENTS_MAX: usize = 10_000;
/// Text that one `LOAD DATA` carries at most.
const LOAD_BYTES: usize = 4 << 20;
/// How often such a file is sent before its deadlock ends the load.
const LOAD_ATTEMPTS: u32 = 20;

/// A MariaDB or MySQL.
pub struct Target {
    options: Opts,
    name: String,
    /// `SET SESSION` on each connection; a private server has them in its configuration.
    session_settings: Vec<(String, String)>,
    /// Stopped when the target is dropped.
    private: Option<RunningMariaDb>,
}

impl Target {
    /// Starts a private server for `clients` connections, with `settings` of its configuration: of this release, or the one
    /// that the system's packages have installed.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(
        clients: usize,
        settings: &[(String, String)],
        release: Option<Release>,
    ) -> Result<Target, Error> {
        let mut all = vec![
            (
                "max-connections".to_owned(),
                (clients + SPARE_CONNECTIONS).to_string(),
            ),
            ("local-infile".to_owned(), "ON".to_owned()),
            // Every client has each of its workload's statements prepared.
            ("max-prepared-stmt-count".to_owned(), "1048576".to_owned()),
        ];
        all.extend_from_slice(settings);
        let server = MariaDb::prepare(&Options {
            settings: all,
            release,
            ..Options::default()
        })?
        .start(None)?;
        let socket = server.socket().to_string_lossy().into_owned();
        let options = OptsBuilder::default()
            .socket(Some(socket))
            .user(Some("root"))
            .db_name(Some("test"));
        let mut target = Target {
            options: finished(options),
            name: "private MariaDB".to_owned(),
            session_settings: Vec::new(),
            private: Some(server),
        };
        target.name = format!("private {}", target.version()?);
        Ok(target)
    }

    /// Uses the server at `url` (`mysql://user:password@host:port/database`), with `settings` set on each connection.
    ///
    /// # Errors
    /// The URL is malformed, or no server answers.
    pub fn at(url: &str, settings: &[(String, String)]) -> Result<Target, Error> {
        let plain = url.replacen("mariadb://", "mysql://", 1);
        let parsed = Opts::from_url(&plain);
        let options = parsed.map_err(|error| {
            Error::Setting(format!(
                "{url} is no MariaDB URL ({error}); write mysql://user:password@host:3306/database"
            ))
        })?;
        if options.db_name().is_none_or(str::is_empty) {
            return Err(Error::Setting(format!(
                "{url} names no database; write mysql://user:password@host:3306/database"
            )));
        }
        let server = match options.socket() {
            Some(socket) => socket.to_owned(),
            None => format!("{}:{}", options.ip_or_hostname(), options.tcp_port()),
        };
        let place = format!("{server}/{}", options.db_name().unwrap_or_default());
        let mut target = Target {
            options: finished(OptsBuilder::from_opts(options)),
            name: format!("MariaDB at {place}"),
            session_settings: settings.to_vec(),
            private: None,
        };
        target.name = format!("{} at {place}", target.version()?);
        Ok(target)
    }

    pub(super) fn private_mut(&mut self) -> Option<&mut RunningMariaDb> {
        self.private.as_mut()
    }

    /// The variables of MariaDB's own clients, and names for what these have none for.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut variables = vec![
            ("MYSQL_UNIX_PORT", text(self.options.socket())),
            ("MYSQL_PWD", text(self.options.pass())),
            ("EVENKEEL_USER", text(self.options.user())),
            ("EVENKEEL_DATABASE", text(self.options.db_name())),
        ];
        if self.options.socket().is_none() {
            variables.push(("MYSQL_HOST", self.options.ip_or_hostname().to_owned()));
            let port = self.options.tcp_port().to_string();
            variables.push(("MYSQL_TCP_PORT", port));
        }
        variables.retain(|(_, value)| !value.is_empty());
        variables
    }

    /// `MariaDB 10.11.6` or `MySQL 8.0.36`.
    fn version(&self) -> Result<String, Error> {
        const ASK: &str = "SELECT VERSION()";
        super::executor::runtime()?.block_on(async {
            let mut link = self.connect().await?;
            let version: Result<Option<String>, _> = link.connection().query_first(ASK).await;
            let version = version
                .map_err(|error| link.refusal(ASK, &error))?
                .unwrap_or_default();
            let kind = if version.contains("MariaDB") {
                "MariaDB"
            } else {
                "MySQL"
            };
            Ok(format!(
                "{kind} {}",
                version.split('-').next().unwrap_or_default()
            ))
        })
    }
}

/// Rows that an update finds are counted although it leaves them as they were: the workloads rely on it.
fn finished(options: OptsBuilder) -> Opts {
    options
        .client_found_rows(true)
        .stmt_cache_size(STATEMENTS_MAX)
        .into()
}

impl SqlTarget for Target {
    const DIALECT: Dialect = Dialect::MySql;
    type Link = Link;

    fn name(&self) -> &str {
        &self.name
    }

    async fn connect(&self) -> Result<Link, Error> {
        let connected = Conn::new(self.options.clone()).await;
        let connection = connected.map_err(|error| Error::Connect {
            target: self.name.clone(),
            reason: link::words(&error),
        })?;
        let mut link = Link::new(connection, self.name.clone());
        for (name, value) in &self.session_settings {
            let value = match value.parse::<f64>() {
                Ok(_) => value.clone(),
                Err(_) => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
            };
            link.command(&format!("SET SESSION {} = {value}", name.replace('-', "_")))
                .await?;
        }
        Ok(link)
    }
}

impl SqlLink for Link {
    async fn command(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.connection().query_drop(sql).await;
        done.map_err(|error| self.refusal(sql, &error))
    }

    async fn prepare(&mut self, schema: &Schema, statements: &[Statement]) -> Result<(), Error> {
        Link::prepare(self, schema, statements).await
    }

    async fn find(&mut self, names: &[String]) -> Result<Vec<FoundTable>, Error> {
        // Names of tables are compared here, as the server's own idea of upper and lower case depends on its file system.
        const FIND: &str = "SELECT LOWER(table_name), table_comment FROM information_schema.tables WHERE table_schema = DATABASE()";
        let rows: Result<Vec<(String, String)>, _> = self.connection().query(FIND).await;
        let rows = rows.map_err(|error| self.refusal(FIND, &error))?;
        let ours = rows.into_iter().filter(|(table, _)| names.contains(table));
        Ok(ours
            .map(|(table, comment)| FoundTable {
                table,
                comment: Some(comment),
            })
            .collect())
    }

    fn create(&self, table: &Table, mark: &str) -> String {
        format!(
            "{} COMMENT='{}'",
            create_table(Dialect::MySql, table),
            mark.replace('\'', "''")
        )
    }

    fn mark(&self, table: &Table, mark: &str) -> String {
        format!(
            "ALTER TABLE {} COMMENT='{}'",
            table.name,
            mark.replace('\'', "''")
        )
    }

    async fn load(
        &mut self,
        schema: &Schema,
        batches: Box<dyn Iterator<Item = Batch> + Send + '_>,
        loaded: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        // The data is made by us: that its keys are unique is known.
        self.command("SET SESSION unique_checks = 0, foreign_key_checks = 0")
            .await?;
        let mut batches = batches.peekable();
        let (mut text, mut rows) = (String::new(), 0);
        while let Some(batch) = batches.next() {
            let table = &schema[batch.table];
            for row in &batch.rows {
                for (position, (value, column)) in row.0.iter().zip(&table.columns).enumerate() {
                    if position > 0 {
                        text.push('\t');
                    }
                    values::field(value, column.column_type, &mut text);
                }
                text.push('\n');
            }
            rows += batch.rows.len() as u64;
            let goes_on = batches.peek().is_some_and(|next| next.table == batch.table);
            if !goes_on || text.len() >= LOAD_BYTES {
                self.send_file(table, &text).await?;
                text.clear();
                loaded(std::mem::take(&mut rows));
            }
        }
        Ok(())
    }
}

impl Link {
    /// The rows of a query as text.
    pub(super) async fn text_rows(&mut self, sql: &str) -> Result<Vec<super::TextRow>, Error> {
        let rows: Result<Vec<mysql_async::Row>, _> = self.connection().query(sql).await;
        let rows = rows.map_err(|error| self.refusal(sql, &error))?;
        let text = |value: Value| match value {
            Value::NULL => None,
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
        };
        let row = |row: mysql_async::Row| row.unwrap().into_iter().map(text).collect();
        Ok(rows.into_iter().map(row).collect())
    }

    /// `LOAD DATA LOCAL` of a file that exists only here.
    async fn send_file(&mut self, table: &Table, text: &str) -> Result<(), Error> {
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET utf8mb4",
            table.name
        );
        let mut attempts = 1;
        let done = loop {
            let content = text.to_owned();
            self.connection().set_infile_handler(async {
                let content: mysql_async::InfileData = Box::pin(stream::iter([Ok(content.into())]));
                Ok(content)
            });
            match self.connection().query_drop(&sql).await {
                // Of two that load the same table at once. The server has rolled all of the file back.
                Err(error) if link::is_retryable(&error) && attempts < LOAD_ATTEMPTS => {
                    attempts += 1
                }
                done => break done,
            }
        };
        done.map_err(|error| match error {
            mysql_async::Error::Server(refused) if matches!(refused.code, 1148 | 3948 | 4166) => {
                Error::Refused {
                    target: self.target.clone(),
                    statement: sql.clone(),
                    reason: format!(
                        "{}; allow it with SET GLOBAL local_infile = ON",
                        refused.message
                    ),
                }
            }
            error => self.refusal(&sql, &error),
        })
    }
}

impl Drop for Link {
    /// Says goodbye where that is possible, so that the server logs no aborted connection.
    fn drop(&mut self) {
        if let (Some(connection), Ok(runtime)) = (
            self.connection.take(),
            tokio::runtime::Handle::try_current(),
        ) {
            runtime.spawn(connection.disconnect());
        }
    }
}
