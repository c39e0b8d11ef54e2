//! The loader's list of files, and the lock that keeps it.
//!
//! `dl_iterate_phdr` takes a lock that other threads hold while they add or remove files, or iterate themselves. A
//! forked child has only the thread that forked. If another thread held the lock at the fork, no thread releases it in
//! the child, and a caller would wait for ever. (glibc restores the loader's other locks in the child: posix/fork.c,
//! `fork_system_setup`.) So a child checks the lock first, and does without the list if the lock is held.
//!
//! The lock is internal to the loader, and has no name. It is found by its behaviour: it is a recursive mutex in the
//! loader's memory that the calling thread holds while it iterates.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering::*};

use crate::threads;

/// The used part of glibc's mutex (bits/struct_mutex.h; the same for all 64-bit processors).
#[repr(C)]
struct Mutex {
    lock: AtomicI32,
    count: AtomicU32,
    owner: AtomicI32,
    users: AtomicU32,
    kind: AtomicI32,
}

/// Locks that a thread may hold while it is shown the list: that of the list, and those of a library that it is just opening.
const LOCKS_MAX: usize = 4;

static LOCKS: [AtomicPtr<Mutex>; LOCKS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; LOCKS_MAX];
/// The list's lock belongs to a thread that does not exist in this process.
static NEVER_FREE: AtomicBool = AtomicBool::new(false);

/// The function that `dl_iterate_phdr` calls.
pub type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// Shows each file of the list to `callback`, with `data`. None where the list cannot be had.
///
/// # Safety
/// As for `dl_iterate_phdr`: the callback takes this data.
pub unsafe fn each_file(callback: Callback, data: *mut c_void) {
    if !NEVER_FREE.load(Relaxed) {
        // SAFETY: the caller's.
        unsafe { libc::dl_iterate_phdr(Some(callback), data) };
    }
}

/// Finds the lock, for later children.
pub fn find_lock() {
    let mut own = threads::thread_id();
    // SAFETY: the callback takes a number.
    unsafe { each_file(find, (&raw mut own).cast()) };
}

/// In a child: whether the list can be had there.
pub fn is_free_after_fork() -> bool {
    let locks = LOCKS.iter().map(|lock| lock.load(Relaxed));
    // SAFETY: words of the loader, which is never unmapped.
    let mut locks = locks.filter_map(|lock| unsafe { lock.as_ref() });
    let is_held = locks.any(|lock| lock.lock.load(Relaxed) != 0);
    NEVER_FREE.store(is_held, Relaxed);
    !is_held
}

/// For `dl_iterate_phdr`: if this is the loader, notes which of its mutexes the thread holds.
unsafe extern "C" fn find(info: *mut libc::dl_phdr_info, _: usize, own: *mut c_void) -> c_int {
    // SAFETY: the loader's structure and name, and the number that is passed.
    let (info, own) = unsafe { (&*info, *own.cast::<i32>()) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: zero-terminated.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next();
    if !file.is_some_and(|file| file.starts_with(b"ld-")) {
        return 0;
    }
    // SAFETY: the loader's table of its program headers.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let writable = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0);
    let mut places = LOCKS.iter();
    for header in writable {
        let begin = (info.dlpi_addr + header.p_vaddr).next_multiple_of(8);
        let end = info.dlpi_addr + header.p_vaddr + header.p_memsz;
        let last = end.saturating_sub(size_of::<Mutex>() as u64);
        for at in (begin..last).step_by(8) {
            // SAFETY: within a mapped segment of the loader's data, aligned, and any words are such a mutex.
            let mutex = unsafe { &*(at as *const Mutex) };
            if is_held(mutex, own)
                && let Some(place) = places.next()
            {
                place.store(at as *mut Mutex, Relaxed);
            }
        }
    }
    1
}

/// Whether these words are a recursive mutex that the thread holds.
fn is_held(mutex: &Mutex, own: i32) -> bool {
    /// `PTHREAD_MUTEX_RECURSIVE_NP`.
    const RECURSIVE: i32 = 1;
    /// Most times that one thread may hold it; a larger number is no count.
    const TIMES_MAX: u32 = 64;
    mutex.owner.load(Relaxed) == own
        && matches!(mutex.lock.load(Relaxed), 1 | 2)
        && (1..=TIMES_MAX).contains(&mutex.count.load(Relaxed))
        && mutex.users.load(Relaxed) == 1
        && mutex.kind.load(Relaxed) == RECURSIVE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C library of the tests has such a lock, which is held while the list is shown and at no other time.
    #[test]
    fn the_lock_is_found() {
        find_lock();
        let found = || LOCKS.iter().map(|lock| lock.load(Relaxed));
        assert!(found().any(|lock| !lock.is_null()));
        // Other tests' threads may be shown the list, too, but not all the time.
        let is_free = (0..1000).any(|_| {
            // SAFETY: the loader's words.
            let mut locks = found().filter_map(|lock| unsafe { lock.as_ref() });
            locks.all(|lock| lock.lock.load(Relaxed) == 0)
        });
        assert!(is_free);
    }
}
