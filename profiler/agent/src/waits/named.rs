//! Functions that the user named for their role. They acquire or release a lock, put a task into a queue or take it
//! out, or begin, end or turn to an interval. The names follow dissertation 2.3.3.2: `acquire(object)`,
//! `release(object)`, `enqueue`, `dequeue`.
//!
//! A lock is followed from the call to its return, so a wait of [`ObjectKind::Named`] contains those by which the lock is
//! made. Every such call is timed like any other.

use evenkeel_patch::arch::stubs::Registers;
use evenkeel_patch::{Frame, thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::plan::KEY_RETURNED;
use evenkeel_wire::record::LABEL_MAX;
use evenkeel_wire::{Event, LabelValue, ObjectKind, Probe, Role};

use super::annotations::{
    begin_interval, count_interval, dequeue_task, end_interval, enqueue_task, work_for,
};
use super::groups;
use super::memory;
use super::objects::{Object, local};
use super::releasing::record_release;
use super::switch::table;
use super::waiting::{self, SLEPT_TICKS_MIN};
use crate::arena::Arena;
use crate::labels::FoundLabel;
use crate::{rings, stack_copies};

fn lock(address: u64) -> Object {
    Object::at(ObjectKind::Named, address as *const u8, true)
}

/// The key of a task or interval: shared if it lies in shared memory.
fn key(value: u64) -> u64 {
    match value {
        0 => 0,
        value => memory::key(value).unwrap_or_else(|| local(value)),
    }
}

/// A call of a named function begins. Whether it is to be followed to its return, for which something is remembered.
pub fn enter(probe: &Probe, role: Role, registers: &Registers, arena: Arena) -> bool {
    let Some(table) = table() else { return false };
    let now = now_ticks();
    let returned = probe.key_argument == KEY_RETURNED;
    let value = if returned {
        0
    } else {
        registers.argument(probe.key_argument)
    };
    // Also where nothing is recorded now: intervals are counted, and the plan is looked at where they begin.
    if role == Role::BeginKeyed && !returned {
        begin(probe, registers, arena, value, now);
    }
    if groups::recorder(now).is_none() {
        if role == Role::BeginKeyed && returned {
            // Nobody will look at its return; and what is only counted needs no key.
            count_interval();
        }
        if role == Role::EndKeyed && !returned {
            groups::end_while_counting(key(value), now);
        }
        return false;
    }
    let mut slots = [None, None];
    match role {
        Role::Acquire => slots[0] = Some(lock(value).slot(table)),
        Role::Release if lock(value).slot(table).any() => {
            record_release(lock(value), now);
            return true; // nothing to look at again
        }
        Role::Enqueue => enqueue_task(key(value), now),
        Role::Work if !returned => {
            work_for(key(value), now);
            classify(probe, registers, arena, value);
        }
        Role::EndKeyed => {
            classify(probe, registers, arena, value);
            stack_copies::copy_at_end_anywhere(thread::current(), registers.caller(), now);
        }
        _ => {}
    }
    let thread = thread::current();
    waiting::drop_left(thread, registers.sp());
    waiting::push(thread, slots, registers.sp(), value, now);
    true
}

fn begin(probe: &Probe, registers: &Registers, arena: Arena, value: u64, now: u64) {
    let mut buffer = [0; LABEL_MAX];
    let label = FoundLabel::read(probe, registers, arena).copied(&mut buffer);
    begin_interval(key(value), now, label);
    stack_copies::copy_at_begin(thread::current(), registers.caller(), now);
}

/// The label that this probe has for an interval that is open.
fn classify(probe: &Probe, registers: &Registers, arena: Arena, value: u64) {
    let key = key(value);
    let mut buffer = [0; LABEL_MAX];
    let label = FoundLabel::read(probe, registers, arena).copied(&mut buffer);
    if key != 0 && label != LabelValue::None {
        rings::event(thread::current(), Event::Class { key, label });
    }
}

/// It returns `result`.
pub fn leave(probe: &Probe, role: Role, frame: &Frame, result: u64, now: u64) {
    let Some(value) = waiting::pop(thread::current(), frame.sp) else {
        return;
    };
    let returned = probe.key_argument == KEY_RETURNED;
    match role {
        Role::Acquire if now.wrapping_sub(frame.start) >= SLEPT_TICKS_MIN => {
            let lock = lock(value);
            groups::wait(&[(lock.kind, lock.key())], frame.start, now);
        }
        Role::Release => {
            if let Some(table) = table()
                && lock(value).slot(table).any()
            {
                record_release(lock(value), lock(value).slot(table).announced_ticks());
            }
        }
        Role::Dequeue => dequeue_task(key(if returned { result } else { value }), now),
        Role::Work if returned => work_for(key(result), now),
        Role::BeginKeyed if returned => begin_interval(key(result), now, LabelValue::None),
        Role::EndKeyed => end_interval(key(value), now),
        _ => {}
    }
}
