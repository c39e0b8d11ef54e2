//! Where the streams of a log ended: what [recovery](crate::recovery) hands over to the [files](crate::files) that are written next.

use std::sync::Arc;

use evenkeel_disk::File;

use crate::Lsn;

/// Where a stream ended.
pub(crate) struct StreamEnd {
    pub older: Vec<OldFile>,
    pub spares: Vec<String>,
    /// Number of the last file, or 0 without files.
    pub number: u64,
    /// The last LSN kept.
    pub last: Lsn,
    /// Where the last epoch's batches that are kept end; `None` if the stream has no file of it.
    pub tail: Option<Tail>,
}

/// The end of what is kept, in the last file of a stream.
pub(crate) struct Tail {
    pub file: Arc<dyn File>,
    pub offset: u64,
}

/// A file that is not written any more.
#[derive(Clone, Debug)]
pub(crate) struct OldFile {
    pub number: u64,
    pub epoch: u64,
    /// No record in it or before it is later.
    pub last: Lsn,
    /// Whether it holds batches that an opening has not kept.
    pub has_unkept: bool,
}
