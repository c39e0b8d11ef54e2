//! Settings.

use std::time::Duration;

/// When a page that is used again moves from the old to the young sublist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replacement {
    /// At once, waiting for the list's mutex as long as it takes (dissertation, algorithm 4).
    #[default]
    Lru,
    /// At once if the list's lock is free within [`PoolSettings::lazy_wait`]. Otherwise the move is put on a backlog
    /// of the thread, and done when the thread next gets the lock, if the page is still there (section 3.4.1).
    LazyLru,
}

/// Settings of a pool. `frames` and `page_bytes` hold while it is open; the rest can be changed while it runs.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// Number of pages kept in memory.
    pub frames: usize,
    /// Size of a page, in bytes: a power of two from [`PAGE_BYTES_MIN`] to [`PAGE_BYTES_MAX`].
    pub page_bytes: usize,
    /// When used pages become young.
    pub replacement: Replacement,
    /// Longest time for which [`Replacement::LazyLru`] tries to get the lock.
    pub lazy_wait: Duration,
    /// Whether the pool runs a background writer. Without, dirty pages are written on
    /// [`Pool::flush_all`](crate::Pool::flush_all) and when no clean page can be replaced.
    pub writer: bool,
    /// Interval at which the background writer looks for pages to write.
    pub writer_interval: Duration,
}

/// The smallest page, in bytes.
pub const PAGE_BYTES_MIN: usize = 4096;
/// The largest page, in bytes.
pub const PAGE_BYTES_MAX: usize = 65536;
/// The fewest frames of a pool.
pub const FRAMES_MIN: usize = 8;

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings {
            frames: 8192,
            page_bytes: 16384,
            replacement: Replacement::Lru,
            lazy_wait: Duration::from_micros(10),
            writer: true,
            writer_interval: Duration::from_millis(100),
        }
    }
}

impl PoolSettings {
    pub(crate) fn are_valid(&self) -> bool {
        self.page_bytes.is_power_of_two()
            && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&self.page_bytes)
            && (FRAMES_MIN..u32::MAX as usize).contains(&self.frames)
    }
}
