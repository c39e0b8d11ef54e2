//! The synchronisation primitives the log is built on: parking_lot's, or shuttle's under its model checker.

use std::time::Duration;

#[cfg(not(feature = "shuttle"))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::MutexGuard;

/// A mutex that, like parking_lot's, is not poisoned by a panic.
#[cfg(feature = "shuttle")]
#[derive(Debug, Default)]
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

/// A condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar {
    #[cfg(not(feature = "shuttle"))]
    inner: parking_lot::Condvar,
    #[cfg(feature = "shuttle")]
    inner: shuttle::sync::Condvar,
}

impl Condvar {
    pub(crate) fn notify_one(&self) {
        self.inner.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.inner.notify_all();
    }

    #[cfg(not(feature = "shuttle"))]
    pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.inner.wait(&mut guard);
        guard
    }

    /// Waits no longer than `time`; whether it passed.
    #[cfg(not(feature = "shuttle"))]
    pub(crate) fn wait_for<'a, T>(
        &self,
        _: &'a Mutex<T>,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let passed = self.inner.wait_for(&mut guard, time).timed_out();
        (guard, passed)
    }

    /// The model knows no time: it passes at once, while others go on.
    #[cfg(feature = "shuttle")]
    pub(crate) fn wait_for<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        drop(guard);
        shuttle::thread::yield_now();
        (mutex.lock(), true)
    }

    #[cfg(feature = "shuttle")]
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.inner
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
