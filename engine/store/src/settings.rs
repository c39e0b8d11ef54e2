//! Settings for opening a store, and for changing it while it runs.

use std::time::Duration;

use evenkeel_locks::{Config, DeadlockPolicy, Rules, ScheduleKind};
use evenkeel_log::{FlushPolicy, LogSettings};
use evenkeel_pages::{PoolSettings, Replacement};

/// Settings of a store. The ones [`Change`] names can be changed while it runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The lock manager: schedule, starvation, deadlock policy, shards.
    pub locks: Config,
    /// When a commit's locks are released under eager flush.
    pub release: Release,
    /// Longest wait for a lock; `None`: without limit.
    pub lock_timeout: Option<Duration>,
    /// From this number of locks on, a transaction tries to replace those of its largest table by one table lock. At
    /// `locks.locks_max` it waits for that lock.
    pub escalation_locks: usize,
    /// The buffer pool: size, page size, replacement policy.
    pub pool: PoolSettings,
    /// The log: flush policy, block size.
    pub log: LogSettings,
    /// Streams of the log, each with separate files; for several devices use
    /// [`Store::open_on`](crate::Store::open_on).
    pub log_streams: usize,
    /// Worker threads that execute the transactions given to [`Store::execute`](crate::Store::execute); 0: each on the
    /// thread that gives it.
    pub workers: usize,
    /// Transactions that may wait for a worker; whoever gives one more waits until there is room.
    pub queue_max: usize,
    /// Bytes of log records between two checkpoints. Recovery reads about twice as many.
    pub checkpoint_log_bytes: u64,
    /// The thread that removes deleted rows and takes checkpoints.
    pub housekeeping: Housekeeping,
}

/// When a commit's locks are released under [`FlushPolicy::EagerFlush`]. Either way it is acknowledged when it is durable and
/// so is everything it has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Release {
    /// When its record is in the log, before the disk is waited for.
    #[default]
    WhenLogged,
    /// When it is durable.
    WhenDurable,
}

/// The thread that removes deleted rows and takes checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Housekeeping {
    /// A thread of the store.
    Background,
    /// Whoever calls [`Store::tidy`](crate::Store::tidy) and [`Store::checkpoint`](crate::Store::checkpoint): the order of all
    /// disk operations is then the callers' alone.
    ByHand,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            locks: Config::new(ScheduleKind::Fifo),
            release: Release::default(),
            lock_timeout: None,
            escalation_locks: 1 << 16,
            pool: PoolSettings::default(),
            log: LogSettings::default(),
            log_streams: 1,
            workers: 0,
            queue_max: 1024,
            checkpoint_log_bytes: 256 << 20,
            housekeeping: Housekeeping::Background,
        }
    }
}

impl Settings {
    /// The settings without threads in the background, for tests in which the order of disk operations matters.
    pub fn without_threads(mut self) -> Settings {
        self.housekeeping = Housekeeping::ByHand;
        self.pool.writer = false;
        self.log.flusher = false;
        self
    }
}

/// A setting of the running store.
#[derive(Clone, Debug)]
pub enum Change {
    /// Grants locks by this schedule, with the papers' settings for it and the deadlock policy in force.
    Schedule(ScheduleKind),
    /// Decides conflicts by these rules.
    Rules(Rules),
    /// Deadlock policy.
    Deadlocks(DeadlockPolicy),
    /// Longest wait for a lock.
    LockTimeout(Option<Duration>),
    /// Page replacement.
    Replacement(Replacement),
    /// Longest time for which lazy LRU tries to get the list's lock.
    LazyWait(Duration),
    /// When commits are acknowledged. Returns when all commits acknowledged so far are durable.
    FlushPolicy(FlushPolicy),
    /// Interval of log flushes under the lazy policies.
    FlushInterval(Duration),
    /// Block size of the log, in bytes.
    LogBlockBytes(usize),
    /// Number of the log's streams in use.
    LogStreams(usize),
    /// Number of worker threads. Surplus ones end after the transaction that they are executing.
    Workers(usize),
    /// Bytes of log records between two checkpoints.
    CheckpointLogBytes(u64),
}
