//! Statistics of a pool.

/// Counts since the pool was opened, from [`Pool::statistics`](crate::Pool::statistics).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Pages asked for that were in memory.
    pub hits: u64,
    /// Pages asked for that were not.
    pub misses: u64,
    /// Pages moved from the old to the young sublist.
    pub promoted: u64,
    /// Moves put on a thread's backlog because the list's lock was not to be had in time.
    pub deferred: u64,
    /// Moves on a backlog that were not done: the page was gone or young already, or the backlog full.
    pub dropped: u64,
    /// Time spent waiting for the list's lock in order to move pages, in nanoseconds.
    pub promotion_wait_ns: u64,
    /// Time spent waiting for the list's lock in order to replace pages, in nanoseconds.
    pub replacement_wait_ns: u64,
    /// Pages taken out to make room.
    pub evicted: u64,
    /// Pages written.
    pub written: u64,
    /// Batches they were written in; each costs two syncs.
    pub write_batches: u64,
    /// Batches written by threads that needed a frame and found only dirty ones.
    pub foreground_batches: u64,
    /// Pages that differ from the file now.
    pub dirty: u64,
    /// Pages in memory now.
    pub resident: u64,
    /// The part of them in the young sublist.
    pub young: u64,
}

impl PoolStatistics {
    /// The share of pages asked for that were in memory; 1 if none was asked for.
    pub fn hit_ratio(&self) -> f64 {
        let asked = self.hits + self.misses;
        if asked == 0 {
            return 1.0;
        }
        self.hits as f64 / asked as f64
    }
}
