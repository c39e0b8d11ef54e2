//! Programs that lock their memory (`mlockall`), as `memcached -k`, MariaDB's `--memlock` and Java servers do.
//!
//! The arena takes two gigabytes of addresses, nearly none of them memory. A lock makes memory of them all: the kernel
//! fills each page and keeps it, and counts it against `RLIMIT_MEMLOCK`. So the arena is never locked. Where memory is
//! locked already, the arena is mapped without rights, which the kernel cannot fill, and unlocked before it gets them.
//! What locks memory later leaves it out ([`crate::locking`]).

use core::ffi::{c_int, c_void};
use core::ptr;

use evenkeel_patch::kernel;
use evenkeel_wire::ARENA_BYTES;
use libc::{MAP_FAILED, PROT_NONE, PROT_READ, PROT_WRITE};

use crate::lines::Lines;

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
