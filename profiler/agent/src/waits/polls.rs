//! Waiting for one of several descriptors. It ends by what arrives at the first one found ready.

use core::ffi::c_int;

use evenkeel_wire::ObjectKind;
use evenkeel_wire::waits::POLL_LIMIT;
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use super::descriptors::describe;
use super::objects::Object;
use super::registered;
use super::switch::table;
use super::waiting::{Ended, sleeping_as_poller};
use crate::interpose::interpose;
use crate::masks::{empty, passing};

/// The object that ended a poll of `number` for reading, or for writing.
fn ready(number: c_int, readable: bool) -> Object {
    let key = describe(number).map_or(0, |found| {
        let object = if readable {
            found.incoming()
        } else {
            found.room_wanted()
        };
        object.key()
    });
    Object::of(ObjectKind::Poll, key)
}

/// Runs `real`, which waits for one of several unless it may not wait at all. `first`: the descriptor found ready; only a call that found
/// one has filled in its results.
fn wait(may_wait: bool, real: impl FnOnce() -> c_int, first: impl FnOnce() -> Object) -> c_int {
    let Some(table) = table() else { return real() };
    if !may_wait {
        return real();
    }
    sleeping_as_poller(
        table,
        real,
        |&count| match count {
            1.. => first(),
            0 => Object::of(ObjectKind::Poll, POLL_LIMIT),
            _ => Object::of(ObjectKind::Poll, 0),
        },
        |&count| match count {
            0 => Ended::TimedOut,
            count => Ended::by_errno(count as isize),
        },
    )
}

fn poll_for(
    may_wait: bool,
    fds: *const pollfd,
    count: nfds_t,
    real: impl FnOnce() -> c_int,
) -> c_int {
    wait(may_wait, real, || {
        // SAFETY: the caller's array, which the call has filled in.
        let fds = unsafe { core::slice::from_raw_parts(fds, count as usize) };
        let found = fds.iter().find(|fd| fd.revents != 0);
        found.map_or(Object::of(ObjectKind::Poll, 0), |fd| {
            ready(fd.fd, fd.revents & !libc::POLLOUT != 0)
        })
    })
}

fn select_for(
    may_wait: bool,
    count: c_int,
    read: *const fd_set,
    write: *const fd_set,
    real: impl FnOnce() -> c_int,
) -> c_int {
    wait(may_wait, real, || {
        // SAFETY: the caller's sets, which have this many bits and which the call has filled in.
        let is_in = |set: *const fd_set, fd: &c_int| unsafe {
            let byte = set.cast::<u8>().add(*fd as usize / 8);
            !set.is_null() && *byte >> (*fd % 8) & 1 == 1
        };
        let found = |set| (0..count).find(|fd| is_in(set, fd));
        match (found(read), found(write)) {
            (Some(fd), _) => ready(fd, true),
            (None, Some(fd)) => ready(fd, false),
            (None, None) => Object::of(ObjectKind::Poll, 0),
        }
    })
}

fn epoll_for(
    may_wait: bool,
    epoll: c_int,
    events: *const epoll_event,
    real: impl FnOnce() -> c_int,
) -> c_int {
    wait(may_wait, real, || {
        // SAFETY: the call has filled in the first event at least; it is packed.
        let (what, data) = unsafe {
            let first = events.read_unaligned();
            (first.events, first.u64)
        };
        let readable = what & !(libc::EPOLLOUT as u32) != 0;
        registered::number(epoll, data).map_or(Object::of(ObjectKind::Poll, 0), |number| {
            ready(number, readable)
        })
    })
}

fn is_null_or_positive(limit: *const timespec) -> bool {
    // SAFETY: the caller's.
    unsafe { limit.as_ref() }.is_none_or(|limit| limit.tv_sec != 0 || limit.tv_nsec != 0)
}

interpose! {
    fn poll(fds: *mut pollfd, count: nfds_t, limit: c_int) -> c_int = |real| {
        poll_for(limit != 0, fds, count, || real(fds, count, limit))
    }

    fn __poll_chk(fds: *mut pollfd, count: nfds_t, limit: c_int, bytes: usize) -> c_int = |real| {
        poll_for(limit != 0, fds, count, || real(fds, count, limit, bytes))
    }

    /// The mask during the wait does not block SIGTRAP while hooks may be in place; the same holds for all masks
    /// below.
    fn ppoll(fds: *mut pollfd, count: nfds_t, limit: *const timespec, set: *const sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        poll_for(is_null_or_positive(limit), fds, count, || real(fds, count, limit, set))
    }

    fn __ppoll_chk(fds: *mut pollfd, count: nfds_t, limit: *const timespec, set: *const sigset_t, bytes: usize) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        poll_for(is_null_or_positive(limit), fds, count, || real(fds, count, limit, set, bytes))
    }

    fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *mut timeval) -> c_int = |real| {
        // SAFETY: the caller's.
        let may_wait = unsafe { limit.as_ref() }.is_none_or(|limit| limit.tv_sec != 0 || limit.tv_usec != 0);
        select_for(may_wait, count, read, write, || real(count, read, write, except, limit))
    }

    fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *const timespec, set: *const sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        select_for(is_null_or_positive(limit), count, read, write, || real(count, read, write, except, limit, set))
    }

    fn epoll_ctl(epoll: c_int, operation: c_int, number: c_int, event: *mut epoll_event) -> c_int = |real| {
        if operation != libc::EPOLL_CTL_DEL && !event.is_null() && table().is_some() {
            // SAFETY: the caller's event, which may be packed anywhere.
            registered::register(epoll, number, unsafe { event.read_unaligned() }.u64);
        }
        real(epoll, operation, number, event)
    }

    fn epoll_wait(epoll: c_int, events: *mut epoll_event, count: c_int, limit: c_int) -> c_int = |real| {
        epoll_for(limit != 0, epoll, events, || real(epoll, events, count, limit))
    }

    fn epoll_pwait(epoll: c_int, events: *mut epoll_event, count: c_int, limit: c_int, set: *const sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        epoll_for(limit != 0, epoll, events, || real(epoll, events, count, limit, set))
    }

    fn epoll_pwait2(epoll: c_int, events: *mut epoll_event, count: c_int, limit: *const timespec, set: *const sigset_t) -> c_int = |real| {
        let mut copy = empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        epoll_for(is_null_or_positive(limit), epoll, events, || real(epoll, events, count, limit, set))
    }
}
