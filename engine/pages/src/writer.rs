//! The background writer: while pages are being replaced, keeps clean those that will be replaced next, and half of the
//! pool.
//!
//! It writes as many pages as are replaced, twice over to stay ahead (as PostgreSQL's, by `bgwriter_lru_multiplier`).
//! Which pages a checkpoint needs written it writes itself; writing pages more often than that, because they are dirty,
//! would only compete with the log for the device: where everything fits into the pool, nothing is written here.
//!
//! It holds the pool weakly: a pool that nobody uses any more is not kept alive by its writer. Of the pool it knows only what it
//! does with it ([`Cleaned`]), so that this file does not depend on the pool's, which starts it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::double_write::BATCH_PAGES;
use crate::error::PageError;

/// Batches of pages near the list's tail written at most before the writer rests: pages may become dirty again as fast as
/// they are written.
const BATCHES_PER_ROUND: usize = 4;

/// What a writer keeps clean: a pool.
pub(crate) trait Cleaned: Send + Sync + 'static {
    /// How many pages were replaced by others until now.
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

/// A handle of the thread.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    interval: Duration,
    woken: bool,
    stop: bool,
}

impl Writer {
    pub(crate) fn new(interval: Duration) -> Writer {
        let state = State {
            interval,
            woken: false,
            stop: false,
        };
        Writer {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                wake: Condvar::new(),
            }),
            thread: Mutex::new(None),
        }
    }

    pub(crate) fn start(&self, pool: &Arc<impl Cleaned>) -> io::Result<()> {
        let (weak, shared) = (Arc::downgrade(pool), self.shared.clone());
        let thread = thread::Builder::new()
            .name("page-writer".into())
            .spawn(move || run(&weak, &shared))?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// Makes it work now.
    pub(crate) fn wake(&self) {
        lock(&self.shared.state).woken = true;
        self.shared.wake.notify_all();
    }

    pub(crate) fn set_interval(&self, interval: Duration) {
        lock(&self.shared.state).interval = interval;
        self.shared.wake.notify_all();
    }

    /// Ends the thread, unless it is the caller.
    pub(crate) fn stop(&self) {
        lock(&self.shared.state).stop = true;
        self.shared.wake.notify_all();
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        if thread.thread().id() != thread::current().id() {
            // A panic of the writer has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// How many pages have to be clean soon.
#[derive(Default)]
struct Demand {
    /// Pages replaced until the last look.
    replaced: u64,
    /// Pages replaced between two looks, of late.
    recent: u64,
}

impl Demand {
    /// Takes note of the pages replaced until now; how many to write.
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

fn run(pool: &Weak<impl Cleaned>, shared: &Shared) {
    let mut demand = Demand::default();
    while !shared.stopped() {
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let pages = demand.pages(pool.replaced());
        // Errors stay with the pages: they remain dirty, and whoever needs them written gets the error.
        let mut left = pages;
        while left > 0 {
            let wanted = left.min(BATCH_PAGES);
            if !pool
                .flush_some(wanted)
                .is_ok_and(|written| written == wanted)
            {
                break;
            }
            left -= wanted;
        }
        if pages > 0 && pool.is_mostly_dirty() {
            let _ = pool.flush_oldest(BATCH_PAGES);
        }
    }
}

impl Shared {
    /// Waits for the interval, or to be woken; whether the thread shall end.
    fn stopped(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.woken && !state.stop {
            let interval = state.interval;
            let waited = self.wake.wait_timeout(state, interval);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
        state.stop
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pages replaced: a batch is the least. Then 100: twice that. Then none: 50, 25, ... make a batch at least, until
    /// nothing is left of it.
    #[test]
    fn as_many_pages_are_written_as_are_replaced_twice_over() {
        let mut demand = Demand::default();
        let replaced = [0, 10, 110, 110, 110, 110, 110, 110, 110, 110, 110, 9999];
        let pages = replaced.map(|replaced| demand.pages(replaced));
        assert_eq!(pages, [0, 64, 200, 100, 64, 64, 64, 64, 64, 0, 0, 256]);
    }
}
