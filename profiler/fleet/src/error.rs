//! Errors of tables and questions.

use std::io;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use datafusion::parquet::errors::ParquetError;
use thiserror::Error;

use crate::refused;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The directory cannot be read.
    #[error("cannot read {}: {source}; name the directory that `evenkeel export --format parquet -o DIR` wrote to", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A store cannot be read.
    #[error("cannot read {place} ({said}): {advice}")]
    Store {
        /// The place in it.
        place: String,
        /// The engine's error.
        said: String,
        /// The remedy.
        advice: &'static str,
    },
    /// There are no tables in it.
    #[error("{place} has no table {table}: {advice}")]
    NoTable {
        /// Where.
        place: String,
        /// The table.
        table: &'static str,
        /// The remedy.
        advice: String,
    },
    /// A file is no table's.
    #[error(
        "{file} is damaged or no table of evenkeel's ({why}): remove it, and export its recording again"
    )]
    Damaged {
        /// The file.
        file: String,
        /// The missing part.
        why: String,
    },
    /// A later version wrote the tables.
    #[error(
        "{file} has version {found} of the tables' schema, this program knows {known}: use the evenkeel that wrote it, or a newer one"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// A table that a question needs has no rows.
    #[error("{question} needs the table {table}, which has no rows here: {advice}")]
    Empty {
        /// The question.
        question: String,
        /// The table.
        table: &'static str,
        /// The remedy.
        advice: &'static str,
    },
    /// The file of a query.
    #[error("cannot read the query {}: {source}", path.display())]
    Query {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The engine does not take the query, or cannot run it.
    #[error("{query} cannot be answered: {}", explained(source))]
    Sql {
        /// The question or the file.
        query: String,
        /// The engine's error.
        source: Box<DataFusionError>,
    },
    /// The engine could not be started.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// A file that was to be written.
    #[error("cannot write {}: {source}; check the directory and the free space", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Options that do not go together, or an environment that lacks something.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// A store that refuses a request.
    pub(crate) fn store(place: String, error: object_store::Error) -> Error {
        let said = refused::said(&error);
        let advice = match place.starts_with("s3://") {
            true => refused::advice(&said),
            false => "see whether this user may read it",
        };
        Error::Store {
            place,
            said,
            advice,
        }
    }

    /// A file whose end cannot be read: it is damaged, or the store does not deliver it.
    pub(crate) fn of_file(file: String, error: ParquetError) -> Error {
        match error {
            ParquetError::External(source) => match source.downcast::<object_store::Error>() {
                Ok(source) => Error::store(file, *source),
                Err(source) => Error::Damaged {
                    file,
                    why: source.to_string(),
                },
            },
            error => Error::Damaged {
                file,
                why: error.to_string(),
            },
        }
    }
}

/// The engine's error, in a line, with the remedy.
fn explained(error: &DataFusionError) -> String {
    let said = error.strip_backtrace();
    let said = said.lines().next().unwrap_or_default();
    let root = error.find_root();
    let advice = match root {
        DataFusionError::SQL(..) => "mend the query at the place that is named",
        DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
            "the tables are intervals, nodes, times and moments; docs/src/reference/tables.md has their columns, and only queries are run: SELECT or WITH"
        }
        DataFusionError::ArrowError(..) if said.to_lowercase().contains("overflow") => {
            "the sums are too large for 38 digits together: ask for fewer days or hosts"
        }
        DataFusionError::ResourcesExhausted(_) => {
            "its memory is what --memory says, or 60 % of what is free: let it have more, or fewer --threads; DuckDB and Spark go through tables that exceed memory (docs/src/how-to/ask-a-fleet.md)"
        }
        DataFusionError::NotImplemented(_) => "this engine cannot do that: write it otherwise",
        _ => "see whether the tables can be read, and whether other questions are answered",
    };
    format!("{said}. {advice}")
}
