//! Barriers: every thread that arrives may be the last, for which the others wait.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use libc::pthread_barrier_t;

use super::objects::Object;
use super::releasing::record_if_waited_for;
use super::switch::table;
use super::waiting::{Ended, sleeping};
use crate::interpose::interpose;

/// Offset of `shared` in glibc's `struct pthread_barrier`: not 0 for barriers of several processes.
const SHARED_AT: usize = 12;

fn object(barrier: *const pthread_barrier_t) -> Object {
    // SAFETY: the caller's barrier.
    let shared = unsafe { barrier.byte_add(SHARED_AT).cast::<c_int>().read_volatile() };
    Object::at(ObjectKind::Barrier, barrier, shared != 0)
}

interpose! {
    if waits:

    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int = |real| {
        let Some(table) = table() else { return real(barrier) };
        let object = object(barrier);
        record_if_waited_for(table, object);
        sleeping(table, &[object], || real(barrier), |_| Ended::Woken)
    }
}
