//! Errors of pages.

use std::io;
use std::sync::Arc;

use evenkeel_disk::advice;
use evenkeel_log::LogError;

use crate::id::PageId;
use crate::settings::{FRAMES_MIN, PAGE_BYTES_MAX, PAGE_BYTES_MIN};

/// Errors of the buffer pool. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PageError {
    /// The page on the disk is not what was written.
    #[error("{page} is damaged: {what}; restore the data from a backup")]
    Corrupt {
        /// Which page.
        page: PageId,
        /// The finding.
        what: String,
    },
    /// Nothing was ever written there.
    #[error("{0} has never been written")]
    NeverWritten(PageId),
    /// Reading, or preparing space for writing, failed. Nothing is lost; it can be tried again, after making room if
    /// the disk is full.
    #[error("page file: {doing}: {cause}{}", advice(cause))]
    Io {
        /// The operation.
        doing: &'static str,
        /// The disk's error.
        cause: Arc<io::Error>,
    },
    /// Writing or syncing pages failed, now or earlier, so nobody knows what the disk holds. Reopen; the log has what
    /// is missing.
    #[error("page file failed while {doing} ({cause}); reopen it to recover from the log")]
    Failed {
        /// The operation.
        doing: &'static str,
        /// The disk's error.
        cause: Arc<io::Error>,
    },
    /// The log could not be flushed, so the pages that need it cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Every frame is pinned.
    #[error(
        "all {frames} frames of the buffer pool are in use at the same time; make the pool larger"
    )]
    Exhausted {
        /// Size of the pool.
        frames: usize,
    },
    /// The file was made with pages of another size.
    #[error(
        "the page file has pages of {file} bytes, not {wanted}; open it with its own page size"
    )]
    PageSize {
        /// Page size of the file, in bytes.
        file: usize,
        /// Page size asked for, in bytes.
        wanted: usize,
    },
    /// The settings make no pool.
    #[error(
        "a pool has at least {FRAMES_MIN} frames and pages of a power of two from {PAGE_BYTES_MIN} to \
         {PAGE_BYTES_MAX} bytes, not {frames} frames of {page_bytes} bytes"
    )]
    BadSettings {
        /// Frames asked for.
        frames: usize,
        /// Page size asked for, in bytes.
        page_bytes: usize,
    },
    /// The page file is not one.
    #[error(
        "{0} is no page file, or its beginning is damaged; give the directory of a store, or restore this one from a backup"
    )]
    NoPageFile(String),
    /// The double-write file is not one.
    #[error(
        "{0} is no double-write file, or its beginning is damaged; give the directory of a store, or move the file away: the \
         store needs it only if the last power failure tore pages, and says so when it reads them"
    )]
    NoDoubleWriteFile(String),
    /// The double-write file was written by another version of this program.
    #[error(
        "{name} was written in format version {found}, this program reads version {known}; open it with a program of \
         its version"
    )]
    DoubleWriteVersion {
        /// The file.
        name: String,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// The page was written by another version of this program.
    #[error(
        "{page} was written in format version {found}, this program reads version {known}; open it with a program of \
         its version"
    )]
    Version {
        /// The page; page 0 means the file.
        page: PageId,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
}

impl PageError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> PageError {
        move |cause| PageError::Io {
            doing,
            cause: Arc::new(cause),
        }
    }

    pub(crate) fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> PageError {
        move |cause| PageError::Failed {
            doing,
            cause: Arc::new(cause),
        }
    }
}
