//! Settings.

use std::time::Duration;

use crate::error::LogError;
use crate::format::FILE_HEADER_BYTES;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, SEGMENT_BYTES_MAX, STREAMS_MAX};

/// When a commit is acknowledged (SIGMOD 2017, appendix B; MySQL's `innodb_flush_log_at_trx_commit` 1, 2 and 0).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushPolicy {
    /// After the committer has written *and* synced the log. Loses nothing that was acknowledged.
    #[default]
    EagerFlush,
    /// After the committer has written the log; the flusher syncs it every [`LogSettings::flush_interval`]. A power
    /// failure or a crash of the operating system may lose transactions acknowledged during the last interval and the
    /// sync after it. A crash of the process loses nothing.
    LazyFlush,
    /// At once; the flusher writes and syncs the log every [`LogSettings::flush_interval`]. A power failure, a crash
    /// of the operating system or of the process alone may lose the transactions acknowledged during the last
    /// interval and the write after it.
    LazyWrite,
}

/// Settings of a log. All but `segment_bytes` and `flusher` can be changed while it runs.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// When a commit is acknowledged.
    pub policy: FlushPolicy,
    /// Every write to a stream is a multiple of this, in bytes; a power of two from [`BLOCK_BYTES_MIN`] to
    /// [`BLOCK_BYTES_MAX`]. Larger blocks waste more at small commits (SIGMOD 2017, appendix B, figure 4 right),
    /// smaller ones than the device's make it read before it writes.
    pub block_bytes: usize,
    /// Number of the opened streams that are used, from the first.
    pub active_streams: usize,
    /// Interval of the flusher under the lazy policies.
    pub flush_interval: Duration,
    /// Most bytes that are collected in memory before an appender has to write; no more than a quarter of
    /// `segment_bytes`.
    pub buffer_bytes: usize,
    /// Size of a stream's files, in bytes: two blocks and 4096 bytes at least, [`SEGMENT_BYTES_MAX`] at most; a
    /// single larger batch gets a larger file. All of a file's blocks are allocated before it is used, and one or two
    /// spare files are kept for a full disk. So each stream has two or three files on the disk, besides those that a
    /// checkpoint has not freed yet.
    pub segment_bytes: u64,
    /// Whether the log runs a flusher thread. Without, lazy policies make nothing durable until
    /// [`Log::flush_all`](crate::Log::flush_all), and committers make the files they need themselves.
    pub flusher: bool,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            policy: FlushPolicy::EagerFlush,
            block_bytes: 4096,
            active_streams: STREAMS_MAX,
            flush_interval: Duration::from_secs(1),
            buffer_bytes: 16 << 20,
            segment_bytes: 16 << 20,
            flusher: true,
        }
    }
}

impl LogSettings {
    /// Whether a log can be opened with them.
    ///
    /// # Errors
    /// [`LogError::BadBlock`], [`LogError::BadSegment`].
    pub fn check(&self) -> Result<(), LogError> {
        self.check_block(self.block_bytes)
    }

    /// Whether blocks of this size fit the other settings.
    pub(crate) fn check_block(&self, block_bytes: usize) -> Result<(), LogError> {
        if !is_block_size(block_bytes) {
            return Err(LogError::BadBlock(block_bytes));
        }
        // A batch takes a block, and loses less than one where the file ends.
        let least = FILE_HEADER_BYTES + 2 * block_bytes as u64;
        match (least..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            true => Ok(()),
            false => Err(LogError::BadSegment {
                bytes: self.segment_bytes,
                block_bytes,
                least,
            }),
        }
    }

    /// Most bytes that are collected: several batches fit into a file.
    pub(crate) fn collected_bytes_max(&self) -> usize {
        self.buffer_bytes.min((self.segment_bytes / 4) as usize)
    }
}

/// Whether `bytes` can be a block size.
fn is_block_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&bytes)
}
