//! A recording that nobody keeps.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file without a name in TMPDIR; it disappears with this program, however the program ends.
pub struct Scratch {
    path: PathBuf,
    _file: File,
}

impl Scratch {
    /// # Errors
    /// Of the file system.
    pub fn new() -> io::Result<Scratch> {
        let file = tempfile::tempfile()?;
        Ok(Scratch {
            path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            _file: file,
        })
    }

    /// The path by which this program opens it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
