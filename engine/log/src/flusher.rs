//! The log flusher thread: writes and syncs under the lazy policies, and makes spare files before a committer needs
//! one.
//!
//! It holds the log weakly: a log that nobody uses any more is not kept alive by its flusher. Of the log it knows only what it
//! does with it ([`Flushed`]), so that this file does not depend on the log's, which starts it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::LogError;
use crate::settings::{FlushPolicy, LogSettings};

/// What a flusher sees to: a log.
pub(crate) trait Flushed: Send + Sync + 'static {
    /// The settings in force.
    fn settings(&self) -> LogSettings;

    /// Makes the spare files that streams lack.
    fn prepare_spares(&self);

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// If the log has failed; it stays with the log, too.
    fn flush_all(&self) -> Result<(), LogError>;
}

/// A handle of the thread.
#[derive(Debug, Default)]
pub(crate) struct Flusher {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stop: bool,
    woken: bool,
}

impl Flusher {
    /// Starts the thread.
    pub(crate) fn start(&self, log: &Arc<impl Flushed>) -> io::Result<()> {
        let (weak, shared) = (Arc::downgrade(log), self.shared.clone());
        let thread = thread::Builder::new()
            .name("log-flusher".into())
            .spawn(move || run(&weak, &shared))?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// Makes it look at the settings and the files again.
    pub(crate) fn wake(&self) {
        lock(&self.shared.state).woken = true;
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
            // A panic of the flusher has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

fn run(log: &Weak<impl Flushed>, shared: &Shared) {
    let mut last_flush = Instant::now();
    let mut woken = false;
    loop {
        let Some(log) = log.upgrade() else {
            return;
        };
        // Only when a leader asks for it: while the log is opened, redo may need the room.
        if woken {
            log.prepare_spares();
        }
        let settings = log.settings();
        if last_flush.elapsed() >= settings.flush_interval {
            last_flush = Instant::now();
            // A failure stays with the log, where whoever commits next finds it.
            if settings.policy != FlushPolicy::EagerFlush && log.flush_all().is_err() {
                return;
            }
        }
        drop(log);
        let rest = settings.flush_interval.saturating_sub(last_flush.elapsed());
        match shared.wait(rest) {
            Wake::Stop => return,
            wake => woken = wake == Wake::Asked,
        }
    }
}

/// Why the thread goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    Stop,
    /// It was woken.
    Asked,
    Time,
}

impl Shared {
    /// Waits so long, or to be woken.
    fn wait(&self, timeout: Duration) -> Wake {
        let mut state = lock(&self.state);
        if !state.woken && !state.stop {
            let waited = self.wake.wait_timeout(state, timeout);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match (state.stop, std::mem::take(&mut state.woken)) {
            (true, _) => Wake::Stop,
            (false, true) => Wake::Asked,
            (false, false) => Wake::Time,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
