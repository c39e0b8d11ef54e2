//! parking_lot's primitives.

use std::time::Instant;

pub(crate) use parking_lot::{Mutex, MutexGuard};

/// A condition variable of one waiter.
#[derive(Default)]
pub(crate) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(crate) fn notify(&self) {
        self.0.notify_one();
    }

    /// Waits for a notification or the deadline; the second value is whether the deadline passed. `guard` is that of
    /// the mutex.
    pub(crate) fn wait<'a, T>(
        &self,
        _: &'a Mutex<T>,
        mut guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        let expired = match deadline {
            None => {
                self.0.wait(&mut guard);
                false
            }
            Some(deadline) => self.0.wait_until(&mut guard, deadline).timed_out(),
        };
        (guard, expired)
    }
}
