//! Mutexes of every type.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::{clockid_t, pthread_mutex_t, timespec};

use super::objects::Object;
use super::releasing::releasing;
use super::switch::{Table, table};
use super::waiting::{Ended, waiting};
use crate::interpose::interpose;
use crate::replacement::Call;

/// Offset of `__kind` in glibc's `struct __pthread_mutex_s`, and its bit for mutexes of several processes
/// (`PTHREAD_MUTEX_PSHARED_BIT`, sysdeps/nptl/internaltypes.h).
const KIND_AT: usize = 16;
const SHARED: c_int = 128;

/// A mutex as an object.
#[inline(always)]
pub fn object(mutex: *const pthread_mutex_t) -> Object {
    // SAFETY: the caller's mutex.
    let kind = unsafe { mutex.byte_add(KIND_AT).cast::<c_int>().read_volatile() };
    Object::at(ObjectKind::Mutex, mutex, kind & SHARED != 0)
}

/// Locks without waiting if that is possible. The results for a robust mutex with a dead owner, and for a recursive
/// one that is too deep, equal those of locking. An owner that would wait for itself gets its error from the real
/// function.
#[inline(always)]
fn lock(call: &Call, mutex: *mut pthread_mutex_t, real: impl Fn() -> c_int) -> c_int {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's mutex.
    let attempt = || unsafe { libc::pthread_mutex_trylock(mutex) };
    match call.attempt(attempt, |result| result != libc::EBUSY) {
        libc::EBUSY => wait(table, mutex, real),
        result => result,
    }
}

#[cold]
fn wait(table: Table, mutex: *const pthread_mutex_t, real: impl Fn() -> c_int) -> c_int {
    waiting(table, &[object(mutex)], real, |&result| {
        Ended::by_number(result)
    })
}

interpose! {
    if waits:

    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int = |real, call| {
        lock(call, mutex, || real(mutex))
    }

    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, mutex, || real(mutex, limit))
    }

    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, mutex, || real(mutex, clock, limit))
    }

    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int = |real| {
        match table() {
            None => real(mutex),
            Some(table) => releasing(table, object(mutex), || real(mutex)),
        }
    }
}
