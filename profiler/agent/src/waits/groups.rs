//! Events, written into the calling thread's ring.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::arch::here;
use evenkeel_patch::{Thread, thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::waits::OPEN_MAX;
use evenkeel_wire::{CopiedAt, Event, Mode, Object, ObjectKind, Open};

use crate::verdict::is_over;
use crate::{arena, code_state, intervals, rings, stack_copies, threads};

/// The calling thread, ready to record. `None`: it cannot, or the session is over.
///
/// From now on its calls are recorded outside of intervals, too.
pub fn recorder(now: u64) -> Option<&'static mut Thread> {
    threads::notice_fork();
    let arena = arena::get();
    let control = arena.control();
    let thread = thread::current();
    let mode = control.mode.load(Relaxed);
    let over = code_state::detached() || is_over(arena, now);
    let silent = mode == Mode::Idle as u32 || mode == Mode::Count as u32;
    if thread.closed || over || silent {
        if !thread.interval.is_open() {
            thread.active = 0;
        }
        return None;
    }
    if !thread.prepare() || !rings::ensure(thread, arena) {
        return None;
    }
    threads::watch_end();
    if !thread.interval.is_open() {
        let is_recording = mode == Mode::Record as u32;
        thread.active = if is_recording { Thread::ALWAYS } else { 0 };
    }
    Some(thread)
}

/// Writes that the thread waited from `start` to `end`, for one object or two.
pub fn wait(waited_for: &[(ObjectKind, u64)], start: u64, end: u64) {
    let Some(thread) = recorder(end) else { return };
    let mut objects = [None; 2];
    for (object, &(kind, key)) in objects.iter_mut().zip(waited_for) {
        *object = Some(Object { key, kind });
    }
    rings::event(
        thread,
        Event::Wait {
            start,
            end,
            objects,
        },
    );
}

/// Writes that a task was taken up, or that a thread begins to run.
pub fn dequeue(kind: ObjectKind, key: u64, at: u64) {
    if let Some(thread) = recorder(now_ticks()) {
        let object = Object { key, kind };
        rings::event(thread, Event::Dequeue { at, object });
    }
}

/// Writes an event of the moment `at` that names the calls that are open now. False where nothing is recorded.
pub fn with_open(at: u64, event: impl for<'a> FnOnce(&'a [Open]) -> Event<'a>) -> bool {
    let Some(thread) = recorder(at) else {
        return false;
    };
    let mut open = [Open { start: 0, probe: 0 }; OPEN_MAX];
    let mut len = 0;
    let calls = thread.frames().iter().filter_map(intervals::open_call);
    for call in calls.take(OPEN_MAX) {
        open[len] = call;
        len += 1;
    }
    rings::event(thread, event(&open[..len]));
    true
}

/// Writes that an interval ends while intervals are only counted. Its beginning may have been recorded: a thread that stood still between
/// its look at the control page and its record came later than the session waits for. The analysis leaves out the interval with its
/// reason, and ignores the end where it knows no beginning.
pub fn end_while_counting(key: u64, at: u64) {
    let arena = arena::get();
    let thread = thread::current();
    let counts = arena.control().mode.load(Relaxed) == Mode::Count as u32;
    let over = thread.closed || code_state::detached() || is_over(arena, at);
    if key != 0 && counts && !over && thread.prepare() && rings::ensure(thread, arena) {
        let event = Event::EndKeyed {
            at,
            key,
            generation: code_state::CHANGING,
            open: &[],
        };
        rings::event(thread, event);
    }
}

/// Writes that a task is put into a queue, or a thread or process created.
pub fn enqueue(kind: ObjectKind, key: u64, at: u64) {
    let object = Object { key, kind };
    with_open(at, |open| Event::Enqueue { at, object, open });
}

/// Writes that the thread is about to release something while these calls are open.
pub fn wake_in(kind: ObjectKind, key: u64, at: u64, open: &[Open]) {
    let object = Object { key, kind };
    if let Some(thread) = recorder(at) {
        rings::event(thread, Event::Wake { at, object, open });
    }
}

/// Writes that the thread is about to release something.
pub fn wake(kind: ObjectKind, key: u64, at: u64) {
    copy_stack_if_unknown(at);
    let object = Object { key, kind };
    with_open(at, |open| Event::Wake { at, object, open });
}

/// Copies the calling thread's stack at a release that has a waiter, if none of its calls is timed: what delays others
/// is then known by its functions.
fn copy_stack_if_unknown(now: u64) {
    let thread = thread::current();
    // Before its first event a thread's calls are not recorded, and whether one is timed is not known.
    if thread.active == 0 || !stack_copies::is_due(thread, now) {
        return;
    }
    let mut calls = thread.frames().iter().filter_map(intervals::open_call);
    if calls.next().is_none() {
        stack_copies::copy(thread, CopiedAt::Release, here::registers(), now);
    }
}
