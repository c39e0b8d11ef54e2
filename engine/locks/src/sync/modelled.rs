//! shuttle's primitives, under which every order of the threads' steps can come up.

use std::sync::PoisonError;
use std::time::Instant;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

pub(crate) use shuttle::sync::MutexGuard;

/// A mutex that, like parking_lot's, is not poisoned by a panic.
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable of one waiter.
#[derive(Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(crate) fn notify(&self) {
        self.0.notify_one();
    }

    /// As the real one. shuttle knows no time, so a deadline may pass at any moment: now, or after whatever others do
    /// meanwhile. Without a deadline the thread sleeps until it is notified, so that a lost wake-up is a deadlock.
    pub(crate) fn wait<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        if deadline.is_none() {
            let guard = self.0.wait(guard);
            return (guard.unwrap_or_else(PoisonError::into_inner), false);
        }
        drop(guard);
        thread::yield_now();
        (mutex.lock(), thread_rng().gen_bool(0.5))
    }
}
