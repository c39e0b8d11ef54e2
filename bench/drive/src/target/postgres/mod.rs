//! PostgreSQL as a target: a private server, or one that is there.

mod link;
mod numeric;
mod values;

use std::pin::pin;

use evenkeel_servers::{Options, PostgreSql, RunningPostgreSql};
use evenkeel_workloads::interface::{Batch, ColumnType, Schema, Statement, Table, TableId};
use evenkeel_workloads::sql::{Dialect, create_table};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::sql::{FoundTable, SqlLink, SqlTarget};
use crate::Error;
use values::Parameter;

pub use link::Link;

/// Connections that a private server allows beyond those of the clients: loaders, the check, the server's own.
const SPARE_CONNECTIONS: usize = 40;

/// A PostgreSQL.
pub struct Target {
    config: Config,
    name: String,
    /// `SET` on each connection; a private server has them in its configuration.
    session_settings: Vec<(String, String)>,
    /// Stopped when the target is dropped.
    private: Option<RunningPostgreSql>,
}

impl Target {
    /// Starts a private server for `clients` connections, with `settings` of its configuration.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(clients: usize, settings: &[(String, String)]) -> Result<Target, Error> {
        let mut all = vec![(
            "max_connections".to_owned(),
            (clients + SPARE_CONNECTIONS).to_string(),
        )];
        all.extend_from_slice(settings);
        let options = Options {
            settings: all,
            ..Options::default()
        };
        let server = PostgreSql::prepare(&options)?.start(None)?;
        let mut config = Config::new();
        config
            .host_path(server.socket_folder())
            .port(server.port())
            .user("postgres")
            .dbname("postgres");
        let mut target = Target {
            config,
            name: "private PostgreSQL".to_owned(),
            session_settings: Vec::new(),
            private: Some(server),
        };
        target.name = format!("private PostgreSQL {}", target.version()?);
        Ok(target)
    }

    /// Uses the server at `url` (`postgres://user:password@host:port/database`), with `settings` set on each connection.
    ///
    /// # Errors
    /// The URL is malformed, or no server answers.
    pub fn at(url: &str, settings: &[(String, String)]) -> Result<Target, Error> {
        let parsed = url.parse::<Config>();
        let config = parsed.map_err(|error| {
            Error::Setting(format!("{url} is no PostgreSQL URL ({error}); write postgres://user:password@host:5432/database"))
        })?;
        let place = place(&config);
        let mut target = Target {
            config,
            name: format!("PostgreSQL at {place}"),
            session_settings: settings.to_vec(),
            private: None,
        };
        target.name = format!("PostgreSQL {} at {place}", target.version()?);
        Ok(target)
    }

    pub(super) fn private_mut(&mut self) -> Option<&mut RunningPostgreSql> {
        self.private.as_mut()
    }

    /// The variables of PostgreSQL's own clients.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut variables = vec![
            ("PGHOST", host(&self.config)),
            ("PGPORT", port(&self.config).to_string()),
            ("PGUSER", text(self.config.get_user())),
            ("PGDATABASE", text(self.config.get_dbname())),
        ];
        if let Some(password) = self.config.get_password() {
            let password = String::from_utf8_lossy(password).into_owned();
            variables.push(("PGPASSWORD", password));
        }
        variables.retain(|(_, value)| !value.is_empty());
        variables
    }

    fn version(&self) -> Result<String, Error> {
        super::executor::runtime()?.block_on(async {
            let link = self.connect().await?;
            let shown = link.client.query_one("SHOW server_version", &[]).await;
            let shown = shown.map_err(|error| link.refusal("SHOW server_version", &error))?;
            let version: String = shown.get(0);
            Ok(version.split(' ').next().unwrap_or_default().to_owned())
        })
    }

    async fn open(&self) -> Result<Client, Error> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| Error::Connect {
            target: self.name.clone(),
            reason: link::words(&error),
        })?;
        // Its error reaches the client's next request, too.
        tokio::spawn(async {
            let _ = connection.await;
        });
        Ok(client)
    }
}

/// Name of the host, or the directory of the socket.
fn host(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    }
}

fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(5432)
}

