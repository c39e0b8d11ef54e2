//! Read-write locks.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::{clockid_t, pthread_rwlock_t, timespec};

use super::objects::Object;
use super::releasing::releasing;
use super::switch::{Table, table};
use super::waiting::{Ended, waiting};
use crate::interpose::interpose;
use crate::replacement::Call;

/// Offset of `__shared` in glibc's `struct __pthread_rwlock_arch_t`: not 0 for locks of several processes.
const SHARED_AT: usize = 28;

#[inline(always)]
fn object(lock: *const pthread_rwlock_t) -> Object {
    // SAFETY: the caller's lock.
    let shared = unsafe { lock.byte_add(SHARED_AT).cast::<c_int>().read_volatile() };
    Object::at(ObjectKind::ReadWrite, lock, shared != 0)
}

#[inline(always)]
fn lock(
    call: &Call,
    lock: *mut pthread_rwlock_t,
    attempt: unsafe extern "C" fn(*mut pthread_rwlock_t) -> c_int,
    real: impl Fn() -> c_int,
) -> c_int {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's lock.
    let attempt = || unsafe { attempt(lock) };
    let is_done = |result| result != libc::EBUSY && result != libc::EAGAIN;
    match call.attempt(attempt, is_done) {
        libc::EBUSY => wait(table, lock, real),
        // Too many readers: the real function knows what then.
        libc::EAGAIN => real(),
        result => result,
    }
}

#[cold]
fn wait(table: Table, lock: *const pthread_rwlock_t, real: impl Fn() -> c_int) -> c_int {
    waiting(table, &[object(lock)], real, |&result| {
        Ended::by_number(result)
    })
}

use libc::{pthread_rwlock_tryrdlock as try_read, pthread_rwlock_trywrlock as try_write};

interpose! {
    if waits:

    fn pthread_rwlock_rdlock(rwlock: *mut pthread_rwlock_t) -> c_int = |real, call| {
        lock(call, rwlock, try_read, || real(rwlock))
    }

    fn pthread_rwlock_timedrdlock(rwlock: *mut pthread_rwlock_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, rwlock, try_read, || real(rwlock, limit))
    }

    fn pthread_rwlock_clockrdlock(rwlock: *mut pthread_rwlock_t, clock: clockid_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, rwlock, try_read, || real(rwlock, clock, limit))
    }

    fn pthread_rwlock_wrlock(rwlock: *mut pthread_rwlock_t) -> c_int = |real, call| {
        lock(call, rwlock, try_write, || real(rwlock))
    }

    fn pthread_rwlock_timedwrlock(rwlock: *mut pthread_rwlock_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, rwlock, try_write, || real(rwlock, limit))
    }

    fn pthread_rwlock_clockwrlock(rwlock: *mut pthread_rwlock_t, clock: clockid_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, rwlock, try_write, || real(rwlock, clock, limit))
    }

    fn pthread_rwlock_unlock(rwlock: *mut pthread_rwlock_t) -> c_int = |real| {
        match table() {
            None => real(rwlock),
            Some(table) => releasing(table, object(rwlock), || real(rwlock)),
        }
    }
}
