//! Functions that the helper class calls: a probe is entered and left.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::{Thread, thread};
use evenkeel_wire::jvm::{KEYED, PARKS};
use evenkeel_wire::{Control, Record, Role, now_ticks};

use crate::arena::{self, Arena};
use crate::jvm::environment::watched;
use crate::jvm::stack::{self, Call, JavaStack};
use crate::jvm::vm::Jni;
use crate::jvm::{keyed, pauses, switches, waits};
use crate::labels::FoundLabel;
use crate::verdict::is_over;
use crate::{code_state, intervals, rings, threads};

/// Nothing was entered.
const NOTHING: i32 = -1;

/// Enters a probe by its number in Java code: a token, or -1. `label` finds the label of an interval that is recorded.
pub fn enter(jni: Jni, number: u32, label: impl FnOnce() -> FoundLabel) -> i32 {
    let Some(id) = switches::probe_of(number) else {
        return NOTHING;
    };
    match stack::own() {
        Some(stack) if stack.is_open() => match switches::state(number) {
            PARKS => waits::park(jni, stack).unwrap_or(NOTHING),
            _ => inside(stack, id),
        },
        // A method that works for intervals of other threads.
        _ if switches::state(number) >= KEYED => keyed::enter(jni, number, 0).unwrap_or(NOTHING),
        _ => begin(jni, id, label).unwrap_or(NOTHING),
    }
}

/// Enters a probe with a number: the label of an interval, or what distinguishes the object of one.
pub fn enter_with_number(jni: Jni, number: u32, value: u64) -> i32 {
    if switches::state(number) >= KEYED {
        return keyed::enter(jni, number, value).unwrap_or(NOTHING);
    }
    enter(jni, number, || FoundLabel::Integer(value))
}

/// A call inside of an interval. One that would be an interval by itself is a part of it: of a recursion the outermost call counts.
fn inside(stack: &mut JavaStack, id: u32) -> i32 {
    let thread = thread::current();
    if thread.active == 0 || role(arena::get(), id) == Some(Role::Whole) {
        return NOTHING;
    }
    pauses::note(stack, now_ticks);
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
fn begin(jni: Jni, id: u32, label: impl FnOnce() -> FoundLabel) -> Option<i32> {
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
    let Some(stack) = stack::ensure(|| watched(jni)) else {
        rings::count_unrecorded(thread, arena);
        return None;
    };
    let is_followed = intervals::begin(thread, arena, label);
    stack.recording.set(is_followed && thread.active != 0);
    is_followed.then(|| stack.open(id, now_ticks(), pauses::ended()))
}

/// Leaves the call of a token, and whatever was entered since; `end` ends the interval where it is that call.
pub fn leave(token: i32, end: fn(&mut Thread, u64)) {
    let now = now_ticks();
    let Some(stack) = stack::own() else {
        return;
    };
    let Some(depth) = stack.depth_of(token) else {
        return;
    };
    pauses::note(stack, || now);
    let is_recorded = thread::current().active != 0;
    while let Some(call) = stack.pop(depth) {
        waits::leave(stack, call, now);
        write(thread::current(), call, now, is_recorded);
    }
    stack.settled = now;
    keyed::leave(stack, depth, now);
    if depth == 0 {
        stack.close();
        stack.recording.set(false);
        end(thread::current(), now);
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
    let role = id.and_then(|id| role(arena, id));
    if matches!(role, Some(Role::Whole | Role::BeginKeyed)) {
        let control: &Control = arena.control();
        control.virtual_intervals.fetch_add(1, Relaxed);
        if is_over(arena, now_ticks()) {
            switches::end();
        }
    }
}
