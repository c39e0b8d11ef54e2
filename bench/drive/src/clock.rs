//! The run's clock, and waiting that ends when the run is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nanoseconds since the start of the run, read by all of its threads, and the means to stop it.
#[derive(Debug)]
pub struct Clock {
    origin: Instant,
    /// Written with `sleepers` held, so that no thread that has just read it sleeps through the change.
    stopped: AtomicBool,
    sleepers: Mutex<()>,
    changed: Condvar,
}

impl Clock {
    /// A clock that shows zero until `delay` from now and counts from then on.
    pub fn starting_in(delay: Duration) -> Clock {
        Clock {
            origin: Instant::now() + delay,
            stopped: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Time since the start.
    pub fn now_ns(&self) -> u64 {
        let passed = Instant::now().saturating_duration_since(self.origin);
        passed.as_nanos() as u64
    }

    /// Sleeps until `until_ns`; false if the run was stopped before.
    pub fn sleep_until(&self, until_ns: u64) -> bool {
        let until = self.origin + Duration::from_nanos(until_ns);
        if Instant::now() >= until {
            return !self.is_stopped();
        }
        let mut sleepers = self.lock();
        while !self.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(sleepers, left);
            sleepers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Stops the run: ends every sleep, now and later.
    pub fn stop(&self) {
        let _sleepers = self.lock();
        self.stopped.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Whether the run was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_lasts_until_its_time_or_until_the_run_is_stopped() {
        let clock = Clock::starting_in(Duration::ZERO);
        assert!(clock.sleep_until(2_000_000));
        assert!(clock.now_ns() >= 2_000_000);
        let later = Clock::starting_in(Duration::from_secs(3600));
        assert_eq!(later.now_ns(), 0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| clock.sleep_until(u64::MAX / 4));
            clock.stop();
            assert!(!sleeper.join().expect("no panic"));
        });
        assert!(!clock.sleep_until(0));
    }
}
