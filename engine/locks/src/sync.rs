//! The synchronisation primitives the lock manager is built on: parking_lot's, or shuttle's under its model checker.
//!
//! Shuttle has no notion of time, so under it a deadline never passes.

use std::time::Instant;

#[cfg(not(feature = "shuttle"))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::MutexGuard;

/// A mutex that, like parking_lot's, is not poisoned by a panic.
#[cfg(feature = "shuttle")]
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

#[cfg(feature = "shuttle")]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A condition variable of one waiter.
#[derive(Default)]
pub(crate) struct Condvar {
    #[cfg(not(feature = "shuttle"))]
    inner: parking_lot::Condvar,
    #[cfg(feature = "shuttle")]
    inner: shuttle::sync::Condvar,
}

impl Condvar {
    pub(crate) fn notify(&self) {
        self.inner.notify_one();
    }

    /// Waits for a notification or the deadline; the second value tells whether the deadline passed.
    #[cfg(not(feature = "shuttle"))]
    pub(crate) fn wait<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        let expired = match deadline {
            None => {
                self.inner.wait(&mut guard);
                false
            }
            Some(deadline) => self.inner.wait_until(&mut guard, deadline).timed_out(),
        };
        (guard, expired)
    }

    #[cfg(feature = "shuttle")]
    pub(crate) fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _deadline: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        (
            self.inner
                .wait(guard)
                .unwrap_or_else(std::sync::PoisonError::into_inner),
            false,
        )
    }
}
