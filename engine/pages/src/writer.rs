//! The background writer: while pages are being replaced, keeps clean those that will be replaced next, and half of the
//! pool.
//!
//! It writes as many pages as are replaced, twice over to stay ahead (as PostgreSQL's, by `bgwriter_lru_multiplier`).
//! A checkpoint writes the pages that it needs itself. Writing dirty pages more often than that would only compete
//! with the log for the device. So nothing is written here while all pages fit into the pool.
//!
//! The thread holds the pool weakly, so a pool without users is not kept alive. It knows of the pool only [`Cleaned`], so that this
//! file does not depend on that of the pool, which starts the thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_disk::Background;

use crate::double_write::BATCH_PAGES;
use crate::error::PageError;

/// Most batches of pages near the list's tail in one round: pages may become dirty again at the rate at which they
/// are written.
const BATCHES_PER_ROUND: usize = 4;

/// The pool, as a writer sees it.
pub(crate) trait Cleaned: Send + Sync + 'static {
    /// Number of pages replaced by others until now.
    fn replaced(&self) -> u64;

    /// Whether more than half of its frames are dirty.
    fn is_mostly_dirty(&self) -> bool;

    /// Writes up to `count` dirty pages of those that will be replaced next; how many.
    ///
    /// # Errors
    /// What log and disk say: the pages stay dirty.
    fn flush_some(&self, count: usize) -> Result<usize, PageError>;

    /// Writes up to `count` dirty pages, those first that have been so for longest; how many.
    ///
    /// # Errors
    /// As [`flush_some`](Cleaned::flush_some).
    fn flush_oldest(&self, count: usize) -> Result<usize, PageError>;
}

/// Starts the thread, which looks for pages to write at this interval.
pub(crate) fn start(
    thread: &Background,
    pool: &Arc<impl Cleaned>,
    interval: Duration,
) -> io::Result<()> {
    let pool = Arc::downgrade(pool);
    let mut demand = Demand::default();
    thread.start("page-writer", interval, move |_| {
        clean(&*pool.upgrade()?, &mut demand);
        Some(interval)
    })
}

fn clean(pool: &impl Cleaned, demand: &mut Demand) {
    let pages = demand.pages(pool.replaced());
    // Errors stay with the pages: they remain dirty, and whoever needs them written gets the error.
    let mut left = pages;
    while left > 0 {
        let wanted = left.min(BATCH_PAGES);
        let written = pool.flush_some(wanted);
        if !written.is_ok_and(|written| written == wanted) {
            break;
        }
        left -= wanted;
    }
    if pages > 0 && pool.is_mostly_dirty() {
        let _ = pool.flush_oldest(BATCH_PAGES);
    }
}

/// Number of pages that have to be clean soon.
#[derive(Default)]
struct Demand {
    /// Pages replaced until the last look.
    replaced: u64,
    /// Pages replaced between two looks, of late.
    recent: u64,
}

impl Demand {
    /// Records the number of pages replaced so far; returns how many to write.
    fn pages(&mut self, replaced: u64) -> usize {
        // It falls slowly: the next burst may come soon.
        self.recent = (replaced - self.replaced).max(self.recent / 2);
        self.replaced = replaced;
        match self.recent {
            0 => 0,
            recent => (2 * recent as usize).clamp(BATCH_PAGES, BATCHES_PER_ROUND * BATCH_PAGES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pages replaced: at least a batch is written. Then 100: twice that. Then none: 50, 25, ... make a batch at
    /// least, until nothing is left of it.
    #[test]
    fn as_many_pages_are_written_as_are_replaced_twice_over() {
        let mut demand = Demand::default();
        let replaced = [0, 10, 110, 110, 110, 110, 110, 110, 110, 110, 110, 9999];
        let pages = replaced.map(|replaced| demand.pages(replaced));
        assert_eq!(pages, [0, 64, 200, 100, 64, 64, 64, 64, 64, 0, 0, 256]);
    }
}
