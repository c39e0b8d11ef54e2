//! Why a recording cannot be read, written or merged, each with what to do next.

use std::path::PathBuf;

use thiserror::Error;

/// Why a recording cannot be read, written or merged.
#[derive(Debug, Error)]
pub enum Error {
    /// Recordings that are to be taken together are not of the same.
    #[error(
        "{} and {} cannot be taken together: {what}; merge recordings of the same interval of the same program, recorded alike",
        one.display(), other.display()
    )]
    Different {
        /// The first.
        one: PathBuf,
        /// Another.
        other: PathBuf,
        /// The difference.
        what: String,
    },
    /// A recording was given twice.
    #[error("{} is named twice: its intervals would count twice", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// A merged recording would replace one of those it is made of.
    #[error("{} is one of the recordings to merge: give -o another name", path.display())]
    MergedIntoItself {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Not a recording.
    #[error("{} is not a recording; recordings are made by evenkeel profile -o FILE", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// A recording of another version.
    #[error("{} has recording format {found}, and this evenkeel reads format {known}; use the evenkeel that recorded it, or record again", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A damaged recording.
    #[error("{} is damaged at byte {at}: {what}; copy it again, or record again", path.display())]
    DamagedRecording {
        /// The file.
        path: PathBuf,
        /// Where the damage begins.
        at: u64,
        /// The defect.
        what: String,
    },
}
