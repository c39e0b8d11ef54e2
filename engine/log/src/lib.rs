//! Write-ahead log: flush policies, one or several streams.
//!
//! Records get their sequence number ([`Lsn`]) from one counter and are collected in memory. Whoever commits moves
//! what has been collected to a *stream* (a sequence of files, best on a device of its own) and writes and syncs it
//! there for all who wait for that stream: group commit. With several streams a committer takes a free one, else the
//! one with the fewest waiters (Huang et al., SIGMOD 2017, section 6.2; dissertation, section 3.4.2). One that the log has gained
//! is no choice before it has room of its own, which [`Log::reserve`] or the flusher takes: the disk may be full.
//!
//! ## Dependencies across streams
//! A power failure may keep a later record in one stream and lose an earlier one in another. What a record needs
//! beside itself is given when it is appended ([`Depends`]); the record before it of its transaction (`prev`) always
//! counts. Each batch in a stream carries a vector: how far every other stream must have come for it to count. A
//! commit is acknowledged when its batch *and all it depends on, transitively* is durable, and recovery takes the
//! largest set of stream prefixes closed under these vectors. Hence what recovery yields may have gaps in the LSNs,
//! but never a record without what it depends on. [`Depends::Everything`] (all earlier records) is always right and
//! has no gaps; [`Depends::On`] lets independent transactions commit without waiting for a slow stream. When using
//! `On`: name the LSN each changed page had before, and log changes of several pages that must not be seen apart (a
//! split) as one record. Under the lazy policies, or when locks are released before the commit is durable, a
//! transaction may read what is not durable yet: its commit record then needs those commits, too, or simply
//! everything.
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
//!      .reserve(bytes) -> Result<(), LogError>     so many bytes more can be appended and written on a full disk
//!      .recycle_before(lsn) -> Result<usize, LogError>     files that became free for reuse
//!      .last_lsn() -> Lsn, .statistics() -> LogStatistics, .settings() -> LogSettings
//!      .set_policy(FlushPolicy), .set_block_bytes(usize), .set_active_streams(usize), .set_flush_interval(Duration)
//!      .skip_to(lsn)                               gives out larger LSNs only: the store's checkpoint may know of such
//!      .close() -> Result<(), LogError>            flushes, and marks the end so that later damage to it is noticed
//!      .stop_flusher()                             to be called before others may use the files
//! ```
//! A recycling that fails leaves the log in order: what could not be renamed or removed comes first the next time, and spare files are not
//! written to before their names are durable. That batches were not kept is known from the files of the next epoch alone, in any stream, so
//! these are not recycled before those batches are gone. A stream never gives away its last file.
//!
//! After the first failed write or sync the log is *failed*: every later call says so, nothing is retried; reopen to
//! recover what was durable.
//!
//! ## Use by recovery
//! `Log::open` finds the end, writes again and syncs what nothing proves to be durable (after a kill or a failed sync it
//! may be in the page cache only) and goes on with LSNs that are all larger, in new files if there are spare ones. So the
//! store may append compensation records at once, while it scans with `Recovered`, which yields only what was there before.
//! "Larger" is meant of what the files know, which may be less than was recycled: the store calls `Log::skip_to` with its
//! checkpoint's LSN, as redo takes what is not larger for done. The store keeps the LSN of its last checkpoint itself
//! (`evenkeel_disk::write_atomically`) and recycles what it no longer needs: everything before the smallest of the
//! checkpoint's LSN, the dirty pages' recovery LSNs and the first LSNs of running transactions.

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
