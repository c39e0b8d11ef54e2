//! A thread that works in the background: at intervals, and whenever it is woken.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Handle of a background thread. Dropping it ends the thread.
#[derive(Debug, Default)]
pub struct Background {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stop: bool,
    woken: bool,
}

/// Why the thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The interval has passed.
    Interval,
    /// [`Background::wake`] was called.
    Woken,
}

impl Background {
    /// Starts the thread. It runs `work` after `first`, then after each interval that `work` returns, until that is `None`.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(
        &self,
        name: &str,
        first: Duration,
        mut work: impl FnMut(Cause) -> Option<Duration> + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            let mut interval = first;
            while let Some(cause) = shared.wait(interval) {
                let Some(next) = work(cause) else { return };
                interval = next;
            }
        })?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// Makes it work at once.
    pub fn wake(&self) {
        lock(&self.shared.state).woken = true;
        self.shared.changed.notify_all();
    }

    /// Ends the thread and waits until it has ended, unless the thread itself is the caller.
    pub fn stop(&self) {
        lock(&self.shared.state).stop = true;
        self.shared.changed.notify_all();
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        if thread.thread().id() != thread::current().id() {
            // The thread itself has reported its panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Waits for the interval, or to be woken; `None` if the thread shall end.
    fn wait(&self, interval: Duration) -> Option<Cause> {
        let is_idle = |state: &mut State| !state.woken && !state.stop;
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.state), interval, is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        match (state.stop, std::mem::take(&mut state.woken)) {
            (true, _) => None,
            (false, true) => Some(Cause::Woken),
            (false, false) => Some(Cause::Interval),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn it_works_at_intervals_and_when_it_is_woken() {
        let (causes, seen) = mpsc::channel();
        let background = Background::default();
        let mut intervals = [Duration::ZERO, HOUR, HOUR].into_iter();
        background
            .start("test", Duration::ZERO, move |cause| {
                causes.send(cause).expect("the test listens");
                intervals.next()
            })
            .expect("a thread");
        assert_eq!([(); 2].map(|()| seen.recv()), [Ok(Cause::Interval); 2]);
        background.wake();
        assert_eq!(seen.recv(), Ok(Cause::Woken));
        background.wake();
        assert_eq!(seen.recv(), Ok(Cause::Woken));
        seen.recv().expect_err("it has ended by itself");
    }

    #[test]
    fn dropping_the_handle_ends_the_thread() {
        let (alive, ended) = mpsc::channel::<()>();
        let background = Background::default();
        background
            .start("test", HOUR, move |_| {
                let _ = &alive;
                Some(HOUR)
            })
            .expect("a thread");
        drop(background);
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    #[test]
    fn the_thread_may_stop_itself() {
        let background = Arc::new(Background::default());
        let (stopped, seen) = mpsc::channel();
        let own = Arc::clone(&background);
        background
            .start("test", Duration::ZERO, move |_| {
                own.stop();
                stopped.send(()).expect("the test listens");
                Some(Duration::ZERO)
            })
            .expect("a thread");
        seen.recv().expect("it went on to its end");
        seen.recv().expect_err("it has ended");
    }
}