/// Server and database, without a password.
fn place(config: &Config) -> String {
    let database = config.get_dbname().unwrap_or_default();
    format!("{}:{}/{database}", host(config), port(config))
}

impl SqlTarget for Target {
    const DIALECT: Dialect = Dialect::Postgres;
    type Link = Link;

    fn name(&self) -> &str {
        &self.name
    }

    async fn connect(&self) -> Result<Link, Error> {
        let mut link = Link::new(self.open().await?, self.name.clone());
        for (name, value) in &self.session_settings {
            link.command(&format!("SET {name} = '{}'", value.replace('\'', "''")))
                .await?;
        }
        Ok(link)
    }
}

impl SqlLink for Link {
    async fn command(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.client.batch_execute(sql).await;
        done.map_err(|error| self.refusal(sql, &error))
    }

    async fn prepare(&mut self, schema: &Schema, statements: &[Statement]) -> Result<(), Error> {
        Link::prepare(self, schema, statements).await
    }

    async fn find(&mut self, names: &[String]) -> Result<Vec<FoundTable>, Error> {
        const FIND: &str = "SELECT relname::text, obj_description(oid, 'pg_class') FROM pg_class \
             WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f') \
             AND relname = ANY($1)";
        let rows = self.client.query(FIND, &[&names]).await;
        let rows = rows.map_err(|error| self.refusal(FIND, &error))?;
        let found = |row: &tokio_postgres::Row| FoundTable {
            table: row.get(0),
            comment: row.get(1),
        };
        Ok(rows.iter().map(found).collect())
    }

    fn create(&self, table: &Table, mark: &str) -> String {
        // Several statements sent as one are one transaction: there is no moment at which the table exists unmarked.
        format!(
            "{}; {}",
            create_table(Dialect::Postgres, table),
            self.mark(table, mark)
        )
    }

    fn mark(&self, table: &Table, mark: &str) -> String {
        format!(
            "COMMENT ON TABLE {} IS '{}'",
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
        let mut batches = batches.peekable();
        while let Some(table) = batches.peek().map(|batch| batch.table) {
            let same = std::iter::from_fn(|| batches.next_if(|batch| batch.table == table));
            self.copy(schema, table, same, loaded).await?;
        }
        Ok(())
    }
}

impl Link {
    /// The rows of a query as text.
    pub(super) async fn text_rows(&mut self, sql: &str) -> Result<Vec<super::TextRow>, Error> {
        let messages = self.client.simple_query(sql).await;
        let messages = messages.map_err(|error| self.refusal(sql, &error))?;
        let row = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let text = |at| row.get(at).map(str::to_owned);
                Some((0..row.len()).map(text).collect())
            }
            _ => None,
        };
        Ok(messages.iter().filter_map(row).collect())
    }

    /// Sends batches of one table by `COPY` in its binary form.
    async fn copy(
        &mut self,
        schema: &Schema,
        table: TableId,
        batches: impl Iterator<Item = Batch> + Send,
        loaded: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        let table = &schema[table];
        let columns: Vec<ColumnType> = table
            .columns
            .iter()
            .map(|column| column.column_type)
            .collect();
        let types: Vec<Type> = columns
            .iter()
            .map(|&column_type| wire_type(column_type))
            .collect();
        let sql = format!("COPY {} FROM STDIN (FORMAT binary)", table.name);
        let refusal = |error: tokio_postgres::Error| self.refusal(&sql, &error);
        let sink = self.client.copy_in(&sql).await.map_err(refusal)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for batch in batches {
            for row in &batch.rows {
                writer
                    .as_mut()
                    .write_raw(Parameter::row(row, &columns))
                    .await
                    .map_err(refusal)?;
            }
            loaded(batch.rows.len() as u64);
        }
        writer.as_mut().finish().await.map_err(refusal)?;
        Ok(())
    }
}

fn wire_type(column_type: ColumnType) -> Type {
    match column_type {
        ColumnType::Int32 => Type::INT4,
        ColumnType::Int64 => Type::INT8,
        ColumnType::Decimal { .. } => Type::NUMERIC,
        ColumnType::Float64 => Type::FLOAT8,
        ColumnType::Text(_) => Type::VARCHAR,
        ColumnType::Timestamp => Type::TIMESTAMP,
    }
}
