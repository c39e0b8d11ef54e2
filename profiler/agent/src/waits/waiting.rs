//! A wait: announced before the last try to do without it, recorded when it is over.

use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

use evenkeel_patch::thread::{self, ANNOUNCED_MAX, Announced, Thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::{ObjectKind, Waiters};

use super::groups;
use super::objects::{Object, signal_key};
use super::switch::{Table, table_for_writing};
use crate::errno::keeping_errno;

/// System calls that take less have not slept: going to sleep and waking up takes longer.
pub const SLEPT_TICKS_MIN: u64 = 4096;

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By what was waited for.
    Woken,
    /// By its time limit.
    TimedOut,
    /// By a signal.
    Interrupted,
    /// At once: there was nothing to wait for, or it failed.
    Never,
}

impl Ended {
    /// The end of a wait, for a function that returns an error number.
    pub fn by_number(result: i32) -> Ended {
        match result {
            0 | libc::EOWNERDEAD => Ended::Woken,
            libc::ETIMEDOUT => Ended::TimedOut,
            _ => Ended::Never,
        }
    }

    /// The end of a wait, for a function that returns a negative number and sets `errno`.
    pub fn by_errno(result: isize) -> Ended {
        if result >= 0 {
            return Ended::Woken;
        }
        // SAFETY: the C library's per-thread word.
        match unsafe { *libc::__errno_location() } {
            libc::ETIMEDOUT => Ended::TimedOut,
            libc::EINTR => Ended::Interrupted,
            // Of a descriptor with a time limit: where nothing may wait it comes at once, and is not recorded.
            libc::EAGAIN => Ended::TimedOut,
            _ => Ended::Woken,
        }
    }
}

/// Runs `real`, which may wait for `objects`, at most two, and records it.
pub fn waiting<R>(
    table: Table,
    objects: &[Object],
    real: impl FnOnce() -> R,
    ended: impl FnOnce(&R) -> Ended,
) -> R {
    at_least(0, table, objects, real, ended)
}

/// As [`waiting`], for system calls: recorded only if it can have slept.
pub fn sleeping<R>(
    table: Table,
    objects: &[Object],
    real: impl FnOnce() -> R,
    ended: impl FnOnce(&R) -> Ended,
) -> R {
    at_least(SLEPT_TICKS_MIN, table, objects, real, ended)
}

fn at_least<R>(
    ticks_min: u64,
    table: Table,
    objects: &[Object],
    real: impl FnOnce() -> R,
    ended: impl FnOnce(&R) -> Ended,
) -> R {
    let start = now_ticks();
    let slot = |index: usize| objects.get(index).map(|object| object.slot(table));
    let announced = announce([slot(0), slot(1)], start);
    let result = real();
    let end = now_ticks();
    retire(announced);
    if end.wrapping_sub(start) >= ticks_min && table_for_writing().is_some() {
        record_wait(objects, start, end, ended(&result));
    }
    result
}

/// As [`sleeping`], where what was waited for is known only afterwards, or has no waker that would look for waiters.
pub fn sleeping_for<R>(
    real: impl FnOnce() -> R,
    object: impl FnOnce(&R) -> Object,
    ended: impl FnOnce(&R) -> Ended,
) -> R {
    let start = now_ticks();
    let result = real();
    let end = now_ticks();
    if end.wrapping_sub(start) >= SLEPT_TICKS_MIN && table_for_writing().is_some() {
        let ended = ended(&result);
        record_wait(&[keeping_errno(|| object(&result))], start, end, ended);
    }
    result
}

/// As [`sleeping_for`], by a thread that waits for one of several descriptors.
pub fn sleeping_as_poller<R>(
    table: Table,
    real: impl FnOnce() -> R,
    object: impl FnOnce(&R) -> Object,
    ended: impl FnOnce(&R) -> Ended,
) -> R {
    let real = || {
        let announced = announce([Some(table.pollers()), None], now_ticks());
        let result = real();
        retire(announced);
        result
    };
    sleeping_for(real, object, ended)
}

