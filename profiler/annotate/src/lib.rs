//! Marks the intervals of a program for Evenkeel's profiler: `include/evenkeel.h` for Rust.
//!
//! A **semantic interval** is one request, transaction or statement. It may end on another thread than it began. Each
//! thread that works on it calls [`work`]. A **task** is a piece of work that waits in a queue.
//!
//! ```
//! # let (request, rows) = (7, 12);
//! evenkeel_annotate::begin(request); // this thread works for it
//! evenkeel_annotate::class(request, "checkout");
//! # let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
//! evenkeel_annotate::trace(request, header); // the span of a distributed trace that it works for
//! evenkeel_annotate::enqueue(request); // just before it is put into a queue
//! // ... on another thread:
//! evenkeel_annotate::dequeue(request);
//! evenkeel_annotate::work(request);
//! evenkeel_annotate::attribute(request, "rows", rows);
//! evenkeel_annotate::end(request);
//! ```
//!
//! Identities are numbers other than 0 and of one process, unless they went through [`shared`]. Without the profiler each
//! call costs a load and a branch.

#![no_std]

use core::ffi::{c_char, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// Filled in by the profiler: `struct evenkeel_annotations` of the header.
#[repr(C)]
struct Annotations {
    bytes: u64,
    begin: extern "C" fn(u64),
    end: extern "C" fn(u64),
    work: extern "C" fn(u64),
    enqueue: extern "C" fn(u64),
    dequeue: extern "C" fn(u64),
    class: extern "C" fn(u64, *const c_char, u64),
    attribute: extern "C" fn(u64, *const c_char, u64, i64),
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

static FOUND: AtomicPtr<Annotations> = AtomicPtr::new(ptr::null_mut());

/// Run before `main`, or when the library is loaded.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static FIND: extern "C" fn() = {
    extern "C" fn find() {
        // SAFETY: the null handle is RTLD_DEFAULT.
        let found = unsafe { dlsym(ptr::null_mut(), c"evenkeel_annotations_1".as_ptr()) };
        FOUND.store(found.cast(), Release);
    }
    find
};

#[inline(always)]
fn found() -> Option<&'static Annotations> {
    // SAFETY: null, or the agent's table, which stays.
    unsafe { FOUND.load(Relaxed).as_ref() }
}

/// An identity that means the same in all processes.
pub const fn shared(number: u64) -> u64 {
    number | 1 << 63
}

/// The interval begins, and this thread works on it.
#[inline]
pub fn begin(id: u64) {
    if let Some(found) = found() {
        (found.begin)(id);
    }
}

/// The interval ends; a thread that worked on it works on none.
#[inline]
pub fn end(id: u64) {
    if let Some(found) = found() {
        (found.end)(id);
    }
}

/// From now on this thread works on the interval; 0: on none.
#[inline]
pub fn work(id: u64) {
    if let Some(found) = found() {
        (found.work)(id);
    }
}

/// The task is about to be put into a queue.
#[inline]
pub fn enqueue(task: u64) {
    if let Some(found) = found() {
        (found.enqueue)(task);
    }
}

/// The task was just taken out of a queue.
#[inline]
pub fn dequeue(task: u64) {
    if let Some(found) = found() {
        (found.dequeue)(task);
    }
}

/// Sets the class of the interval, while it runs.
#[inline]
pub fn class(id: u64, name: &str) {
    if let Some(found) = found() {
        (found.class)(id, name.as_ptr().cast(), name.len() as u64);
    }
}

/// Sets the span of a distributed trace that the interval belongs to, while it runs. The text is W3C's `traceparent`:
/// requests have it in the header of that name, and OpenTelemetry's propagators write it.
#[inline]
pub fn trace(id: u64, traceparent: &str) {
    // What a traceparent is, its form says: it travels as a class does, and an interval has both.
    class(id, traceparent);
}

/// A number that may explain the interval's latency: set while it runs.
#[inline]
pub fn attribute(id: u64, name: &str, value: i64) {
    if let Some(found) = found() {
        (found.attribute)(id, name.as_ptr().cast(), name.len() as u64, value);
    }
}
