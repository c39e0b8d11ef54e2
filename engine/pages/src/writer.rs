//! The background writer: keeps clean the pages that will be replaced next, and half of the pool.
//!
//! Which pages a checkpoint needs written it writes itself; writing hot pages more often than that would only compete
//! with the log for the device.
//!
//! It holds the pool weakly: a pool that nobody uses any more is not kept alive by its writer.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Pool;
use crate::double_write::BATCH_PAGES;

/// Batches of pages near the list's tail written before the writer rests.
const BATCHES_PER_ROUND: usize = 4;

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

    pub(crate) fn start(&self, pool: &Arc<Pool>) -> io::Result<()> {
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

fn run(pool: &Weak<Pool>, shared: &Shared) {
    while !shared.stopped() {
        let Some(pool) = pool.upgrade() else {
            return;
        };
        // Errors stay with the pages: they remain dirty, and whoever needs them written is told.
        // So many at most, as pages may become dirty again as fast as they are written.
        for _ in 0..BATCHES_PER_ROUND {
            if !pool
                .flush_some(BATCH_PAGES)
                .is_ok_and(|written| written == BATCH_PAGES)
            {
                break;
            }
        }
        if pool.dirty_frames() > pool.frames.len() / 2 {
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
