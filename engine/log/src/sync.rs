//! The synchronisation primitives the log is built on: parking_lot's, or shuttle's under its model checker.

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

    #[cfg(feature = "shuttle")]
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.inner
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
