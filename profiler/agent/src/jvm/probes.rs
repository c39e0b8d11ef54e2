//! Functions that the helper class calls: a probe is entered and left.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::{Thread, thread};
use evenkeel_wire::{Control, Record, Role, now_ticks};

use crate::arena::{self, Arena};
use crate::jvm::stack::{self, Call, JavaStack};
use crate::jvm::switches;
use crate::labels::Found;
use crate::verdict::is_over;
use crate::{code_state, intervals, rings, threads};

/// Nothing was entered.
const NOTHING: i32 = -1;

/// Enters a probe by its number in Java code: a token, or -1. `watch` makes the reference by which others know the calling thread,
/// and `label` finds the label of an interval that is recorded.
pub fn enter(
    number: u32,
    watch: impl FnOnce() -> *mut core::ffi::c_void,
    label: impl FnOnce() -> Found,
) -> i32 {
    let Some(id) = switches::probe_of(number) else {
        return NOTHING;
    };
    match stack::own() {
        Some(stack) if stack.is_open() => inside(stack, id),
        _ => begin(id, watch, label).unwrap_or(NOTHING),
    }
}

/// A call inside of an interval. One that would be an interval by itself is a part of it: of a recursion the outermost call counts.
fn inside(stack: &mut JavaStack, id: u32) -> i32 {
    let thread = thread::current();
    if thread.active == 0 || role(arena::get(), id) == Some(Role::Whole) {
        return NOTHING;
    }
    let token = stack.push(Call { start: 0, id });
    let Some(token) = token else {
        thread.shadow_full += 1;
        return NOTHING;
    };
    // As late as can be: what was before is no time of the call's.
    stack.start_last(now_ticks());
    token
}

fn role(arena: Arena, id: u32) -> Option<Role> {
    arena.probes().get(id as usize).map(Role::of)
}

/// The thread is in no interval: one begins here, or nothing does.
fn begin(
    id: u32,
    watch: impl FnOnce() -> *mut core::ffi::c_void,
    label: impl FnOnce() -> Found,
) -> Option<i32> {
    let arena = arena::get();
    if !arena.is_mapped() || code_state::detached() {
        return None;
    }
    if is_over(arena, now_ticks()) {
        switches::end();
        return None;
    }
    let thread = thread::current();
    if role(arena, id) != Some(Role::Whole) || thread.closed {
        return None;
    }
    if !thread.prepare() {
        rings::count_unrecorded(thread, arena);
        return None;
    }
    if intervals::are_wanted(thread, arena) && rings::ensure(thread, arena) {
        threads::watch_end();
    }
    let Some(stack) = stack::ensure(watch) else {
        rings::count_unrecorded(thread, arena);
        return None;
    };
    let is_followed = intervals::begin(thread, arena, label);
    is_followed.then(|| stack.open(id, now_ticks()))
}

/// Leaves the call of a token, and whatever was entered since.
pub fn leave(token: i32) {
    let now = now_ticks();
    let Some(stack) = stack::own() else {
        return;
    };
    let thread = thread::current();
    let is_recorded = thread.active != 0;
    let record = |call: Call| write(thread, call, now, is_recorded);
    if stack.leave(token, record) == Some(true) {
        intervals::finish(thread::current(), now);
    }
}

fn write(thread: &mut Thread, call: Call, now: u64, is_recorded: bool) {
    if is_recorded {
        let call = Record::new(call.start, now.wrapping_sub(call.start), call.id);
        rings::call(thread, call);
    }
}

/// An interval would begin on a virtual thread, if this probe is one of intervals: it is counted, and not followed.
pub fn count_virtual(number: u32) {
    let arena = arena::get();
    if !arena.is_mapped() || code_state::detached() {
        return;
    }
    let id = switches::probe_of(number);
    if id.and_then(|id| role(arena, id)) == Some(Role::Whole) {
        let control: &Control = arena.control();
        control.virtual_intervals.fetch_add(1, Relaxed);
        if is_over(arena, now_ticks()) {
            switches::end();
        }
    }
}
