//! The synchronisation primitives the lock manager is built on: parking_lot's, or shuttle's under its model checker.

#[cfg(not(feature = "shuttle"))]
mod primitives {
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
}

/// shuttle's primitives, under which every order of the threads' steps can come up.
#[cfg(feature = "shuttle")]
mod primitives {
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

        /// As the real one. shuttle knows no time, so a deadline may pass at any moment: now, or after steps of other
        /// threads. Without a deadline the thread sleeps until it is notified, so that a lost wake-up is a deadlock.
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
}

pub(crate) use primitives::{Condvar, Mutex, MutexGuard};
