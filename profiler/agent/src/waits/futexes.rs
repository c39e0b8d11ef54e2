//! The `futex` system call, for what is built on it: C++20 waits, the locks of Rust, of InnoDB and of others.
//!
//! Only calls through the C library's `syscall` are seen ([`crate::arch::syscall`]).

use core::ffi::{c_int, c_long};

use evenkeel_wire::ObjectKind;

use super::objects::Object;
use super::releasing::releasing;
use super::switch::{Table, table};
use super::waiting::{Ended, sleeping};
use crate::next::next;
use crate::replacement::Call;

next! {
    fn system_call = syscall(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long;
}

/// `FUTEX_LOCK_PI2`, which the libc crate lacks.
const LOCK_PI2: c_int = 13;

/// The action of an operation.
enum Does {
    Waits,
    Wakes,
    Else,
}

fn does(operation: c_int) -> Does {
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT
        | libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_WAIT_REQUEUE_PI
        | libc::FUTEX_LOCK_PI
        | LOCK_PI2 => Does::Waits,
        libc::FUTEX_WAKE
        | libc::FUTEX_WAKE_BITSET
        | libc::FUTEX_WAKE_OP
        | libc::FUTEX_REQUEUE
        | libc::FUTEX_CMP_REQUEUE
        | libc::FUTEX_CMP_REQUEUE_PI
        | libc::FUTEX_UNLOCK_PI => Does::Wakes,
        _ => Does::Else,
    }
}

/// `syscall(SYS_futex, ...)`.
pub extern "C" fn futex(call: &Call) -> c_long {
    let [number, a, b, c, d, e, f] = call.arguments;
    // SAFETY: the caller's arguments, as they came.
    let real = || call.run(|| unsafe { system_call(number as c_long, a, b, c, d, e, f) });
    let Some(table) = table() else { return real() };
    let operation = b as c_int;
    let shared = operation & libc::FUTEX_PRIVATE_FLAG == 0;
    let object = Object::at(ObjectKind::Futex, a as *const u32, shared);
    match does(operation) {
        Does::Waits => wait(table, object, real),
        Does::Wakes => releasing(table, object, real),
        Does::Else => real(),
    }
}

fn wait(table: Table, object: Object, real: impl FnOnce() -> c_long) -> c_long {
    sleeping(table, &[object], real, |&result| {
        // SAFETY: the C library's per-thread word.
        let changed = result < 0 && unsafe { *libc::__errno_location() } == libc::EAGAIN;
        if changed {
            Ended::Never
        } else {
            Ended::by_errno(result as isize)
        }
    })
}
