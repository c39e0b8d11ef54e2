//! Signal masks never block SIGTRAP while hooks may be in place: the kernel kills a process that meets a breakpoint with
//! the signal blocked. Everything else about masks is the C library's. The functions that wait under another mask are among
//! `waits`.
//!
//! The signals of faults stay blocked if the program blocks them. A fault with its signal blocked ends the process,
//! so a thread that blocks SIGSEGV, SIGBUS or SIGILL is not saved from a fault of the agent. Unblocking them would
//! show the program signals from others that it has blocked.

use core::ffi::{c_int, c_long};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::*};

use evenkeel_patch::kernel::is_readable;
use libc::sigset_t;

use crate::interpose::interpose;
use crate::next::next;
use crate::replacement::Call;

next! {
    fn real_sigmask = pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
    fn real_syscall = syscall(number: c_long, how: u64, set: *const u64, old: u64, bytes: u64) -> c_long;
}

/// SIGTRAP in a set of the kernel's.
const TRAP: u64 = 1 << (libc::SIGTRAP - 1);

/// Whether SIGTRAP is the agent's: masks and handlers must leave it alone.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether masks and handlers must leave SIGTRAP alone.
pub fn active() -> bool {
    ACTIVE.load(Relaxed)
}

/// From now on SIGTRAP is never blocked.
pub fn keep_trap_open() {
    let mut trap = empty();
    // SAFETY: a local set.
    unsafe { libc::sigaddset(&mut trap, libc::SIGTRAP) };
    ACTIVE.store(true, Release);
    // SAFETY: the set above.
    unsafe { real_sigmask(libc::SIG_UNBLOCK, &trap, ptr::null_mut()) };
}

#[cfg(target_arch = "x86_64")] // Elsewhere nobody reads what longjmp puts back.
/// A mask that was saved before SIGTRAP became the agent's, and is about to be put back.
///
/// # Safety
/// `mask` is the first word of a set of the kernel's.
pub unsafe fn open_saved(mask: *mut u64) {
    if active() {
        // SAFETY: the caller's contract.
        unsafe { *mask &= !TRAP };
    }
}

/// Blocks the signals of a set in this thread, but for SIGTRAP.
pub fn block(set: &sigset_t) {
    let mut copy = empty();
    // SAFETY: a set of the caller's.
    unsafe { real_sigmask(libc::SIG_BLOCK, passing(set, &mut copy), ptr::null_mut()) };
}

/// No signals.
pub fn empty() -> sigset_t {
    // SAFETY: zero is the empty set in glibc.
    unsafe { zeroed() }
}

/// `set` without SIGTRAP, if it must be left out.
///
/// # Safety
/// `set` is null or points to a set.
pub unsafe fn passing(set: *const sigset_t, copy: &mut sigset_t) -> *const sigset_t {
    if set.is_null() || !active() {
        return set;
    }
    // SAFETY: the caller's contract.
    unsafe {
        *copy = *set;
        libc::sigdelset(copy, libc::SIGTRAP);
    }
    copy
}

/// As [`passing`], of a set that is to be blocked, unblocked, or made the mask.
unsafe fn changing(how: c_int, set: *const sigset_t, copy: &mut sigset_t) -> *const sigset_t {
    if how == libc::SIG_UNBLOCK {
        return set;
    }
    // SAFETY: the caller's contract.
    unsafe { passing(set, copy) }
}

/// `syscall(SYS_rt_sigprocmask, ...)`. The kernel's sets have `bytes` bytes, which the C library's begin with.
pub extern "C" fn change_mask(call: &Call) -> c_long {
    let [number, how, set, old, bytes, ..] = call.arguments;
    let (number, set) = (number as c_long, set as *const u64);
    // SAFETY: the caller's arguments, but for the set.
    let real = |set| call.run(|| unsafe { real_syscall(number, how, set, old, bytes) });
    let copy;
    let mut passed = set;
    if active() && !set.is_null() && bytes == 8 && how as c_int != libc::SIG_UNBLOCK {
        // SAFETY: the caller's set; the kernel rejects a wild pointer.
        if !is_readable(set as u64) {
            return real(set);
        }
        copy = unsafe { set.read_unaligned() } & !TRAP;
        passed = &copy;
    }
    real(passed)
}

interpose! {
    fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        real(how, unsafe { changing(how, set, &mut copy) }, old)
    }

    fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        real(how, unsafe { changing(how, set, &mut copy) }, old)
    }
}
