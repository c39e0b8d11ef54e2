//! Reading from and writing to descriptors: pipes, FIFOs, sockets, event and signal descriptors; files, too.
//!
//! A reader waits for bytes and makes room. A writer waits for room and supplies bytes, to readers of this
//! descriptor's other end and to threads that poll any descriptor.

use core::ffi::{c_int, c_uint, c_void};

use evenkeel_wire::ObjectKind;
use evenkeel_wire::now_ticks;
use libc::{iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t, timespec};

use super::descriptor::Descriptor;
use super::descriptors::{closing, describe, describe_known, made};
use super::objects::Object;
use super::releasing::{record_if_waited_for, record_release};
use super::sockets;
use super::switch::{Table, table_for_writing as table};
use super::waiting::{Ended, sleeping};
use crate::errno::keeping_errno;
use crate::interpose::interpose;

/// Result of functions that read and write bytes: less than zero for an error.
trait Outcome {
    fn ended(&self) -> Ended;
}

impl Outcome for ssize_t {
    fn ended(&self) -> Ended {
        Ended::by_errno(*self)
    }
}

impl Outcome for c_int {
    fn ended(&self) -> Ended {
        Ended::by_errno(*self as isize)
    }
}

fn known(number: c_int) -> Option<Descriptor> {
    keeping_errno(|| describe(number))
}

/// Takes bytes, or a connection.
fn take<R: Outcome>(number: c_int, real: impl FnOnce() -> R) -> R {
    let Some(table) = table() else { return real() };
    let Some(from) = known(number) else {
        return real();
    };
    if from.fills_up() {
        record_if_waited_for(table, from.room_made());
    }
    sleeping(table, &[from.incoming()], real, R::ended)
}

/// Gives bytes.
fn give<R: Outcome>(number: c_int, real: impl FnOnce() -> R) -> R {
    let Some(table) = table() else { return real() };
    let Some(to) = known(number) else {
        return real();
    };
    if to.kind == ObjectKind::File {
        return sleeping(table, &[to.outgoing()], real, R::ended);
    }
    if !to.fills_up() {
        return arrives(table, to.outgoing(), real);
    }
    let real = || sleeping(table, &[to.room_wanted()], real, R::ended);
    arrives(table, to.outgoing(), real)
}

/// Runs `real`, by which something arrives for `object`: its waiters and all pollers are recorded as woken.
fn arrives<R>(table: Table, object: Object, real: impl FnOnce() -> R) -> R {
    let (slot, pollers) = (object.slot(table), table.pollers());
    let before = (slot.state(), pollers.state());
    if before.0.is_waited_for() || before.1.is_waited_for() {
        record_release(object, now_ticks());
        return real();
    }
    let result = real();
    if (slot.state(), pollers.state()) != before {
        let at = slot.announced_ticks().max(pollers.announced_ticks());
        record_release(object, at);
    }
    result
}

/// A connection, or a datagram, arrives at an address.
unsafe fn arrives_at<R>(
    address: *const sockaddr,
    len: socklen_t,
    datagram: bool,
    real: impl FnOnce() -> R,
) -> R {
    let Some(table) = table() else { return real() };
    // SAFETY: the caller's address.
    match unsafe { sockets::key_of_address(address, len, datagram) } {
        None => real(),
        Some(key) => arrives(table, Object::of(ObjectKind::Socket, key), real),
    }
}

/// Wakes the waiters at the other end: nothing more arrives.
fn ends(number: c_int) {
    let Some(table) = table() else { return };
    if let Some(to) = keeping_errno(|| describe_known(number))
        && to.kind != ObjectKind::File
    {
        arrives(table, to.outgoing(), || {});
        record_if_waited_for(table, to.room_made());
    }
}

interpose! {
    if waits:

    fn read(number: c_int, buffer: *mut c_void, bytes: size_t) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes))
    }

    fn __read_chk(number: c_int, buffer: *mut c_void, bytes: size_t, room: size_t) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes, room))
    }

    fn readv(number: c_int, parts: *const iovec, count: c_int) -> ssize_t = |real| {
        take(number, || real(number, parts, count))
    }

    fn recv(number: c_int, buffer: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes, flags))
    }

    fn __recv_chk(number: c_int, buffer: *mut c_void, bytes: size_t, room: size_t, flags: c_int) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes, room, flags))
    }

    fn recvfrom(number: c_int, buffer: *mut c_void, bytes: size_t, flags: c_int, from: *mut sockaddr, len: *mut socklen_t) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes, flags, from, len))
    }

    fn __recvfrom_chk(number: c_int, buffer: *mut c_void, bytes: size_t, room: size_t, flags: c_int, from: *mut sockaddr, len: *mut socklen_t) -> ssize_t = |real| {
        take(number, || real(number, buffer, bytes, room, flags, from, len))
    }

    fn recvmsg(number: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = |real| {
        take(number, || real(number, message, flags))
    }

    fn recvmmsg(number: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, limit: *mut timespec) -> c_int = |real| {
        take(number, || real(number, messages, count, flags, limit))
    }

    fn accept(number: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int = |real| {
        made(take(number, || real(number, from, len)))
    }

    fn accept4(number: c_int, from: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int = |real| {
        made(take(number, || real(number, from, len, flags)))
    }

    fn eventfd_read(number: c_int, value: *mut u64) -> c_int = |real| {
        take(number, || real(number, value))
    }

    fn write(number: c_int, buffer: *const c_void, bytes: size_t) -> ssize_t = |real| {
        give(number, || real(number, buffer, bytes))
    }

    fn writev(number: c_int, parts: *const iovec, count: c_int) -> ssize_t = |real| {
        give(number, || real(number, parts, count))
    }

    fn send(number: c_int, buffer: *const c_void, bytes: size_t, flags: c_int) -> ssize_t = |real| {
        give(number, || real(number, buffer, bytes, flags))
    }

    fn sendto(number: c_int, buffer: *const c_void, bytes: size_t, flags: c_int, to: *const sockaddr, len: socklen_t) -> ssize_t = |real| {
        let real = || real(number, buffer, bytes, flags, to, len);
        if to.is_null() {
            return give(number, real);
        }
        // SAFETY: the caller's address.
        unsafe { arrives_at(to, len, true, real) }
    }

    fn sendmsg(number: c_int, message: *const msghdr, flags: c_int) -> ssize_t = |real| {
        give(number, || real(number, message, flags))
    }

    fn sendmmsg(number: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int = |real| {
        give(number, || real(number, messages, count, flags))
    }

    fn sendfile(number: c_int, from: c_int, offset: *mut off_t, bytes: size_t) -> ssize_t = |real| {
        give(number, || real(number, from, offset, bytes))
    }

    fn sendfile64(number: c_int, from: c_int, offset: *mut off_t, bytes: size_t) -> ssize_t = |real| {
        give(number, || real(number, from, offset, bytes))
    }

    fn eventfd_write(number: c_int, value: u64) -> c_int = |real| {
        give(number, || real(number, value))
    }

    fn connect(number: c_int, to: *const sockaddr, len: socklen_t) -> c_int = |real| {
        // SAFETY: the caller's address.
        unsafe { arrives_at(to, len, false, || real(number, to, len)) }
    }

    fn shutdown(number: c_int, how: c_int) -> c_int = |real| {
        ends(number);
        real(number, how)
    }

    fn close(number: c_int) -> c_int = |real| {
        ends(number);
        closing(number);
        real(number)
    }
}
