//! Child processes: waits for their end, and their ends.

use core::ffi::c_int;

use evenkeel_patch::kernel;
use evenkeel_wire::ObjectKind;
use evenkeel_wire::now_ticks;
use libc::{id_t, idtype_t, pid_t, rusage, siginfo_t};

use super::objects::{self, Object};
use super::releasing;
use super::switch::table_for_writing as table;
use super::waiting::{Ended, sleeping_for};
use crate::interpose::interpose;

/// Waits for a child; which one is known afterwards.
fn wait_for(real: impl FnOnce() -> pid_t) -> pid_t {
    if table().is_none() {
        return real();
    }
    sleeping_for(
        real,
        |&child| Object::of(ObjectKind::Child, objects::child_key(child)),
        |&child| match child {
            0 => Ended::Never,
            child => Ended::by_errno(child as isize),
        },
    )
}

fn wait_id(info: *const siginfo_t, real: impl FnOnce() -> c_int) -> c_int {
    if table().is_none() {
        return real();
    }
    // SAFETY: the caller's structure, if there is one, which the kernel has filled in.
    let child = || unsafe { info.as_ref().map_or(0, |info| info.si_pid()) };
    sleeping_for(
        real,
        |_| Object::of(ObjectKind::Child, objects::child_key(child())),
        |&result| Ended::by_errno(result as isize),
    )
}

/// The process ends by itself, which releases its waiter. The child of a `vfork` is not this process.
fn end() {
    if table().is_some() && objects::is_own_process() {
        let own = objects::child_key(kernel::process_id());
        releasing::record_release(Object::of(ObjectKind::Child, own), now_ticks());
    }
}

/// Run by the loader when the process ends by `exit` or by returning from `main`.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = {
    extern "C" fn finish() {
        end();
    }
    finish
};

interpose! {
    if waits:

    fn wait(status: *mut c_int) -> pid_t = |real| {
        wait_for(|| real(status))
    }

    fn waitpid(child: pid_t, status: *mut c_int, options: c_int) -> pid_t = |real| {
        wait_for(|| real(child, status, options))
    }

    fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = |real| {
        wait_for(|| real(status, options, usage))
    }

    fn wait4(child: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = |real| {
        wait_for(|| real(child, status, options, usage))
    }

    fn waitid(which: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int = |real| {
        wait_id(info, || real(which, id, info, options))
    }

    fn _exit(status: c_int) -> c_int = |real| {
        end();
        real(status)
    }

    fn _Exit(status: c_int) -> c_int = |real| {
        end();
        real(status)
    }
}
