//! The end of threads, and `fork`.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_patch::thread;

use crate::{arena, plan, rings};

/// Key whose destructor runs when a thread ends, plus one; 0: none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Asks the C library to tell of ends of threads and of forks.
pub fn watch() {
    let mut key = 0;
    // SAFETY: before the target's own code runs; the callbacks live as long as the process.
    unsafe {
        if libc::pthread_key_create(&mut key, Some(on_end)) == 0 {
            KEY.store(key + 1, Release);
        }
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
    }
}

/// Lets the calling thread's end be noticed.
pub fn watch_end() {
    let key = KEY.load(Relaxed);
    if key == 0 {
        return;
    }
    // SAFETY: the key exists; its value only has to be other than null.
    unsafe {
        if libc::pthread_getspecific(key - 1).is_null() {
            libc::pthread_setspecific(key - 1, ptr::dangling::<c_void>());
        }
    }
}

extern "C" fn on_end(_: *mut c_void) {
    let thread = thread::current();
    rings::release(thread);
    thread.close();
}

extern "C" fn before_fork() {
    // Children inherit the newest plan, instead of each applying it.
    plan::poll(arena::get());
    plan::lock_for_fork();
}

extern "C" fn after_fork_in_parent() {
    plan::unlock_after_fork();
}

extern "C" fn after_fork_in_child() {
    plan::unlock_after_fork();
    let thread = thread::current();
    thread.after_fork();
    rings::discard_records(thread);
    thread.retry_ticks = 0;
    if !plan::detached() {
        arena::get().control().processes_hooked.fetch_add(1, Relaxed);
    }
}
