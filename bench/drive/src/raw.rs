//! Raw latencies in a file: one transaction a line.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::sample::Sample;
use crate::window::Window;

/// A line of the file. Times count from the beginning of the window, so times in the warm-up are below zero.
#[derive(Serialize)]
struct Line<'a> {
    r#type: &'a str,
    scheduled_ns: i64,
    started_ns: i64,
    ended_ns: i64,
    ending: &'a str,
    retries: u16,
}

/// A file that is written.
pub struct RawFile {
    path: PathBuf,
    out: csv::Writer<File>,
    types: Vec<String>,
}

impl RawFile {
    /// Begins a file. `types` are the names of the types in the order of their indices.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn create(path: &Path, types: &[&str]) -> Result<RawFile, Error> {
        let file = File::create(path).map_err(|source| Error::Write {
            path: path.to_owned(),
            source,
        })?;
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        Ok(RawFile {
            path: path.to_owned(),
            out: csv::Writer::from_writer(file),
            types,
        })
    }

    /// Writes samples, warm-up included.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&mut self, window: Window, samples: &[Sample]) -> Result<(), Error> {
        let since = |ns: u64| ns as i64 - window.begin_ns as i64;
        let written = samples.iter().try_for_each(|sample| {
            self.out.serialize(Line {
                r#type: &self.types[usize::from(sample.kind)],
                scheduled_ns: since(sample.scheduled_ns),
                started_ns: since(sample.started_ns),
                ended_ns: since(sample.ended_ns),
                ending: sample.ending.name(),
                retries: sample.retries,
            })
        });
        written.map_err(|error| self.failure(error.into()))
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.out.flush().map_err(|source| self.failure(source))
    }

    fn failure(&self, source: std::io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }
}
