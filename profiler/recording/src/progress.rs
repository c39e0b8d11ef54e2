//! Progress of reading recordings, for a waiting user.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Takes how many bytes have been read, and how many there are to read.
type Report = dyn Fn(u64, u64) + Send + Sync;

/// Counts the bytes read of recordings. A recording that is read several times counts several times.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Shared>>);

struct Shared {
    read: AtomicU64,
    to_read: AtomicU64,
    report: Box<Report>,
}

impl Progress {
    /// `report` is called after each few dozen kilobytes with how many bytes have been read, and how many there are to read in all.
    pub fn reported_to(report: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress(Some(Arc::new(Shared {
            read: AtomicU64::new(0),
            to_read: AtomicU64::new(0),
            report: Box::new(report),
        })))
    }

    /// These files will be read once more than was known.
    pub(crate) fn expect(&self, paths: &[PathBuf]) {
        if let Some(shared) = &self.0 {
            let lengths = paths.iter().filter_map(|path| fs::metadata(path).ok());
            let more = lengths.map(|metadata| metadata.len()).sum();
            shared.to_read.fetch_add(more, Relaxed);
        }
    }

    fn add(&self, bytes: usize) {
        if let Some(shared) = &self.0 {
            let read = shared.read.fetch_add(bytes as u64, Relaxed) + bytes as u64;
            (shared.report)(read, shared.to_read.load(Relaxed));
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self
            .0
            .as_ref()
            .map(|shared| (&shared.read, &shared.to_read));
        formatter.debug_tuple("Progress").field(&counts).finish()
    }
}

/// A file whose bytes count.
pub(crate) struct Counted {
    pub file: File,
    pub progress: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.add(read);
        Ok(read)
    }
}
