//! Errors of a log.

use std::io;
use std::sync::Arc;

use evenkeel_disk::advice;

use crate::format::VERSION;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, SEGMENT_BYTES_MAX, STREAMS_MAX};
use crate::record::{Lsn, PAYLOAD_BYTES_MAX};

/// Errors of the log. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// Reading or preparing files failed; the log is unharmed.
    #[error("log {doing}: {cause}{}", advice(cause))]
    Io {
        /// The operation.
        doing: String,
        /// The disk's error.
        cause: Arc<io::Error>,
    },
    /// A write or sync failed, now or earlier. What had been acknowledged as durable is; the rest is unknown. Free
    /// space or repair the device, then reopen.
    #[error("the log failed while {doing} ({cause}); reopen it to recover what was durable")]
    Failed {
        /// The operation.
        doing: String,
        /// The disk's error.
        cause: Arc<io::Error>,
    },
    /// Damage that no crash explains: something after it was written later than it was made durable.
    #[error(
        "log stream {stream} is damaged: {what}; restore the file from a backup, a copy without it loses transactions"
    )]
    Corrupt {
        /// Number of the stream, from 0.
        stream: usize,
        /// The finding.
        what: String,
    },
    /// A file that would be written over is not the log's.
    #[error(
        "{0} is no file of a log, or its beginning is damaged; give the directory of a log, or move the file away: a spare \
         file has nothing that is needed"
    )]
    NotALogFile(String),
    /// A file was written by another version of this program.
    #[error(
        "log file {name} was written in format version {found}, this program reads version {VERSION}; open it with a \
         program of its version"
    )]
    Version {
        /// The file.
        name: String,
        /// Its version.
        found: u32,
    },
    /// The log begins later than the record asked for.
    #[error(
        "the log has no records from {wanted} on any more: stream {stream} begins after {first}"
    )]
    Recycled {
        /// The LSN asked for.
        wanted: Lsn,
        /// Number of the stream, from 0.
        stream: usize,
        /// The last LSN that may have been in removed files.
        first: Lsn,
    },
    /// Fewer directories were given than the log has streams.
    #[error(
        "the log was written with {written} streams, but {given} directories are given; give all of them"
    )]
    MissingStreams {
        /// Streams the log's files speak of.
        written: usize,
        /// Directories given.
        given: usize,
    },
    /// No directory, or too many.
    #[error("a log has 1 to {STREAMS_MAX} streams, not {0}")]
    BadStreams(usize),
    /// Not a valid block size.
    #[error(
        "a log block is a power of two from {BLOCK_BYTES_MIN} to {BLOCK_BYTES_MAX} bytes, not {0}"
    )]
    BadBlock(usize),
    /// Not a valid size of a stream's files.
    #[error(
        "a log file has {least} to {SEGMENT_BYTES_MAX} bytes with blocks of {block_bytes}, not {bytes}"
    )]
    BadSegment {
        /// The size asked for, in bytes.
        bytes: u64,
        /// Size of the blocks, in bytes.
        block_bytes: usize,
        /// The smallest size with these, in bytes.
        least: u64,
    },
    /// The payload is too long.
    #[error("a log record holds at most {PAYLOAD_BYTES_MAX} bytes, not {0}")]
    TooLong(usize),
    /// The record has not been appended.
    #[error("no log record {0} has been appended")]
    Unknown(Lsn),
}

impl LogError {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> LogError {
        let doing = doing.into();
        move |cause| LogError::Io {
            doing,
            cause: Arc::new(cause),
        }
    }

    /// The same error as a failure of the whole log.
    pub(crate) fn into_failure(self) -> LogError {
        match self {
            LogError::Io { doing, cause } => LogError::Failed { doing, cause },
            other => other,
        }
    }
}
