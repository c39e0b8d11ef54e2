//! Limits of the address space that the target sets itself (`RLIMIT_AS`), as vsftpd's sessions do.
//!
//! Such a limit is meant for the target's own memory. The arena takes two gigabytes of addresses, nearly none of them memory, and stays
//! mapped after the session. So the limit is raised by what is the profiler's.

use core::ffi::c_int;
use core::mem::zeroed;

use evenkeel_wire::ARENA_BYTES;
use libc::{RLIM_INFINITY, rlim_t, rlimit};

use crate::arena;
use crate::errno::keeping_errno;
use crate::interpose::interpose;

/// Addresses that the profiler takes: the arena; and trampolines, the agent's code and stacks, by far.
const OURS_BYTES: rlim_t = ARENA_BYTES as rlim_t + (64 << 20);

/// The limit to set instead of this one; `None` if this one can be set unchanged.
///
/// # Safety
/// `limit` is null or a limit.
unsafe fn raised(resource: c_int, limit: *const rlimit) -> Option<rlimit> {
    if resource != libc::RLIMIT_AS as c_int || limit.is_null() || !arena::get().is_mapped() {
        return None;
    }
    // SAFETY: the caller's contract, and a limit to write to.
    let (limit, now) = unsafe {
        let mut now: rlimit = zeroed();
        keeping_errno(|| libc::getrlimit(libc::RLIMIT_AS, &raw mut now));
        (*limit, now)
    };
    let more = |bytes: rlim_t| match bytes {
        RLIM_INFINITY => RLIM_INFINITY,
        bytes => bytes.saturating_add(OURS_BYTES),
    };
    // Only a privileged process may raise its hard limit.
    let most = now.rlim_max.max(limit.rlim_max);
    let rlim_max = more(limit.rlim_max).min(most);
    let rlim_cur = more(limit.rlim_cur).min(rlim_max);
    Some(rlimit { rlim_cur, rlim_max })
}

/// Which limit the C library's function is given.
fn chosen(raised: &Option<rlimit>, limit: *const rlimit) -> *const rlimit {
    raised.as_ref().map_or(limit, |raised| raised)
}

interpose! {
    fn setrlimit(resource: c_int, limit: *const rlimit) -> c_int = |real| {
        // SAFETY: the caller's argument.
        let raised = unsafe { raised(resource, limit) };
        real(resource, chosen(&raised, limit))
    }

    fn setrlimit64(resource: c_int, limit: *const rlimit) -> c_int = |real| {
        // SAFETY: the caller's argument.
        let raised = unsafe { raised(resource, limit) };
        real(resource, chosen(&raised, limit))
    }

    fn prlimit(pid: libc::pid_t, resource: c_int, limit: *const rlimit, old: *mut rlimit) -> c_int = |real| {
        // SAFETY: the caller's argument.
        let raised = if pid == 0 { unsafe { raised(resource, limit) } } else { None };
        real(pid, resource, chosen(&raised, limit), old)
    }

    fn prlimit64(pid: libc::pid_t, resource: c_int, limit: *const rlimit, old: *mut rlimit) -> c_int = |real| {
        // SAFETY: the caller's argument.
        let raised = if pid == 0 { unsafe { raised(resource, limit) } } else { None };
        real(pid, resource, chosen(&raised, limit), old)
    }
}
