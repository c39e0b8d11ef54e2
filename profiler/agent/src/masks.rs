//! Signal masks never block SIGTRAP while hooks may be in place: the kernel kills a process that meets a breakpoint with
//! the signal blocked. Everything else about masks is the C library's.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;

use crate::signals::{Next, active};

static PTHREAD_SIGMASK: Next = Next::of(c"pthread_sigmask");
static SIGPROCMASK: Next = Next::of(c"sigprocmask");
static SIGSUSPEND: Next = Next::of(c"sigsuspend");
static PPOLL: Next = Next::of(c"ppoll");
static PSELECT: Next = Next::of(c"pselect");
static EPOLL_PWAIT: Next = Next::of(c"epoll_pwait");

/// Finds the C library's functions behind ours.
pub fn look_up() {
    for function in [
        &PTHREAD_SIGMASK,
        &SIGPROCMASK,
        &SIGSUSPEND,
        &PPOLL,
        &PSELECT,
        &EPOLL_PWAIT,
    ] {
        function.look_up();
    }
}

/// No signals.
pub fn empty() -> libc::sigset_t {
    // SAFETY: zero is the empty set in glibc.
    unsafe { zeroed() }
}

/// `set` without SIGTRAP, if it must be left out.
///
/// # Safety
/// `set` is null or points to a set.
unsafe fn passing(set: *const libc::sigset_t, copy: &mut libc::sigset_t) -> *const libc::sigset_t {
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

type MaskFn = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// pthread_sigmask of the C library.
///
/// # Safety
/// As pthread_sigmask(3).
pub unsafe fn real_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the C library's function of this name and type.
    unsafe {
        let function: MaskFn = core::mem::transmute(PTHREAD_SIGMASK.get());
        function(how, set, old)
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As pthread_sigmask(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        real_sigmask(
            how,
            if how == libc::SIG_UNBLOCK {
                set
            } else {
                passing(set, &mut copy)
            },
            old,
        )
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As sigprocmask(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        let function: MaskFn = core::mem::transmute(SIGPROCMASK.get());
        function(
            how,
            if how == libc::SIG_UNBLOCK {
                set
            } else {
                passing(set, &mut copy)
            },
            old,
        )
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As sigsuspend(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const libc::sigset_t) -> c_int {
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        let function: unsafe extern "C" fn(*const libc::sigset_t) -> c_int =
            core::mem::transmute(SIGSUSPEND.get());
        function(passing(set, &mut copy))
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As ppoll(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    set: *const libc::sigset_t,
) -> c_int {
    type Ppoll = unsafe extern "C" fn(
        *mut libc::pollfd,
        libc::nfds_t,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        let function: Ppoll = core::mem::transmute(PPOLL.get());
        function(fds, count, timeout, passing(set, &mut copy))
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As pselect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *const libc::timespec,
    set: *const libc::sigset_t,
) -> c_int {
    type Pselect = unsafe extern "C" fn(
        c_int,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        let function: Pselect = core::mem::transmute(PSELECT.get());
        function(count, read, write, except, timeout, passing(set, &mut copy))
    }
}

/// As the C library's, but for SIGTRAP.
///
/// # Safety
/// As epoll_pwait(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut c_void,
    count: c_int,
    timeout: c_int,
    set: *const libc::sigset_t,
) -> c_int {
    type EpollPwait =
        unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int, *const libc::sigset_t) -> c_int;
    let mut copy = empty();
    // SAFETY: the caller's contract.
    unsafe {
        let function: EpollPwait = core::mem::transmute(EPOLL_PWAIT.get());
        function(epoll, events, count, timeout, passing(set, &mut copy))
    }
}
