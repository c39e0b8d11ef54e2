//! The end of threads, and `fork`.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use evenkeel_patch::{kernel, thread};

use crate::next::next;

next! {
    fn real_lock = pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn real_unlock = pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int;
}

/// Actions when a thread ends and when the process forks.
pub struct Handlers {
    /// On the thread, before the C library takes it down.
    pub thread_ends: fn(),
    /// In the parent.
    pub before_fork: fn(),
    /// In the parent.
    pub after_fork_in_parent: fn(),
    /// In the child, whose only thread this is.
    pub after_fork_in_child: fn(),
}

/// The handlers of [`watch`]; null before.
static HANDLERS: AtomicPtr<Handlers> = AtomicPtr::new(ptr::null_mut());

fn handlers() -> Option<&'static Handlers> {
    // SAFETY: `watch` takes handlers that live as long as the process.
    unsafe { HANDLERS.load(Acquire).as_ref() }
}

/// Key whose destructor runs when a thread ends, plus one; 0: none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// A word that is 1 here and that the kernel clears in the child of a fork: `_Fork` and raw system calls pass the C
/// library's handlers by. Null on kernels before 4.14.
static HERE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Asks the C library to report ends of threads and forks, once a process.
pub fn watch(handlers: &'static Handlers) {
    if self::handlers().is_some() {
        return;
    }
    HANDLERS.store(ptr::from_ref(handlers).cast_mut(), Release);
    // SAFETY: fresh memory.
    unsafe {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let page = libc::mmap(ptr::null_mut(), 4096, protection, flags, -1, 0);
        if page != libc::MAP_FAILED && libc::madvise(page, 4096, libc::MADV_WIPEONFORK) == 0 {
            HERE.store(page.cast(), Release);
        }
    }
    set_here();
    let mut key = 0;
    // SAFETY: before the target's own code runs; the callbacks live as long as the process.
    unsafe {
        if libc::pthread_key_create(&mut key, Some(on_end)) == 0 {
            KEY.store(key + 1, Release);
        }
        libc::pthread_atfork(
            Some(before_fork),
            Some(after_fork_in_parent),
            Some(after_fork_in_child),
        );
    }
}

/// Lets the calling thread's end be noticed.
pub fn watch_end() {
    let thread = thread::current();
    let key = KEY.load(Relaxed);
    if key == 0 {
        return;
    }
    if !thread.end_watched {
        // SAFETY: the key exists; its value only has to be other than null.
        unsafe { libc::pthread_setspecific(key - 1, ptr::dangling::<c_void>()) };
        thread.end_watched = true;
    }
    if !thread.shadow.is_null() {
        // SAFETY: it is this thread's, which gives it back at its end.
        unsafe { thread.take_part() };
    }
}

fn set_here() {
    // SAFETY: never unmapped.
    if let Some(here) = unsafe { HERE.load(Relaxed).as_ref() } {
        here.store(1, Relaxed);
    }
}

/// Whether this is the process that it was when somebody last looked: false in the child of a fork that nobody reported. The
/// child of a `vfork` shares its parent's memory and is not noticed.
pub fn is_known_process() -> bool {
    // SAFETY: never unmapped.
    unsafe { HERE.load(Relaxed).as_ref() }.is_none_or(|here| here.load(Relaxed) != 0)
}

/// Catches up on a fork that nobody reported.
pub fn notice_fork() {
    if !is_known_process() {
        after_fork_in_child();
    }
}

extern "C" fn on_end(_: *mut c_void) {
    if let Some(handlers) = handlers() {
        (handlers.thread_ends)();
    }
}

extern "C" fn before_fork() {
    if let Some(handlers) = handlers() {
        (handlers.before_fork)();
    }
}

extern "C" fn after_fork_in_parent() {
    if let Some(handlers) = handlers() {
        (handlers.after_fork_in_parent)();
    }
}

extern "C" fn after_fork_in_child() {
    set_here();
    if let Some(handlers) = handlers() {
        (handlers.after_fork_in_child)();
    }
}

/// The calling thread. Where the kernel must not be asked, a mutex of glibc supplies it: it stores its holder.
pub fn thread_id() -> i32 {
    if !kernel::is_confined() {
        // SAFETY: no arguments.
        return unsafe { libc::syscall(libc::SYS_gettid) as i32 };
    }
    /// Where `__owner` lies in glibc's mutex (bits/struct_mutex.h).
    const OWNER_AT: usize = 8;
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let at = &raw mut mutex;
    // SAFETY: a mutex of this function's own, which nobody else contends for.
    unsafe {
        real_lock(at);
        let owner = at.cast::<u8>().add(OWNER_AT).cast::<i32>().read_volatile();
        real_unlock(at);
        owner
    }
}
