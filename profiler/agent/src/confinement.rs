//! Programs that give up system calls (seccomp(2)) or the right to change code (`PR_SET_MDWE`), as servers do once they have
//! started.
//!
//! A filter answers a call that the program itself never makes with an error, or ends the program. So before a filter
//! is installed the code is brought in line with the plan for the last time, and the session is notified. From then
//! on no system call is made for the profiler: hooks stay, and threads take prepared resources. The installation is
//! seen where it goes through the C library: `prctl`, or `syscall` as libseccomp does. Where the session finds an
//! inline instruction that may do it, the process is treated as filtered from its start ([`plan::expect_filter`]).
//! Anything else the session sees from outside, a moment late.

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::Ordering::*;

use evenkeel_patch::kernel;
use evenkeel_wire::{Control, Frozen};

use crate::code_state::is_frozen;
use crate::errno::keeping_errno;
use crate::interpose::interpose;
use crate::next::next;
use crate::replacement::Call;
use crate::{arena, code_state, plan, threads};

const PR_SET_MDWE: c_int = 65;
const SECCOMP_SET_MODE_FILTER: u64 = 1;

next! {
    fn real_syscall = syscall(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64) -> c_long;
}

/// Forbids changes of the code from now on, for this reason.
pub fn freeze(why: Frozen) {
    let arena = arena::get();
    if !arena.is_mapped() || is_frozen() {
        return;
    }
    plan::freeze(arena);
    count(arena.control(), why).fetch_add(1, Relaxed);
}

fn count(control: &Control, why: Frozen) -> &core::sync::atomic::AtomicU32 {
    &control.frozen[why as usize]
}

/// Around what may confine the process: ready before it, and as it was if nothing came of it.
fn confining(install: impl FnOnce() -> c_long) -> c_long {
    let arena = arena::get();
    if !arena.is_mapped() || kernel::is_confined() {
        return install();
    }
    let was_frozen = is_frozen();
    keeping_errno(|| plan::confine(arena));
    let answer = install();
    if answer == 0 {
        count(arena.control(), Frozen::Filter).fetch_add(1, Relaxed);
    } else {
        kernel::confine(false);
        if !was_frozen {
            code_state::set_frozen(false);
        }
    }
    answer
}

/// `syscall(SYS_seccomp, ...)` and `syscall(SYS_prctl, ...)`.
pub extern "C" fn confine(call: &Call) -> c_long {
    let [number, a, b, c, d, e, _] = call.arguments;
    // SAFETY: the caller's arguments.
    let install = || call.run(|| unsafe { real_syscall(number as c_long, a, b, c, d, e) });
    let confines = match number as c_long {
        libc::SYS_seccomp => a <= SECCOMP_SET_MODE_FILTER,
        _ => a as c_int == libc::PR_SET_SECCOMP,
    };
    if confines {
        confining(install)
    } else {
        install()
    }
}

interpose! {
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int = |real| {
        if option == PR_SET_MDWE {
            keeping_errno(|| freeze(Frozen::WriteExecute));
        }
        if option == libc::PR_SET_SECCOMP {
            return confining(|| real(option, a, b, c, d).into()) as c_int;
        }
        real(option, a, b, c, d)
    }
}

/// The child is another process, whose first thread has its number.
pub fn after_fork_in_child() {
    if kernel::is_confined() {
        kernel::set_process(threads::thread_id());
    }
}
