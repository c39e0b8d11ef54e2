//! Threads that share the thread-local memory of their creator: `clone` with `CLONE_VM` and without `CLONE_SETTLS`.
//!
//! The C library permits no such threads, but programs make them that use little of it. Calls in flight are kept in
//! thread-local memory, so the two threads cannot be told apart: the process leaves the session before the thread begins.
//! A child that its parent waits for (`CLONE_VFORK`) is no such thread. Seen where it goes through the C library.

use core::ffi::{c_int, c_void};

use evenkeel_wire::Frozen;

use crate::errno::keeping_errno;
use crate::interpose::interpose;
use crate::{arena, plan};

type Run = extern "C" fn(*mut c_void) -> c_int;

fn shares_memory(flags: c_int) -> bool {
    flags & (libc::CLONE_VM | libc::CLONE_SETTLS | libc::CLONE_VFORK) == libc::CLONE_VM
}

interpose! {
    fn clone(run: Run, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: *mut c_int, tls: *mut c_void, child: *mut c_int) -> c_int = |real| {
        if shares_memory(flags) {
            keeping_errno(|| plan::leave_session(arena::get(), Frozen::SharedThread));
        }
        real(run, stack, flags, argument, parent, tls, child)
    }
}
