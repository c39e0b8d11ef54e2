//! Spin locks. They are released by an ordinary store. A waiter that arrives in the very nanoseconds of the release
//! may lack its wake, because a fence would cost as much as the lock.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::pthread_spinlock_t;

use super::objects::Object;
use super::releasing::releasing;
use super::switch::{Table, table};
use super::waiting::{Ended, waiting};
use crate::interpose::interpose;

/// Nothing in a spin lock says whether it is shared.
#[inline(always)]
fn object(lock: *const pthread_spinlock_t) -> Object {
    Object::at(ObjectKind::Spin, lock, true)
}

#[cold]
fn spin(table: Table, lock: *const pthread_spinlock_t, real: impl FnOnce() -> c_int) -> c_int {
    waiting(table, &[object(lock)], real, |&result| {
        Ended::by_number(result)
    })
}

interpose! {
    if waits:

    fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int = |real, call| {
        let Some(table) = table() else { return real(lock) };
        // SAFETY: the caller's lock.
        let attempt = || unsafe { libc::pthread_spin_trylock(lock) };
        match call.attempt(attempt, |result| result != libc::EBUSY) {
            libc::EBUSY => spin(table, lock, || real(lock)),
            result => result,
        }
    }

    fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int = |real| {
        match table() {
            None => real(lock),
            Some(table) => releasing(table, object(lock), || real(lock)),
        }
    }
}
