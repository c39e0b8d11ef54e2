//! Statistics of a log.

/// Counts since the log was opened, from [`Log::statistics`](crate::Log::statistics).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStatistics {
    /// Records appended.
    pub records: u64,
    /// Bytes of records appended, without padding; how far apart two checkpoints are.
    pub record_bytes: u64,
    /// Commits asked for.
    pub commits: u64,
    /// Commits that found their records already durable (or written, by policy).
    pub commits_without_waiting: u64,
    /// Time committers spent in [`Log::commit`](crate::Log::commit), in nanoseconds.
    pub commit_wait_ns: u64,
    /// Statistics of each opened stream.
    pub streams: Vec<StreamStatistics>,
}

/// Counts of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamStatistics {
    /// Batches written.
    pub batches: u64,
    /// Bytes written, padding included.
    pub bytes: u64,
    /// The part of them that is padding and batch headers.
    pub padding_bytes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Time spent in writes, in nanoseconds.
    pub write_ns: u64,
    /// Time spent in syncs, in nanoseconds.
    pub sync_ns: u64,
    /// Committers that wait for this stream now.
    pub waiters: usize,
    /// Files in use.
    pub files: usize,
    /// Files kept to be used again.
    pub spare_files: usize,
}
