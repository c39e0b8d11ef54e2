//! Errors, each with what to do.

use std::path::PathBuf;

/// A journal that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is.
    pub path: PathBuf,
    /// Why it cannot be read.
    pub why: String,
}

impl Unreadable {
    /// The mistake, and what to do.
    pub fn advice(&self) -> String {
        format!(
            "{} cannot be read ({}), so what it records was not put back: look into it, put back what it names, and remove it",
            self.path.display(),
            self.why
        )
    }
}

/// Why nothing could be tuned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arguments that make no sense, or not together.
    #[error("{0}")]
    Setting(String),
    /// The load, or the target under it.
    #[error(transparent)]
    Drive(#[from] evenkeel_drive::Error),
    /// The account may not change settings.
    #[error("{user} may not change settings of {target}: {reason}; {remedy}")]
    NoRights {
        /// The requesting user.
        user: String,
        /// The server.
        target: String,
        /// The server's error.
        reason: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The profiler could not see the intervals that are to be made better.
    #[error("the intervals of the load cannot be measured: {0}")]
    Profile(String),
    /// The command that is the load failed.
    #[error("the load `{command}` failed ({status}):\n{output}")]
    Load {
        /// The command, as it was given.
        command: String,
        /// Its exit status.
        status: String,
        /// The end of what it wrote.
        output: String,
    },
    /// An earlier run was cut short.
    #[error(
        "an earlier run was cut short and left settings of {target} changed (written down in {}); put them back first: evenkeel tune --restore --target {target}",
        journal.display()
    )]
    Unrestored {
        /// The server.
        target: String,
        /// The record of the changes.
        journal: PathBuf,
    },
    /// A journal that cannot be read.
    #[error("{}; a run that was cut short may have left settings changed", .0.advice())]
    Unreadable(Unreadable),
    /// A private server that was left cannot be stopped, or its folder not removed.
    #[error(transparent)]
    Server(#[from] evenkeel_servers::ServerError),
    /// Somebody else is at work.
    #[error("another evenkeel tune is at work on {0}; wait for its end")]
    Busy(String),
    /// Changes could not be undone.
    #[error(
        "{reason}\nNot put back are {left}: they are written down in {}; once the server answers: evenkeel tune --restore --target {target}",
        journal.display()
    )]
    NotRestored {
        /// The reason.
        reason: String,
        /// Settings and what they were.
        left: String,
        /// Where that is written down.
        journal: PathBuf,
        /// The server.
        target: String,
    },
    /// A file, or another step of the system.
    #[error("cannot {action}: {source}")]
    System {
        /// The operation.
        action: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// Names the step that an `io::Error` comes from.
pub(crate) trait During<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> During<T> for std::io::Result<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::System {
            action: action(),
            source,
        })
    }
}
