//! A directory of tables, as `evenkeel export --format parquet` writes it: checked, and opened for questions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use datafusion::prelude::{SessionConfig, SessionContext};
use evenkeel_export::columns::schema::{SCHEMA_VERSION, Table, VERSION_KEY};

use crate::answer::Answer;
use crate::error::Error;

/// Columns that are in the names of folders, in their order.
const PARTITIONS: [&str; 2] = ["day", "host"];

/// Tables that can be asked.
pub struct Fleet {
    context: SessionContext,
    rows: BTreeMap<Table, u64>,
    is_unfinished: bool,
}

impl Fleet {
    /// Opens the tables of a directory for an engine of so many threads.
    ///
    /// # Errors
    /// The directory cannot be read, or what is in it is not those tables.
    pub async fn open(directory: &Path, threads: usize) -> Result<Fleet, Error> {
        let unreadable = |source| Error::Unreadable {
            path: directory.to_owned(),
            source,
        };
        let entries = fs::read_dir(directory).map_err(unreadable)?;
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        let is_unfinished = names
            .into_iter()
            .any(|name| name.to_string_lossy().starts_with(".evenkeel-done-"));
        let config = SessionConfig::new()
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
            );
        let context = SessionContext::new_with_config(config);
        let mut rows = BTreeMap::new();
        for table in Table::ALL {
            let (count, hosts) = check(directory, table)?;
            rows.insert(table, count);
            let registered = register(&context, directory, table, &hosts).await;
            registered.map_err(|source| Error::Sql {
                query: format!("the table {}", table.name()),
                source: Box::new(source),
            })?;
        }
        Ok(Fleet {
            context,
            rows,
            is_unfinished,
        })
    }

    /// Whether an export to the directory was killed when some of its files had taken their places.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
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
        let frame = self.context.sql_with_options(sql, only_queries).await;
        let frame = frame.map_err(failed)?;
        let columns = frame.schema().fields().iter();
        let columns = columns.map(|field| field.name().clone()).collect();
        let batches = frame.collect().await.map_err(failed)?;
        Answer::new(columns, &batches).map_err(|error| failed(error.into()))
    }
}

/// Rows of a table, and its hosts as their folders are called. Every file is of a version that is known.
fn check(directory: &Path, table: Table) -> Result<(u64, BTreeSet<String>), Error> {
    let missing = || Error::NoTable {
        directory: directory.to_owned(),
        table: table.name(),
    };
    let top = directory.join(table.name());
    if !top.is_dir() {
        return Err(missing());
    }
    let mut rows = 0;
    let mut files = 0;
    let mut hosts = BTreeSet::new();
    for day in folders(&top)? {
        for host in folders(&day)? {
            if let Some(name) = host.file_name().and_then(|name| name.to_str()) {
                hosts.extend(name.strip_prefix("host=").map(str::to_owned));
            }
            for file in entries(&host)? {
                if file.extension().is_some_and(|it| it == "parquet") {
                    files += 1;
                    rows += check_file(file)?;
                }
            }
        }
    }
    match files {
        0 => Err(missing()),
        _ => Ok((rows, hosts)),
    }
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = entries(path)?;
    found.retain(|path| path.is_dir());
    Ok(found)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(path)?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    read().map_err(|source| Error::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// Rows of a file whose version is known.
fn check_file(path: PathBuf) -> Result<u64, Error> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) => return Err(Error::Unreadable { path, source }),
    };
    let metadata = match ParquetMetaDataReader::new().parse_and_finish(&file) {
        Ok(metadata) => metadata,
        Err(error) => return Err(Error::damaged(path, &error)),
    };
    let about = metadata.file_metadata();
    let pairs = about.key_value_metadata().into_iter().flatten();
    let version = pairs
        .filter(|pair| pair.key == VERSION_KEY)
        .find_map(|pair| pair.value.as_ref()?.parse::<u32>().ok());
    match version {
        None => Err(Error::Damaged {
            path,
            why: "it does not say which version it has".to_owned(),
        }),
        Some(found) if found > SCHEMA_VERSION => Err(Error::Newer {
            path,
            found,
            known: SCHEMA_VERSION,
        }),
        Some(_) => Ok(u64::try_from(about.num_rows()).unwrap_or_default()),
    }
}

/// Makes the files of a table known to the engine, with the columns that this version knows.
async fn register(
    context: &SessionContext,
    directory: &Path,
    table: Table,
    hosts: &BTreeSet<String>,
) -> Result<(), DataFusionError> {
    let partitions = PARTITIONS.map(|name| (name.to_owned(), DataType::Utf8));
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.to_vec());
    let absolute = fs::canonicalize(directory)?.join(table.name());
    let url = url::of_directory(&absolute)?;
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
    // The engine takes the names of folders as they are.
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

mod url {
    //! Directories as the engine names them.

    use super::{DataFusionError, ListingTableUrl, Path};

    /// A directory; characters that mean something in patterns or addresses mean themselves.
    pub fn of_directory(path: &Path) -> Result<ListingTableUrl, DataFusionError> {
        let mut text = String::from("file://");
        for &byte in path.as_os_str().as_encoded_bytes() {
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
}

/// What a folder's name stands for, which Hive writes with `%XX`.
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
