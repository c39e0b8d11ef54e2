//! Threads and processes: their creators, and waits for their end.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use evenkeel_patch::thread;
use evenkeel_wire::ObjectKind;
use evenkeel_wire::now_ticks;
use libc::{clockid_t, pthread_attr_t, pthread_t, timespec};

use super::descriptors;
use super::groups;
use super::memory;
use super::mix::mix;
use super::objects::{self, Object, local};
use super::switch::{Table, table};
use super::waiting::{self, Ended, waiting};
use crate::arch::start::thread_entry;
use crate::errno::keeping_errno;
use crate::interpose::interpose;
use crate::replacement::Call;
use crate::threads;

/// Threads that can be between their creation and their first instruction at once; further ones begin unrecorded.
const STARTS_MAX: usize = 256;

type StartRoutine = extern "C" fn(*mut c_void) -> *mut c_void;

/// The start of a thread that is being created; [`thread_entry`] gets it.
#[repr(C)]
pub struct ThreadStart {
    /// The function that `thread_entry` calls; first, where it looks for it.
    began: extern "C" fn(&ThreadStart) -> Routine,
    taken: AtomicBool,
    routine: AtomicU64,
    argument: AtomicU64,
    key: AtomicU64,
}

static STARTS: [ThreadStart; STARTS_MAX] = [const {
    ThreadStart {
        began,
        taken: AtomicBool::new(false),
        routine: AtomicU64::new(0),
        argument: AtomicU64::new(0),
        key: AtomicU64::new(0),
    }
}; STARTS_MAX];

/// Threads and processes created.
static CREATED: AtomicU64 = AtomicU64::new(0);
/// The key of the process that is being forked.
static FORKED: AtomicU64 = AtomicU64::new(0);

fn fresh_key() -> u64 {
    mix(
        local(ObjectKind::Thread as u64),
        CREATED.fetch_add(1, Relaxed) + 1,
    )
}

fn take_start() -> Option<&'static ThreadStart> {
    STARTS
        .iter()
        .find(|start| !start.taken.load(Relaxed) && !start.taken.swap(true, Acquire))
}

/// Continuation of `thread_entry`.
#[repr(C)]
pub struct Routine {
    routine: u64,
    argument: u64,
}

/// A thread begins.
extern "C" fn began(start: &ThreadStart) -> Routine {
    let routine = Routine {
        routine: start.routine.load(Relaxed),
        argument: start.argument.load(Relaxed),
    };
    let key = start.key.load(Relaxed);
    start.taken.store(false, Release);
    keeping_errno(|| {
        // Also where nothing is recorded now: its end may be waited for when something is.
        threads::watch_end();
        groups::dequeue(ObjectKind::Thread, key, now_ticks());
    });
    routine
}

fn record_creation(key: u64) {
    keeping_errno(|| groups::enqueue(ObjectKind::Thread, key, now_ticks()));
}

/// The process is about to fork.
pub fn before_fork() {
    if table().is_some() {
        let key = fresh_key();
        FORKED.store(key, Relaxed);
        record_creation(key);
    }
}

/// In the child.
pub fn after_fork_in_child() {
    if table().is_none() {
        return;
    }
    objects::renew_salt();
    memory::after_fork_in_child();
    descriptors::after_fork_in_child();
    let thread = thread::current();
    waiting::forget(thread, false);
    thread.work = 0;
    for start in &STARTS {
        start.taken.store(false, Relaxed);
    }
    let key = FORKED.swap(0, Relaxed);
    if key != 0 {
        groups::dequeue(ObjectKind::Thread, key, now_ticks());
    }
}

/// The calling thread ends; its ring is still its own.
pub fn before_end() {
    if table().is_none() {
        return;
    }
    waiting::forget(thread::current(), true);
    // SAFETY: no arguments.
    let own = unsafe { libc::pthread_self() };
    groups::wake(ObjectKind::Join, join_object(own).key(), now_ticks());
}

fn join_object(thread: pthread_t) -> Object {
    Object::of(
        ObjectKind::Join,
        mix(local(ObjectKind::Join as u64), thread),
    )
}

/// Waits for the end of a thread, if it has not ended.
fn join(
    call: &Call,
    thread: pthread_t,
    result: *mut *mut c_void,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's thread, which nobody else may join.
    let attempt = || unsafe { libc::pthread_tryjoin_np(thread, result) };
    match call.attempt(attempt, |number| number == 0) {
        libc::EBUSY => wait_for(table, thread, real),
        // A thread that would wait for itself, and what else there is to complain about.
        number if number != 0 => real(),
        joined => joined,
    }
}

fn wait_for(table: Table, thread: pthread_t, real: impl FnOnce() -> c_int) -> c_int {
    waiting(table, &[join_object(thread)], real, |&result| {
        Ended::by_number(result)
    })
}

interpose! {
    fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, routine: StartRoutine, argument: *mut c_void) -> c_int = |real| {
        if table().is_none() {
            return real(thread, attributes, routine, argument);
        }
        let key = fresh_key();
        record_creation(key);
        let Some(start) = take_start() else {
            return real(thread, attributes, routine, argument);
        };
        start.routine.store(routine as usize as u64, Relaxed);
        start.argument.store(argument as u64, Relaxed);
        start.key.store(key, Relaxed);
        // SAFETY: a function of this type, but for being unsafe.
        let ours: StartRoutine = unsafe { core::mem::transmute(thread_entry as *const ()) };
        let result = real(thread, attributes, ours, ptr::from_ref(start).cast_mut().cast());
        if result != 0 {
            start.taken.store(false, Release);
        }
        result
    }

    fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int = |real, call| {
        join(call, thread, result, || real(thread, result))
    }

    fn pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, limit: *const timespec) -> c_int = |real, call| {
        join(call, thread, result, || real(thread, result, limit))
    }

    fn pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, limit: *const timespec) -> c_int = |real, call| {
        join(call, thread, result, || real(thread, result, clock, limit))
    }
}
