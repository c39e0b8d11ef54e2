//! Errors of simulations, with what to do.

use std::path::PathBuf;

/// Why a simulation cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A file of recorded values that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn setting(what: impl Into<String>) -> Error {
        Error::Setting(what.into())
    }
}