#[cold]
#[inline(never)]
fn record_wait(objects: &[Object], start: u64, end: u64, ended: Ended) {
    keeping_errno(|| {
        let key = |index: usize| objects.get(index).map_or(0, |object| object.key());
        let kind = |index: usize| {
            objects
                .get(index)
                .map_or(ObjectKind::Timer, |object| object.kind)
        };
        match ended {
            Ended::TimedOut => groups::wait(&[(ObjectKind::Timer, key(0))], start, end),
            Ended::Interrupted => groups::wait(&[(ObjectKind::Signal, signal_key())], start, end),
            Ended::Never => {}
            _ if objects.len() == 2 => {
                groups::wait(&[(kind(0), key(0)), (kind(1), key(1))], start, end)
            }
            _ => groups::wait(&[(kind(0), key(0))], start, end),
        }
    });
}

/// A wait that is announced: how deep, since a handler may wait inside of a wait.
struct Announcement {
    depth: usize,
    slots: [Option<&'static Waiters>; 2],
}

/// Counts the thread in.
fn announce(slots: [Option<&'static Waiters>; 2], now: u64) -> Announcement {
    let thread = thread::current();
    let here = (&raw const slots) as u64;
    drop_left(thread, here);
    let depth = thread.announced_len as usize;
    push(thread, slots, here, 0, now);
    Announcement { depth, slots }
}

/// Counts the thread in for a call whose return address is at `sp`. False: it waits too deeply to remember more.
pub fn push(
    thread: &mut Thread,
    slots: [Option<&'static Waiters>; 2],
    sp: u64,
    value: u64,
    now: u64,
) -> bool {
    let depth = thread.announced_len as usize;
    slots
        .into_iter()
        .flatten()
        .for_each(|slot| slot.announce(now));
    if depth == ANNOUNCED_MAX {
        return false;
    }
    thread.announced[depth] = Announced {
        slots: slots.map(|slot| slot.map_or(0, |slot| &raw const *slot as usize)),
        sp,
        value,
    };
    compiler_fence(SeqCst);
    thread.announced_len = depth as u64 + 1;
    true
}

/// Counts the thread out of the call whose return address is at `sp`, and returns what was remembered of it.
pub fn pop(thread: &mut Thread, sp: u64) -> Option<u64> {
    let known = &thread.announced[..thread.announced_len as usize];
    let depth = known.iter().rposition(|announced| announced.sp == sp)?;
    let value = known[depth].value;
    drop_to(thread, depth);
    Some(value)
}

/// Counts the thread out of a wait.
fn retire(announcement: Announcement) {
    let thread = thread::current();
    if announcement.depth == ANNOUNCED_MAX {
        let slots = announcement.slots.into_iter().flatten();
        slots.for_each(|slot| slot.retire());
    }
    drop_to(thread, announcement.depth);
}

fn drop_to(thread: &mut Thread, depth: usize) {
    while thread.announced_len as usize > depth {
        drop_top(thread);
    }
}

/// The thread ends, perhaps by cancellation, or belongs to another process now: none of its waits continues.
pub fn forget(thread: &mut Thread, retire: bool) {
    if !retire {
        thread.announced_len = 0;
    }
    drop_to(thread, 0);
}

/// Counts the thread out of waits that it left by `longjmp`: their frames were below the present one.
pub fn drop_left(thread: &mut Thread, here: u64) {
    while let Some(top) = (thread.announced_len as usize).checked_sub(1)
        && thread.announced[top].sp <= here
    {
        drop_top(thread);
    }
}

fn drop_top(thread: &mut Thread) {
    let depth = thread.announced_len as usize - 1;
    let slots = thread.announced[depth].slots;
    thread.announced_len = depth as u64;
    for slot in slots.into_iter().filter(|&slot| slot != 0) {
        // SAFETY: a slot of the table, which stays mapped.
        unsafe { (*(slot as *const Waiters)).retire() };
    }
}
