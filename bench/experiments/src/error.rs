//! Errors of experiments.

use std::io;
use std::path::PathBuf;

/// Why experiments were not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no experiment has.
    #[error("no experiment {0}; `evenkeel experiments --list` names them all")]
    Unknown(String),
    /// A simulation.
    #[error(transparent)]
    Simulation(#[from] evenkeel_simulate::Error),
    /// Something that an experiment should have found.
    #[error("the experiment did not find {0}; this is an error of the program")]
    Missing(String),
    /// Another command of `evenkeel` could not be run.
    #[error("cannot run another command of evenkeel: {0}")]
    Command(io::Error),
    /// The user stopped it before an experiment was done.
    #[error("stopped before the experiment was done")]
    Stopped,
    /// A file of results.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// Read or write.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line of a file of results.
    #[error("{} line {line} is no result of this version: {reason}; remove the file, or run without --resume", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The mistake.
        reason: String,
    },
}
