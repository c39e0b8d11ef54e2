//! Programs that lock their memory (`mlockall`), as `memcached -k`, MariaDB's `--memlock` and Java servers do.
//!
//! The arena takes two gigabytes of addresses, nearly none of them memory. A lock makes memory of them all: the kernel
//! fills each page and keeps it, and counts it against `RLIMIT_MEMLOCK`. So the arena is never locked. Where memory is
//! locked already, the arena is mapped without rights, which the kernel cannot fill, and unlocked before it gets them.
//! `mlockall` is replaced by locks of the single mappings without it.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr;

use evenkeel_patch::arch::unwind;
use evenkeel_patch::kernel::{self, system_call};
use evenkeel_patch::region::tables;
use evenkeel_wire::ARENA_BYTES;
use libc::{MAP_FAILED, MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT, PROT_NONE, PROT_READ, PROT_WRITE};

use crate::interpose::interpose;
use crate::lines::Lines;
use crate::{arena, maps};

/// Lock pages once they are used (linux/mman.h).
const MLOCK_ONFAULT: u64 = 1;
/// Addresses from here on are the kernel's; the last line of the mappings is one of them.
const KERNEL_HALF: u64 = 1 << 63;

/// Whether this process has locked memory: a new mapping may be locked, too.
fn is_in_use() -> bool {
    let Some(file) = kernel::open(c"/proc/self/status") else {
        return false;
    };
    let mut lines = Lines::new(file);
    let mut is_locked = false;
    while let Some(line) = lines.next() {
        if let Some(amount) = line.strip_prefix(b"VmLck:") {
            is_locked = amount.iter().any(|byte| (b'1'..=b'9').contains(byte));
            break;
        }
    }
    kernel::close(file);
    is_locked
}

/// Maps the arena's memory, from a descriptor, at about this address: unlocked. With `takes_place` it takes the place of
/// the arena that is mapped there, and threads find memory there all the time. Null: the kernel refuses.
///
/// # Safety
/// With `takes_place`, an arena is mapped at `at`.
pub unsafe fn map_arena(fd: c_int, at: usize, takes_place: bool) -> *mut u8 {
    let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
    let rights = PROT_READ | PROT_WRITE;
    // SAFETY: fresh mappings, or one of our own that is replaced by its like.
    unsafe {
        if !is_in_use() {
            let fixed = if takes_place { libc::MAP_FIXED } else { 0 };
            let base = libc::mmap(
                at as *mut c_void,
                ARENA_BYTES,
                rights,
                shared | fixed,
                fd,
                0,
            );
            return not_failed(base);
        }
        let near = if takes_place { 0 } else { at };
        let base = libc::mmap(near as *mut c_void, ARENA_BYTES, PROT_NONE, shared, fd, 0);
        if base == MAP_FAILED {
            return ptr::null_mut();
        }
        if libc::munlock(base, ARENA_BYTES) != 0 || libc::mprotect(base, ARENA_BYTES, rights) != 0 {
            libc::munmap(base, ARENA_BYTES);
            return ptr::null_mut();
        }
        if !takes_place {
            return base.cast();
        }
        let moved = libc::mremap(
            base,
            ARENA_BYTES,
            ARENA_BYTES,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            at as *mut c_void,
        );
        if moved == MAP_FAILED {
            libc::munmap(base, ARENA_BYTES);
        }
        not_failed(moved)
    }
}

fn not_failed(base: *mut c_void) -> *mut u8 {
    if base == MAP_FAILED {
        return ptr::null_mut();
    }
    base.cast()
}

interpose! {
    fn mlockall(flags: c_int) -> c_int = |real| {
        let known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
        let arena = arena::get().addresses();
        let replaced = flags & MCL_CURRENT != 0 && flags & !known == 0;
        if !replaced || arena.is_empty() || kernel::is_confined() {
            return real(flags);
        }
        let answer = lock_all_but(&arena, flags & MCL_ONFAULT != 0);
        if answer != 0 {
            // SAFETY: the caller's own word.
            unsafe { *libc::__errno_location() = -answer };
            return -1;
        }
        if flags & MCL_FUTURE == 0 {
            return 0;
        }
        real(flags & !MCL_CURRENT)
    }
}

/// Locks all mappings but these addresses, other tables and trampolines; the kernel's answer. As for `mlockall` (mm/mlock.c), a
/// mapping whose memory cannot be had is no error.
fn lock_all_but(arena: &Range<u64>, is_on_use: bool) -> c_int {
    let Some(file) = kernel::open(maps::OWN) else {
        return -libc::ENOMEM;
    };
    let mut lines = Lines::new(file);
    let mut answer = 0;
    while let Some(line) = lines.next() {
        let field = line.split(|&byte| byte == b' ').next();
        let Some((low, high)) = field.and_then(maps::bounds) else {
            break;
        };
        let is_ours =
            arena.contains(&low) || tables().contains(&low) || unwind::find(low).is_some();
        if low >= KERNEL_HALF || is_ours {
            continue;
        }
        let lock = |how| {
            let arguments = [low, high - low, how, 0, 0, 0];
            // SAFETY: it changes no content.
            unsafe { system_call(libc::SYS_mlock2, arguments) as c_int }
        };
        // First what fails for lack of permission alone.
        answer = lock(MLOCK_ONFAULT);
        // Another thread has unmapped a part meanwhile, or this one may not lock so much.
        if answer == -libc::ENOMEM && kernel::is_readable(low) || answer == -libc::EPERM {
            break;
        }
        answer = 0;
        if !is_on_use {
            lock(0);
        }
    }
    kernel::close(file);
    answer
}
