//! Programs that give up system calls (seccomp(2)) or the right to change code (`PR_SET_MDWE`), as servers do once they have
//! started.
//!
//! A filter answers a call that the program itself never makes with an error, or with its end. So before one is installed the
//! code is brought in line with the plan for the last time, and from then on no system call is made for the profiler's
//! sake: hooks stay as they are, threads take what was laid in for them, and the session is told. What installs a filter
//! is seen where it goes through the C library: `prctl`, or `syscall` as libseccomp does. Where the session finds an instruction of
//! the program's own that may do it, the process is treated as if it had, from its start on ([`expect_any_time`]). What neither
//! shows, the session sees from outside, a moment late ([`obey`]).

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::{AtomicBool, Ordering::*};

use evenkeel_patch::kernel;
use evenkeel_patch::shadow::Shadow;
use evenkeel_wire::{Control, Frozen};

use crate::arena::Arena;
use crate::next::{interpose, next};
use crate::waits::groups::keeping_errno;
use crate::{arena, plan};

/// Threads that can begin intervals after the process confined itself; further ones are not recorded.
const THREADS_AFTER: usize = 64;
const PR_SET_MDWE: c_int = 65;
const SECCOMP_SET_MODE_FILTER: u64 = 1;

/// Whether shadow stacks were laid in.
static PROVIDED: AtomicBool = AtomicBool::new(false);

next! {
    fn real_lock = pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn real_unlock = pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn real_syscall = syscall(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64) -> c_long;
}

/// The code stays as it is from now on, for this reason.
pub fn freeze(why: Frozen) {
    let arena = arena::get();
    if !arena.is_mapped() || plan::is_frozen() {
        return;
    }
    plan::freeze(arena);
    count(arena.control(), why).fetch_add(1, Relaxed);
}

fn count(control: &Control, why: Frozen) -> &core::sync::atomic::AtomicU32 {
    &control.frozen[why as usize]
}

/// From now on nothing is changed, and no system call made.
fn make_ready(arena: Arena) {
    if !plan::is_frozen() {
        plan::freeze(arena);
    }
    if !PROVIDED.swap(true, Relaxed) {
        Shadow::provide(THREADS_AFTER);
    }
    kernel::confine(true);
}

/// The program may install a filter at any time, unnoticed.
pub fn expect_any_time() {
    let arena = arena::get();
    if !arena.is_mapped() || kernel::is_confined() {
        return;
    }
    make_ready(arena);
    count(arena.control(), Frozen::Unseen).fetch_add(1, Relaxed);
}

/// Makes no system call any more if the session has seen a filter that was not noticed here.
pub fn obey(control: &Control) {
    if control.filter_seen.load(Relaxed) != 0 && !kernel::is_confined() {
        plan::stay_frozen();
        kernel::confine_at_once();
    }
}

/// Around what may confine the process: ready before it, and as it was if nothing came of it.
fn confining(install: impl FnOnce() -> c_long) -> c_long {
    let arena = arena::get();
    if !arena.is_mapped() || kernel::is_confined() {
        return install();
    }
    let was_frozen = plan::is_frozen();
    keeping_errno(|| make_ready(arena));
    let answer = install();
    if answer == 0 {
        count(arena.control(), Frozen::Filter).fetch_add(1, Relaxed);
    } else {
        kernel::confine(false);
        if !was_frozen {
            plan::thaw();
        }
    }
    answer
}

/// `syscall(SYS_seccomp, ...)` and `syscall(SYS_prctl, ...)`.
pub extern "C" fn confine(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64) -> c_long {
    // SAFETY: the caller's arguments.
    let install = || unsafe { real_syscall(number, a, b, c, d, e) };
    let confines = match number {
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

/// The calling thread. Without asking the kernel where that is out of the question: a mutex of glibc knows who holds it.
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

/// The child is another process, whose first thread has its number.
pub fn after_fork_in_child() {
    if kernel::is_confined() {
        kernel::set_process(thread_id());
    }
}
