//! POSIX semaphores, of one process and of several, with names and without.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::{clockid_t, sem_t, timespec};

use super::objects::Object;
use super::releasing::releasing;
use super::switch::{Table, table};
use super::waiting::{Ended, waiting};
use crate::interpose::interpose;
use crate::replacement::Call;

/// Offset of `private` in glibc's `struct new_sem`: 0 for semaphores of one process.
const SHARED_AT: usize = 8;

#[inline(always)]
fn object(semaphore: *const sem_t) -> Object {
    // SAFETY: the caller's semaphore.
    let shared = unsafe {
        semaphore
            .byte_add(SHARED_AT)
            .cast::<c_int>()
            .read_volatile()
    };
    Object::at(ObjectKind::Semaphore, semaphore, shared != 0)
}

#[inline(always)]
fn wait(call: &Call, semaphore: *mut sem_t, real: impl Fn() -> c_int) -> c_int {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's semaphore; a try that fails must not show in errno.
    unsafe {
        let errno = *libc::__errno_location();
        if call.attempt(|| libc::sem_trywait(semaphore), |result| result == 0) == 0 {
            return 0;
        }
        *libc::__errno_location() = errno;
    }
    block(table, semaphore, real)
}

#[cold]
fn block(table: Table, semaphore: *const sem_t, real: impl Fn() -> c_int) -> c_int {
    waiting(table, &[object(semaphore)], real, |&result| {
        Ended::by_errno(result as isize)
    })
}

interpose! {
    if waits:

    fn sem_wait(semaphore: *mut sem_t) -> c_int = |real, call| {
        wait(call, semaphore, || real(semaphore))
    }

    fn sem_timedwait(semaphore: *mut sem_t, limit: *const timespec) -> c_int = |real, call| {
        wait(call, semaphore, || real(semaphore, limit))
    }

    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, limit: *const timespec) -> c_int = |real, call| {
        wait(call, semaphore, || real(semaphore, clock, limit))
    }

    fn sem_post(semaphore: *mut sem_t) -> c_int = |real| {
        match table() {
            None => real(semaphore),
            Some(table) => releasing(table, object(semaphore), || real(semaphore)),
        }
    }
}
