//! Statistics of a store.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_locks::observe::Metrics;
use evenkeel_log::LogStatistics;
use evenkeel_pages::PoolStatistics;

use crate::locking::LockName;

/// A snapshot of the counts of a store since it was opened.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Statistics of transactions.
    pub transactions: TransactionStatistics,
    /// Metrics of the lock manager.
    pub locks: Metrics<LockName>,
    /// Statistics of the buffer pool.
    pub pool: PoolStatistics,
    /// Statistics of the log.
    pub log: LogStatistics,
}

/// Counts of transactions and of what is done for them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionStatistics {
    /// Committed.
    pub committed: u64,
    /// The part of them that changed nothing.
    pub read_only: u64,
    /// Rolled back by their owners.
    pub rolled_back: u64,
    /// Rolled back as victims of deadlocks.
    pub deadlocks: u64,
    /// Rolled back for another reason of the lock manager's.
    pub gave_way: u64,
    /// Statements undone because a lock was not granted in time.
    pub lock_timeouts: u64,
    /// Times a transaction's locks of a table were replaced by one of the whole table.
    pub escalations: u64,
    /// Deleted entries removed from pages.
    pub purged: u64,
    /// Times that was tried: more than removed if transactions held locks there.
    pub purge_attempts: u64,
    /// Checkpoints taken.
    pub checkpoints: u64,
}

/// Counters on cache lines of their own, so that counting does not slow the neighbours down.
#[derive(Default, Debug)]
#[repr(align(128))]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters behind [`TransactionStatistics`].
#[derive(Default, Debug)]
pub(crate) struct Counters {
    pub(crate) committed: Counter,
    pub(crate) read_only: Counter,
    pub(crate) rolled_back: Counter,
    pub(crate) deadlocks: Counter,
    pub(crate) gave_way: Counter,
    pub(crate) lock_timeouts: Counter,
    pub(crate) escalations: Counter,
    pub(crate) purged: Counter,
    pub(crate) purge_attempts: Counter,
    pub(crate) checkpoints: Counter,
}

impl Counters {
    pub(crate) fn snapshot(&self) -> TransactionStatistics {
        TransactionStatistics {
            committed: self.committed.get(),
            read_only: self.read_only.get(),
            rolled_back: self.rolled_back.get(),
            deadlocks: self.deadlocks.get(),
            gave_way: self.gave_way.get(),
            lock_timeouts: self.lock_timeouts.get(),
            escalations: self.escalations.get(),
            purged: self.purged.get(),
            purge_attempts: self.purge_attempts.get(),
            checkpoints: self.checkpoints.get(),
        }
    }
}
