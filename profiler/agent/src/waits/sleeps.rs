//! Waiting for a time.

use core::ffi::{c_int, c_uint};

use evenkeel_wire::ObjectKind;
use libc::{clockid_t, timespec, useconds_t};

use super::objects::Object;
use super::switch::table_for_writing as table;
use super::waiting::{Ended, sleeping_for};
use crate::interpose::interpose;

fn sleep<R>(real: impl FnOnce() -> R, interrupted: impl FnOnce(&R) -> bool) -> R {
    if table().is_none() {
        return real();
    }
    let timer = |_: &R| Object::of(ObjectKind::Timer, 0);
    sleeping_for(real, timer, |result| {
        if interrupted(result) {
            Ended::Interrupted
        } else {
            Ended::Woken
        }
    })
}

interpose! {
    if waits:

    fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int = |real| {
        self::sleep(|| real(time, rest), |&result| result != 0)
    }

    fn clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, rest: *mut timespec) -> c_int = |real| {
        self::sleep(|| real(clock, flags, time, rest), |&result| result != 0)
    }

    fn usleep(time: useconds_t) -> c_int = |real| {
        self::sleep(|| real(time), |&result| result != 0)
    }
}

/// `sleep` itself: the name is taken.
mod seconds {
    use super::*;

    interpose! {
        if waits:

        fn sleep(time: c_uint) -> c_uint = |real| {
            super::sleep(|| real(time), |&rest| rest != 0)
        }
    }
}
