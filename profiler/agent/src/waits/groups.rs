//! Markers with what belongs to them, written into the calling thread's ring.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::{Thread, thread};
use evenkeel_wire::edges::OPEN_MAX;
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Kind, Marker, Mode, Record};

use crate::{arena, intervals, plan, rings, threads};

/// Most records in a group beside the label's.
const GROUP_MAX: usize = OPEN_MAX + 2;

/// Runs `then`, which may do anything but change `errno`.
pub fn keeping_errno<R>(then: impl FnOnce() -> R) -> R {
    // SAFETY: the C library's per-thread word; the target must find it as it was.
    let errno = unsafe { *libc::__errno_location() };
    let result = then();
    unsafe { *libc::__errno_location() = errno };
    result
}

/// The calling thread, ready to record. `None`: it cannot, or the session is over.
///
/// From now on its calls are recorded outside of intervals, too.
pub fn recorder(now: u64) -> Option<&'static mut Thread> {
    threads::notice_fork();
    let arena = arena::get();
    let control = arena.control();
    let thread = thread::current();
    let mode = control.mode.load(Relaxed);
    let over =
        plan::detached() || mode == Mode::Detach as u32 || now > control.lease_ticks.load(Relaxed);
    let silent = mode == Mode::Idle as u32 || mode == Mode::Count as u32;
    if thread.closed || over || silent {
        if !thread.open {
            thread.active = 0;
        }
        return None;
    }
    if !thread.prepare() || !rings::ensure(thread, arena) {
        return None;
    }
    threads::watch_end();
    if !thread.open {
        thread.active = u64::from(mode == Mode::Record as u32);
    }
    Some(thread)
}

/// The record behind a marker that says what it is about.
pub fn object(kind: Kind, key: u64) -> Record {
    Record::marker(Marker::Object, key, kind as u64)
}

/// Writes that the thread waited from `start` to `end`, for one object or two.
pub fn wait(objects: &[(Kind, u64)], start: u64, end: u64) {
    let Some(thread) = recorder(end) else { return };
    let mut group = [Record::marker(Marker::Wait, start, end.wrapping_sub(start)); 3];
    for (record, &(kind, key)) in group[1..].iter_mut().zip(objects) {
        *record = object(kind, key);
    }
    rings::group(thread, &group[..1 + objects.len()]);
}

/// Writes a marker with its object, nothing else.
pub fn plain(marker: Marker, start: u64, payload: u64, kind: Kind, key: u64) {
    if let Some(thread) = recorder(now_ticks()) {
        rings::group(
            thread,
            &[Record::marker(marker, start, payload), object(kind, key)],
        );
    }
}

/// Writes a marker at `at` with its object and the calls that are open now. `payload` makes the marker's of their number.
pub fn with_open(
    marker: Marker,
    at: u64,
    kind: Kind,
    key: u64,
    payload: impl FnOnce(usize) -> u64,
) {
    let Some(thread) = recorder(at) else { return };
    let mut group = [object(kind, key); GROUP_MAX];
    let mut opens = 0;
    for frame in thread.frames() {
        if opens < OPEN_MAX
            && let Some(open) = intervals::open_record(frame)
        {
            group[2 + opens] = open;
            opens += 1;
        }
    }
    group[0] = Record::marker(marker, at, payload(opens));
    rings::group(thread, &group[..2 + opens]);
}

/// Writes that the thread is about to release something.
pub fn wake(kind: Kind, key: u64, at: u64) {
    with_open(Marker::Wake, at, kind, key, |opens| opens as u64);
}
