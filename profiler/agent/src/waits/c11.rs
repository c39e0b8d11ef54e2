//! Mutexes and condition variables of C11 (`threads.h`). The C library implements them by those of POSIX with other
//! results (glibc, nptl/mtx_lock.c, nptl/cnd_wait.c), and its internal calls bypass the agent.

use core::ffi::c_int;

use libc::{pthread_cond_t, pthread_mutex_t, timespec};

use super::releasing::releasing;
use super::switch::table;
use super::waiting::{Ended, waiting};
use super::{conditions, mutexes};
use crate::interpose::interpose;
use crate::replacement::Call;

/// `thrd_success` and `thrd_timedout` of glibc's `threads.h`.
const SUCCESS: c_int = 0;
const TIMED_OUT: c_int = 4;

fn ended(result: &c_int) -> Ended {
    match *result {
        SUCCESS => Ended::Woken,
        TIMED_OUT => Ended::TimedOut,
        _ => Ended::Never,
    }
}

/// Locks without waiting if that is possible; what else a try says, the real function says in words of C11.
fn lock(call: &Call, mutex: *mut pthread_mutex_t, real: impl FnOnce() -> c_int) -> c_int {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's mutex.
    let attempt = || unsafe { libc::pthread_mutex_trylock(mutex) };
    match call.attempt(attempt, |result| result == SUCCESS) {
        0 => SUCCESS,
        libc::EBUSY => waiting(table, &[mutexes::object(mutex)], real, ended),
        _ => real(),
    }
}

interpose! {
    if waits:

    fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int = |real, call| {
        lock(call, mutex, || real(mutex))
    }

    fn mtx_timedlock(mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int = |real, call| {
        lock(call, mutex, || real(mutex, limit))
    }

    fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int = |real| {
        match table() {
            None => real(mutex),
            Some(table) => releasing(table, mutexes::object(mutex), || real(mutex)),
        }
    }

    fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = |real| {
        conditions::wait(condition, mutex, || real(condition, mutex), ended)
    }

    fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int = |real| {
        conditions::wait(condition, mutex, || real(condition, mutex, limit), ended)
    }

    fn cnd_signal(condition: *mut pthread_cond_t) -> c_int = |real| {
        conditions::wake(condition, || real(condition))
    }

    fn cnd_broadcast(condition: *mut pthread_cond_t) -> c_int = |real| {
        conditions::wake(condition, || real(condition))
    }
}
