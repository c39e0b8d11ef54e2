//! The files of a table: where they lie, and that this program knows their version.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::parquet::arrow::async_reader::{AsyncFileReader, ParquetObjectReader};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::ParquetMetaData;
use evenkeel_export::columns::schema::{PROGRAM_KEY, SCHEMA_VERSION, Table, VERSION_KEY};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore};

use crate::error::Error;
use crate::place::{Opened, Place};
use crate::progress::Progress;

/// Files whose ends are read at a time: a store over a network takes a while to answer each.
const READS_AT_A_TIME: usize = 16;
/// A file's end, with what it says of itself, is seldom longer.
const END_BYTES: usize = 64 << 10;
/// The export's folder of files that are on their way to their places.
const UNFINISHED: &str = ".evenkeel-done-";

/// Facts of a table's files.
pub(crate) struct Files {
    /// Rows in all of them.
    pub rows: u64,
    /// Hosts, as their folders are called.
    pub hosts: BTreeSet<String>,
    /// Programs; files of earlier versions do not say theirs.
    pub programs: BTreeSet<String>,
}

/// Whether an export was killed when some of its files had taken their places.
///
/// # Errors
/// The place cannot be read.
pub(crate) async fn are_unfinished(place: &Place, opened: &Opened) -> Result<bool, Error> {
    let listed = opened.store.list_with_delimiter(Some(&opened.root)).await;
    let listed = listed.map_err(|source| Error::store(place.to_string(), source))?;
    let mut names = listed.common_prefixes.iter().filter_map(Key::filename);
    Ok(names.any(|name| name.starts_with(UNFINISHED)))
}

/// Looks at every file of a table.
///
/// # Errors
/// No files exist, or a file cannot be read, or is of a later version.
pub(crate) async fn look(
    place: &Place,
    opened: &Opened,
    table: Table,
    progress: &Progress,
) -> Result<Files, Error> {
    let top = opened.root.clone().join(table.name());
    progress.finding(table.name());
    let listed = opened.store.list(Some(&top));
    let listed = listed.inspect_ok(|_| progress.file_done());
    let listed = listed.try_collect::<Vec<_>>().await;
    let mut listed =
        listed.map_err(|source| Error::store(format!("{place}/{}", table.name()), source))?;
    let mut hosts = BTreeSet::new();
    listed.retain(|object| match host(&top, &object.location) {
        Some(host) => {
            hosts.insert(host);
            true
        }
        None => false,
    });
    if listed.is_empty() {
        return Err(Error::NoTable {
            place: place.to_string(),
            table: table.name(),
            advice: place.how_to_add(),
        });
    }
    progress.looking(table.name(), listed.len() as u64);
    let said = stream::iter(listed).map(|object| check(place, opened, object));
    let said = said.buffer_unordered(READS_AT_A_TIME);
    let said = said.inspect_ok(|_| progress.file_done());
    let said: Vec<Said> = said.try_collect().await?;
    Ok(Files {
        rows: said.iter().map(|file| file.rows).sum(),
        hosts,
        programs: said.into_iter().filter_map(|file| file.program).collect(),
    })
}

/// The host of `TABLE/day=../host=HOST/RUN.parquet`; nothing of what is no table's file.
fn host(top: &Key, file: &Key) -> Option<String> {
    let parts: Vec<_> = file.prefix_match(top)?.collect();
    let [day, host, name] = parts.as_slice() else {
        return None;
    };
    let is_table = day.as_ref().starts_with("day=") && name.as_ref().ends_with(".parquet");
    let host = host.as_ref().strip_prefix("host=").filter(|_| is_table);
    host.map(str::to_owned)
}

/// Facts in a file.
struct Said {
    rows: u64,
    program: Option<String>,
}

/// Looks at a file, whose version must be known.
async fn check(place: &Place, opened: &Opened, object: ObjectMeta) -> Result<Said, Error> {
    let name = place.name(&opened.root, &object.location);
    let metadata = match read_end(&opened.store, object).await {
        Ok(metadata) => metadata,
        Err(error) => return Err(Error::of_file(name, error)),
    };
    let about = metadata.file_metadata();
    let value = |key: &str| {
        let mut pairs = about.key_value_metadata().into_iter().flatten();
        let pair = pairs.find(|pair| pair.key == key)?;
        pair.value.clone().filter(|value| !value.is_empty())
    };
    let version = value(VERSION_KEY).and_then(|version| version.parse::<u32>().ok());
    match version {
        None => Err(Error::Damaged {
            file: name,
            why: "it does not say which version it has".to_owned(),
        }),
        Some(found) if found > SCHEMA_VERSION => Err(Error::Newer {
            file: name,
            found,
            known: SCHEMA_VERSION,
        }),
        Some(_) => Ok(Said {
            rows: u64::try_from(about.num_rows()).unwrap_or_default(),
            program: value(PROGRAM_KEY),
        }),
    }
}

async fn read_end(
    store: &Arc<dyn ObjectStore>,
    object: ObjectMeta,
) -> Result<Arc<ParquetMetaData>, ParquetError> {
    let reader = ParquetObjectReader::new(Arc::clone(store), object.location);
    let reader = reader.with_file_size(object.size);
    reader
        .with_footer_size_hint(END_BYTES)
        .get_metadata(None)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_hosts_are_a_tables() {
        let top = Key::from("fleet/moments");
        let host = |file: &str| host(&top, &Key::parse(file).unwrap());
        let found = host("fleet/moments/day=2023-11-14/host=a%2Fb/run.parquet");
        assert_eq!(found.as_deref(), Some("a%2Fb"));
        for other in [
            "fleet/moments/day=2023-11-14/host=a/notes.txt",
            "fleet/moments/day=2023-11-14/run.parquet",
            "fleet/moments/old/host=a/run.parquet",
            "fleet/nodes/day=2023-11-14/host=a/run.parquet",
        ] {
            assert_eq!(host(other), None, "{other}");
        }
    }
}
