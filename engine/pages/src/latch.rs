//! The latch of a frame: many readers or one writer, without data.

/// A latch. Not reentrant: a thread that holds it shared and asks again may deadlock with a waiting writer.
pub(crate) struct Latch(primitive::Raw);

impl Latch {
    pub(crate) fn new() -> Latch {
        Latch(primitive::Raw::new())
    }

    pub(crate) fn lock_shared(&self) {
        self.0.lock_shared();
    }

    pub(crate) fn try_lock_shared(&self) -> bool {
        self.0.try_lock_shared()
    }

    pub(crate) fn lock_exclusive(&self) {
        self.0.lock_exclusive();
    }

    /// Whether somebody holds it exclusively. If not, the caller sees everything done under it before.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.0.is_exclusive()
    }

    /// # Safety
    /// The caller holds it shared and gives that up.
    pub(crate) unsafe fn unlock_shared(&self) {
        // SAFETY: as promised.
        unsafe { self.0.unlock_shared() }
    }

    /// # Safety
    /// The caller holds it exclusively and gives that up.
    pub(crate) unsafe fn unlock_exclusive(&self) {
        // SAFETY: as promised.
        unsafe { self.0.unlock_exclusive() }
    }

    /// # Safety
    /// The caller holds it exclusively and keeps it shared.
    pub(crate) unsafe fn downgrade(&self) {
        // SAFETY: as promised.
        unsafe { self.0.downgrade() }
    }
}

#[cfg(not(feature = "shuttle"))]
mod primitive {
    use std::sync::atomic::{Ordering, fence};

    use parking_lot::RawRwLock;
    use parking_lot::lock_api::{RawRwLock as _, RawRwLockDowngrade};

    pub(super) struct Raw(RawRwLock);

    impl Raw {
        pub(super) fn new() -> Raw {
            Raw(RawRwLock::INIT)
        }

        pub(super) fn lock_shared(&self) {
            self.0.lock_shared();
        }

        pub(super) fn try_lock_shared(&self) -> bool {
            self.0.try_lock_shared()
        }

        pub(super) fn lock_exclusive(&self) {
            self.0.lock_exclusive();
        }

        pub(super) fn is_exclusive(&self) -> bool {
            let exclusive = self.0.is_locked_exclusive();
            // Together with the release of the latch, whose effect was just read.
            fence(Ordering::Acquire);
            exclusive
        }

        pub(super) unsafe fn unlock_shared(&self) {
            // SAFETY: the caller holds it shared.
            unsafe { self.0.unlock_shared() }
        }

        pub(super) unsafe fn unlock_exclusive(&self) {
            // SAFETY: the caller holds it exclusively.
            unsafe { self.0.unlock_exclusive() }
        }

        pub(super) unsafe fn downgrade(&self) {
            // SAFETY: the caller holds it exclusively.
            unsafe { self.0.downgrade() }
        }
    }
}

#[cfg(feature = "shuttle")]
mod primitive {
    use crate::sync::{Condvar, Mutex};

    /// Number of readers, or -1.
    pub(super) struct Raw(Mutex<i32>, Condvar);

    impl Raw {
        pub(super) fn new() -> Raw {
            Raw(Mutex::new(0), Condvar::default())
        }

        pub(super) fn lock_shared(&self) {
            let mut holders = self.0.lock();
            while *holders < 0 {
                holders = self.1.wait(holders);
            }
            *holders += 1;
        }

        pub(super) fn try_lock_shared(&self) -> bool {
            let mut holders = self.0.lock();
            let free = *holders >= 0;
            *holders += i32::from(free);
            free
        }

        pub(super) fn lock_exclusive(&self) {
            let mut holders = self.0.lock();
            while *holders != 0 {
                holders = self.1.wait(holders);
            }
            *holders = -1;
        }

        pub(super) fn is_exclusive(&self) -> bool {
            *self.0.lock() < 0
        }

        pub(super) unsafe fn unlock_shared(&self) {
            let mut holders = self.0.lock();
            assert!(*holders > 0, "not held shared");
            *holders -= 1;
            self.1.notify_all();
        }

        pub(super) unsafe fn unlock_exclusive(&self) {
            let mut holders = self.0.lock();
            assert_eq!(*holders, -1, "not held exclusively");
            *holders = 0;
            self.1.notify_all();
        }

        pub(super) unsafe fn downgrade(&self) {
            let mut holders = self.0.lock();
            assert_eq!(*holders, -1, "not held exclusively");
            *holders = 1;
            self.1.notify_all();
        }
    }
}
