//! The synchronisation primitives the pool is built on: parking_lot's and the standard library's, or shuttle's under
//! its model checker.

#[cfg(not(feature = "shuttle"))]
mod primitives {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
    pub(crate) use std::thread::yield_now;
    pub(crate) use std::thread_local;
    use std::time::Duration;

    /// Lets other threads run: at first at once, later for a while.
    pub(crate) fn back_off(attempt: usize) {
        if attempt < 32 {
            yield_now();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A condition variable.
    #[derive(Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(&mut guard);
            guard
        }
    }
}

#[cfg(feature = "shuttle")]
mod primitives {
    use std::sync::PoisonError;

    pub(crate) use shuttle::sync::MutexGuard;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
    pub(crate) use shuttle::thread::yield_now;
    pub(crate) use shuttle::thread_local;

    /// Lets other threads run.
    pub(crate) fn back_off(_: usize) {
        yield_now();
    }

    /// A mutex that, like parking_lot's, is not poisoned by a panic.
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    /// A condition variable.
    #[derive(Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }
    }
}

pub(crate) use primitives::*;
