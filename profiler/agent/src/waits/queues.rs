//! Message queues, POSIX and System V, and System V semaphores.

use core::ffi::{c_int, c_long, c_uint, c_void};

use evenkeel_patch::kernel;
use evenkeel_wire::ObjectKind;
use libc::{c_char, mqd_t, sembuf, size_t, ssize_t, timespec};

use super::descriptor::Descriptor;
use super::mix::mix;
use super::objects::Object;
use super::releasing::{record_if_waited_for, releasing};
use super::switch::{Table, table_for_writing as table};
use super::waiting::{Ended, sleeping};
use crate::errno::keeping_errno;
use crate::interpose::interpose;

/// Distinguishes numbers of System V queues from those of semaphores, and both from inodes.
const SYSTEM_V: u64 = 0x5379_7356;

fn queue(key: u64) -> Descriptor {
    Descriptor {
        kind: ObjectKind::MessageQueue,
        input: key,
        output: key,
    }
}

fn posix(number: mqd_t) -> Option<Descriptor> {
    let status = keeping_errno(|| kernel::file_status(number))?;
    Some(queue(mix(status.st_dev, status.st_ino)))
}

fn system_v(id: c_int) -> Option<Descriptor> {
    Some(queue(mix(SYSTEM_V, id as u64)))
}

fn receive(queue: Option<Descriptor>, real: impl FnOnce() -> ssize_t) -> ssize_t {
    let (Some(table), Some(queue)) = (table(), queue) else {
        return real();
    };
    record_if_waited_for(table, queue.room_made());
    sleeping(table, &[queue.incoming()], real, |&result| {
        Ended::by_errno(result)
    })
}

fn send(queue: Option<Descriptor>, real: impl FnOnce() -> c_int) -> c_int {
    let (Some(table), Some(queue)) = (table(), queue) else {
        return real();
    };
    releasing(table, queue.outgoing(), || {
        sleeping(table, &[queue.room_wanted()], real, |&result| {
            Ended::by_errno(result as isize)
        })
    })
}

/// Mixed into a semaphore set's key: the key of those who wait for zero.
const ZERO: u64 = 1;

/// Semaphores of one set share a key: an operation may be on several.
///
/// # Safety
/// `operations` is null or points to `count` of them.
unsafe fn operate(
    id: c_int,
    operations: *const sembuf,
    count: size_t,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let (Some(table), false) = (table(), operations.is_null()) else {
        return real();
    };
    // SAFETY: the caller's array.
    let operations = unsafe { core::slice::from_raw_parts(operations, count) };
    let any = |is: fn(i16) -> bool| operations.iter().any(|operation| is(operation.sem_op));
    let set = mix(SYSTEM_V, id as u64);
    let (units, zero) = (
        Object::of(ObjectKind::Semaphore, set),
        Object::of(ObjectKind::Semaphore, mix(set, ZERO)),
    );
    if any(|operation| operation < 0) {
        record_if_waited_for(table, zero);
        return wait(table, units, real);
    }
    if any(|operation| operation == 0) {
        return wait(table, zero, real);
    }
    releasing(table, units, real)
}

fn wait(table: Table, object: Object, real: impl FnOnce() -> c_int) -> c_int {
    sleeping(table, &[object], real, |&result| {
        Ended::by_errno(result as isize)
    })
}

interpose! {
    if waits:

    fn mq_send(number: mqd_t, message: *const c_char, bytes: size_t, priority: c_uint) -> c_int = |real| {
        send(posix(number), || real(number, message, bytes, priority))
    }

    fn mq_timedsend(number: mqd_t, message: *const c_char, bytes: size_t, priority: c_uint, limit: *const timespec) -> c_int = |real| {
        send(posix(number), || real(number, message, bytes, priority, limit))
    }

    fn mq_receive(number: mqd_t, message: *mut c_char, bytes: size_t, priority: *mut c_uint) -> ssize_t = |real| {
        receive(posix(number), || real(number, message, bytes, priority))
    }

    fn mq_timedreceive(number: mqd_t, message: *mut c_char, bytes: size_t, priority: *mut c_uint, limit: *const timespec) -> ssize_t = |real| {
        receive(posix(number), || real(number, message, bytes, priority, limit))
    }

    fn msgsnd(id: c_int, message: *const c_void, bytes: size_t, flags: c_int) -> c_int = |real| {
        send(system_v(id), || real(id, message, bytes, flags))
    }

    fn msgrcv(id: c_int, message: *mut c_void, bytes: size_t, kind: c_long, flags: c_int) -> ssize_t = |real| {
        receive(system_v(id), || real(id, message, bytes, kind, flags))
    }

    fn semop(id: c_int, operations: *mut sembuf, count: size_t) -> c_int = |real| {
        // SAFETY: the caller's array.
        unsafe { operate(id, operations, count, || real(id, operations, count)) }
    }

    fn semtimedop(id: c_int, operations: *mut sembuf, count: size_t, limit: *const timespec) -> c_int = |real| {
        // SAFETY: the caller's array.
        unsafe { operate(id, operations, count, || real(id, operations, count, limit)) }
    }
}
