//! Threads that use the thread-local memory of their creator: `clone` with `CLONE_VM` and without `CLONE_SETTLS` makes such
//! (clone(2)). The agent keeps the calls in flight of a thread there, so it could not tell two threads apart.
//!
//! The C library registers a list of held locks for each thread that it makes (get_robust_list(2)). The list lies in the
//! thread's memory. So only threads without a list are stopped, for a moment, to see whose memory they use.

use crate::arch::registers::Registers;
use crate::tracer::Tracee;
use crate::{namespace, process};

/// The C library's data of a thread begin at its thread pointer. The list is within this distance, bytes: `struct pthread`
/// has 2,304 in glibc 2.36.
const THREAD_BYTES: u64 = 4096;

/// A thread of the process that uses another one's thread-local memory.
pub fn of(pid: i32) -> Option<i32> {
    let threads = process::threads(pid).unwrap_or_default();
    let with_lists = threads
        .into_iter()
        .filter_map(|tid| Some((tid, list_of_locks(tid)?)));
    let (without, with): (Vec<_>, Vec<_>) = with_lists.partition(|&(_, list)| list == 0);
    let uses_anothers = |tid| {
        let Some(pointer) = thread_pointer(tid) else {
            return false;
        };
        let memory = pointer..pointer + THREAD_BYTES;
        with.iter().any(|(_, list)| memory.contains(list))
    };
    let mut without = without.into_iter().map(|(tid, _)| tid);
    without.find(|&tid| !process::is_kernels_worker(tid) && uses_anothers(tid))
}

/// Address of a thread's list of held locks; 0: it has none. `None` if it is gone, or may not be looked at.
fn list_of_locks(tid: i32) -> Option<u64> {
    let (mut head, mut len) = (0_u64, 0_usize);
    // SAFETY: the kernel writes both.
    let answer = unsafe {
        let number = namespace::outer(tid);
        libc::syscall(
            libc::SYS_get_robust_list,
            number,
            &raw mut head,
            &raw mut len,
        )
    };
    (answer == 0).then_some(head)
}

/// Where a thread's memory is. It stands still for a moment.
fn thread_pointer(tid: i32) -> Option<u64> {
    let tracee = Tracee::stop(tid).ok().flatten()?;
    let registers = Registers::read(tracee.number).ok()?;
    Some(registers.thread_pointer())
}
