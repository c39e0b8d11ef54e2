//! Tables as `evenkeel export --format parquet` writes them, opened for questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use evenkeel_export::columns::schema::Table;

use crate::answer::Answer;
use crate::error::Error;
use crate::files;
use crate::place::{Opened, Place};
use crate::progress::Progress;
use crate::shared;

/// Columns that are in the names of folders, in their order.
const PARTITIONS: [&str; 2] = ["day", "host"];

/// Resources of the engine.
#[derive(Clone, Debug)]
pub struct Means {
    /// Threads.
    pub threads: usize,
    /// Bytes of memory that its joins, groups and sorts may keep.
    pub memory_bytes: u64,
    /// Where it puts what exceeds that, if it can be put anywhere.
    pub spill: Option<PathBuf>,
}

/// Tables that can be asked.
pub struct Fleet {
    context: SessionContext,
    progress: Arc<Progress>,
    rows: BTreeMap<Table, u64>,
    programs: BTreeSet<String>,
    is_unfinished: bool,
}

impl Fleet {
    /// Opens the tables of a place for an engine with these means, and tells how far that, and then each answer, is.
    ///
    /// # Errors
    /// The place cannot be read, or what is in it is not those tables.
    pub async fn open(
        place: &Place,
        means: &Means,
        progress: Arc<Progress>,
    ) -> Result<Fleet, Error> {
        let opened = place.open()?;
        let is_unfinished = files::are_unfinished(place, &opened).await?;
        let context = means.context().map_err(|source| Error::Sql {
            query: "the tables".to_owned(),
            source: Box::new(source),
        })?;
        context.register_object_store(opened.url.as_ref(), Arc::clone(&opened.store));
        let mut rows = BTreeMap::new();
        let mut programs = BTreeSet::new();
        for table in Table::ALL {
            let found = files::look(place, &opened, table, &progress).await?;
            rows.insert(table, found.rows);
            programs.extend(found.programs);
            let registered = register(&context, &opened, table, &found.hosts).await;
            registered.map_err(|source| Error::Sql {
                query: format!("the table {}", table.name()),
                source: Box::new(source),
            })?;
        }
        Ok(Fleet {
            context,
            progress,
            rows,
            programs,
            is_unfinished,
        })
    }

    /// Whether an export to the place was killed when some of its files had taken their places.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// File names of the tables' programs, as far as the tables have them.
    pub fn programs(&self) -> &BTreeSet<String> {
        &self.programs
    }

    /// Rows of a table.
    pub fn rows(&self, table: Table) -> u64 {
        self.rows[&table]
    }

    /// Runs a query; `name` is what messages call it.
    ///
    /// # Errors
    /// It is no query, or cannot be answered.
    pub async fn ask(&self, name: &str, sql: &str) -> Result<Answer, Error> {
        let failed = |source: DataFusionError| Error::Sql {
            query: name.to_owned(),
            source: Box::new(source),
        };
        let only_queries = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        self.progress.planning(name);
        let frame = self.context.sql_with_options(sql, only_queries).await;
        let frame = frame.map_err(failed)?;
        let columns = frame.schema().fields().iter();
        let columns = columns.map(|field| field.name().clone()).collect();
        let (state, plan) = frame.into_parts();
        let batches = shared::collect(&state, plan, name, &self.progress).await;
        let batches = batches.map_err(failed)?;
        Answer::new(columns, &batches).map_err(|error| failed(error.into()))
    }
}

impl Means {
    fn context(&self) -> Result<SessionContext, DataFusionError> {
        let most = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        let disk = DiskManagerBuilder::default().with_mode(match &self.spill {
            Some(directory) => DiskManagerMode::Directories(vec![directory.clone()]),
            None => DiskManagerMode::Disabled,
        });
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(most)))
            .with_disk_manager_builder(disk)
            .build_arc()?;
        Ok(SessionContext::new_with_config_rt(
            config(self.threads),
            runtime,
        ))
    }
}

fn config(threads: usize) -> SessionConfig {
    SessionConfig::new()
        .with_target_partitions(threads)
        .set_bool(
            "datafusion.execution.parquet.schema_force_view_types",
            false,
        )
        .set_bool("datafusion.execution.parquet.pushdown_filters", true)
        // It takes the tails for planned otherwise than they were meant, and names no difference; tests/answers.rs has DuckDB's answers.
        .set_bool(
            "datafusion.execution.skip_physical_aggregate_schema_check",
            true,
        )
}

/// Makes the files of a table known to the engine, with the columns that this version knows.
async fn register(
    context: &SessionContext,
    opened: &Opened,
    table: Table,
    hosts: &BTreeSet<String>,
) -> Result<(), DataFusionError> {
    let partitions = PARTITIONS.map(|name| (name.to_owned(), DataType::Utf8));
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.to_vec());
    let url = address(opened, table)?;
    let config = ListingTableConfig::new(url)
        .with_listing_options(options)
        .with_schema(table.schema());
    let provider = Arc::new(ListingTable::try_new(config)?);
    let decoded: Vec<(&str, String)> = hosts
        .iter()
        .map(|host| (host.as_str(), decoded(host)))
        .filter(|(folder, host)| folder != host)
        .collect();
    if decoded.is_empty() {
        context.register_table(table.name(), provider)?;
        return Ok(());
    }
    // The engine does not decode the names of folders.
    let files = format!("{}_files", table.name());
    context.register_table(files.as_str(), provider)?;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let cases = decoded.iter().map(|(folder, host)| {
        let (folder, host) = (quoted(folder), quoted(host));
        format!("WHEN {folder} THEN {host}")
    });
    let cases = cases.collect::<Vec<_>>().join(" ");
    let view = format!(
        "CREATE VIEW {} AS SELECT * REPLACE (CASE host {cases} ELSE host END AS host) FROM {files}",
        table.name()
    );
    context.sql(&view).await?;
    Ok(())
}

/// Where a table lies, as the engine names it; characters that mean something in patterns or addresses mean themselves.
fn address(opened: &Opened, table: Table) -> Result<ListingTableUrl, DataFusionError> {
    let mut text = opened.url.as_str().to_owned();
    for &byte in opened.root.clone().join(table.name()).as_ref().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'=' => {
                text.push(char::from(byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text.push('/');
    ListingTableUrl::parse(text)
}

/// The name that a folder encodes; Hive writes it with `%XX`.
fn decoded(folder: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = folder.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%');
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(hex.unwrap_or(byte));
        rest = if hex.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_decoded() {
        assert_eq!(decoded("a%2Fb%2C%20c"), "a/b, c");
        assert_eq!(decoded("db-1.example"), "db-1.example");
        assert_eq!(decoded("100%"), "100%");
    }
}
