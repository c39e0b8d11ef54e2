//! Raw latencies in a file: one transaction a line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::accounts::Window;
use crate::sample::Sample;

/// The first line of the file.
pub const HEADER: &str = "type,scheduled_ns,started_ns,ended_ns,ending,retries";

/// A file that is written.
pub struct RawFile {
    path: PathBuf,
    out: BufWriter<File>,
    types: Vec<String>,
}

impl RawFile {
    /// Begins a file. `types` are the names of the types in the order of their indices.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn create(path: &Path, types: &[&str]) -> Result<RawFile, Error> {
        let written = File::create(path).and_then(|file| {
            let mut out = BufWriter::new(file);
            writeln!(out, "{HEADER}")?;
            Ok(out)
        });
        let out = written.map_err(|source| Error::Write {
            path: path.to_owned(),
            source,
        })?;
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        Ok(RawFile {
            path: path.to_owned(),
            out,
            types,
        })
    }

    /// Writes samples, warm-up included. Times count from the beginning of the window, so those of the warm-up are below
    /// zero.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&mut self, window: Window, samples: &[Sample]) -> Result<(), Error> {
        let since = |ns: u64| ns as i64 - window.begin_ns as i64;
        let written = samples.iter().try_for_each(|sample| {
            let (name, ending) = (&self.types[usize::from(sample.kind)], sample.ending.name());
            let (scheduled, started) = (since(sample.scheduled_ns), since(sample.started_ns));
            let (ended, retries) = (since(sample.ended_ns), sample.retries);
            writeln!(
                self.out,
                "{name},{scheduled},{started},{ended},{ending},{retries}"
            )
        });
        written.map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.out.flush().map_err(|source| Error::Write {
            path: self.path,
            source,
        })
    }
}
