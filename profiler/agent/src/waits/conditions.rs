//! Condition variables. Their functions have two versions in the C library; programs of this millennium use 2.3.2.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

use super::mutexes;
use super::objects::Object;
use super::releasing::{record_if_waited_for, releasing};
use super::switch::table;
use super::waiting::{Ended, waiting};
use crate::arch::versions::CONDITIONS;
use crate::interpose::interpose;

/// Where glibc keeps whether a condition variable is shared changed over time: all are taken for shared.
fn object(condition: *const pthread_cond_t) -> Object {
    Object::at(ObjectKind::Condition, condition, true)
}

/// Waits: releases the mutex, waits for the condition, acquires the mutex. The thread is counted in for both, as it
/// may be the one or the other that keeps it.
pub fn wait(
    condition: *const pthread_cond_t,
    mutex: *const pthread_mutex_t,
    real: impl FnOnce() -> c_int,
    ended: impl FnOnce(&c_int) -> Ended,
) -> c_int {
    let Some(table) = table() else { return real() };
    let mutex = mutexes::object(mutex);
    record_if_waited_for(table, mutex);
    waiting(table, &[object(condition), mutex], real, ended)
}

/// The end of a wait, for functions that return an error number.
fn by_number(result: &c_int) -> Ended {
    Ended::by_number(*result)
}

/// Wakes one or all.
pub fn wake(condition: *const pthread_cond_t, real: impl FnOnce() -> c_int) -> c_int {
    match table() {
        None => real(),
        Some(table) => releasing(table, object(condition), real),
    }
}

interpose! {
    if waits:

    fn pthread_cond_wait @ CONDITIONS (condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = |real| {
        wait(condition, mutex, || real(condition, mutex), by_number)
    }

    fn pthread_cond_timedwait @ CONDITIONS (condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: *const timespec) -> c_int = |real| {
        wait(condition, mutex, || real(condition, mutex, limit), by_number)
    }

    fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec) -> c_int = |real| {
        wait(condition, mutex, || real(condition, mutex, clock, limit), by_number)
    }

    fn pthread_cond_signal @ CONDITIONS (condition: *mut pthread_cond_t) -> c_int = |real| {
        wake(condition, || real(condition))
    }

    fn pthread_cond_broadcast @ CONDITIONS (condition: *mut pthread_cond_t) -> c_int = |real| {
        wake(condition, || real(condition))
    }
}
