//! Write-ahead log: flush policies, one or several streams.
//!
//! Records get their sequence number ([`Lsn`]) from one counter and are collected in memory. A committer moves the
//! collected records to a *stream*, a sequence of files, best on a separate device. It writes and syncs them there
//! for all committers that wait for this stream: group commit. With several streams a committer takes a free one,
//! else the one with the fewest waiters (Huang et al., SIGMOD 2017, section 6.2, and dissertation section 3.4.2). A
//! new stream is not chosen until [`Log::reserve`] or the flusher has preallocated a file for it, because allocation
//! may fail on a full disk.
//!
//! ## Dependencies across streams
//! A power failure may keep a later record in one stream and lose an earlier one in another. The caller names the
//! records that a record depends on when it appends it ([`Depends`]). The previous record of its transaction (`prev`)
//! is always among them. Each batch in a stream carries a vector: how far every other stream must have come for it to
//! count. A commit is acknowledged when its batch *and all it depends on, transitively* is durable, and recovery
//! takes the largest set of stream prefixes closed under these vectors. So what recovery yields may have gaps in the
//! LSNs, but never a record without what it depends on. [`Depends::Everything`] (all earlier records) is always right
//! and has no gaps; [`Depends::On`] lets independent transactions commit without waiting for a slow stream. When
//! using `On`: name the LSN each changed page had before, and log changes of several pages that must not be seen
//! apart (a split) as one record. Under the lazy policies, or when locks are released before the commit is durable, a
//! transaction may read data that is not durable. Its commit record then needs those commits as well, or everything.
//!
//! So with `On` and several streams a durable record does *not* mean that all smaller LSNs are durable.
//!
//! ## API
//! ```text
//! Log::open(directories, settings) -> Result<(Arc<Log>, Recovered), LogError>   one directory a stream (may repeat)
//! Log::check_files(directories), holds_records(directories) -> Result<bool, LogError>, is_log_file(name) -> bool
//!                                                               before it, changing nothing
//! Recovered: .scan(from: Lsn) -> Result<Scan, LogError>     Scan: Iterator<Item = Result<Record, LogError>>, LSN order
//!            .end() -> Lsn (last LSN kept), .is_empty(), .discarded_bytes()
//! Log: .append(&NewRecord { txn, prev, kind, depends, payload }) -> Result<Lsn, LogError>   memory only
//!      .commit(lsn) -> Result<(), LogError>        waits as the flush policy says
//!      .flush_to(lsn) -> Result<(), LogError>      always waits until durable: page writes, checkpoints
//!      .flush_all() -> Result<(), LogError>
//!      .reserve(bytes) -> Result<(), LogError>     so many bytes more can be appended and written on a full disk, until
//!      .release(bytes)                             they are given back
//!      .recycle_before(lsn) -> Result<usize, LogError>     files that became free for reuse
//!      .last_lsn() -> Lsn, .statistics() -> LogStatistics, .settings() -> LogSettings
//!      .set_policy(FlushPolicy), .set_block_bytes(usize), .set_active_streams(usize), .set_flush_interval(Duration)
//!      .skip_to(lsn)                               gives out larger LSNs only: the store's checkpoint may know of such
//!      .close() -> Result<(), LogError>            flushes, and marks the end so that later damage to it is noticed
//!      .stop_flusher()                             to be called before others may use the files
//! ```
//! A failed recycling leaves the log in order. Files that could not be renamed or removed come first the next time,
//! and spare files are not written before their names are durable. Only the files of the next epoch, in any stream,
//! record that batches were discarded. So these files are not recycled before those batches are gone. A stream never
//! gives away its last file.
//!
//! After the first failed write or sync the log is *failed*: every later call returns that error, and nothing is
//! retried. Reopen it to recover what was durable.
//!
//! ## Use by recovery `Log::open` finds the end, then writes again and syncs whatever is not proven to be durable:
//! after a kill or a failed sync it may exist only in the page cache. It continues with larger LSNs, in new files if
//! there are spare ones. So the store may append compensation records at once, while it scans with `Recovered`, which
//! yields only earlier records. "Larger" means larger than in the files, which may know less than was recycled. So
//! the store calls `Log::skip_to` with its checkpoint's LSN, because redo skips what is not larger. The store keeps
//! the LSN of its last checkpoint itself (`evenkeel_disk::write_atomically`). It recycles everything before the
//! smallest of three: that LSN, the dirty pages' recovery LSNs, and the first LSNs of running transactions.

mod closure;
mod commit;
mod delay;
mod ends;
mod error;
mod files;
mod flusher;
mod format;
mod found;
mod limits;
mod log;
mod names;
mod opening;
mod record;
mod recovery;
mod scan;
mod settings;
mod state;
mod statistics;
mod sync;

pub use error::LogError;
pub use limits::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, SEGMENT_BYTES_MAX, STREAMS_MAX};
pub use log::Log;
pub use names::is_log_file;
pub use record::{Depends, Lsn, NewRecord, PAYLOAD_BYTES_MAX, Record};
pub use scan::{Recovered, Scan};
pub use settings::{FlushPolicy, LogSettings};
pub use statistics::{LogStatistics, StreamStatistics};
