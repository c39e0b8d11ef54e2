//! Implementations of the functions of `include/evenkeel.h` and of the crate `evenkeel-annotate`.

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering::*;

use evenkeel_patch::Thread;
use evenkeel_patch::arch::here;
use evenkeel_patch::thread::current;
use evenkeel_wire::now_ticks;
use evenkeel_wire::record::LABEL_MAX;
use evenkeel_wire::{Event, LabelValue, Mode, ObjectKind};

use super::groups::{self, recorder};
use super::objects::named_by_user;
use super::switch::table;
use crate::errno::keeping_errno;
use crate::intervals::{Beginning, beginning};
use crate::{arena, code_state, plan, rings, stack_copies};

/// The table that annotated programs look for. New functions are added at its end.
#[repr(C)]
pub struct Annotations {
    /// Bytes of the table.
    bytes: u64,
    begin: extern "C" fn(u64),
    end: extern "C" fn(u64),
    work: extern "C" fn(u64),
    enqueue: extern "C" fn(u64),
    dequeue: extern "C" fn(u64),
    class: extern "C" fn(u64, *const c_char, u64),
    attribute: extern "C" fn(u64, *const c_char, u64, i64),
}

/// Its name carries its version.
#[unsafe(no_mangle)]
pub static evenkeel_annotations_1: Annotations = Annotations {
    bytes: size_of::<Annotations>() as u64,
    begin,
    end,
    work,
    enqueue,
    dequeue,
    class,
    attribute,
};

extern "C" fn begin(id: u64) {
    if table().is_some() {
        keeping_errno(|| {
            let now = now_ticks();
            begin_interval(named_by_user(id), now, LabelValue::None);
            stack_copies::copy_at_begin(current(), here::registers(), now);
        });
    }
}

extern "C" fn end(id: u64) {
    if table().is_some() {
        keeping_errno(|| {
            let now = now_ticks();
            stack_copies::copy_at_end_anywhere(current(), here::registers(), now);
            end_interval(named_by_user(id), now);
        });
    }
}

extern "C" fn work(id: u64) {
    if table().is_some() {
        keeping_errno(|| work_for(named_by_user(id), now_ticks()));
    }
}

extern "C" fn enqueue(task: u64) {
    if table().is_some() {
        keeping_errno(|| enqueue_task(named_by_user(task), now_ticks()));
    }
}

extern "C" fn dequeue(task: u64) {
    if table().is_some() {
        keeping_errno(|| dequeue_task(named_by_user(task), now_ticks()));
    }
}

extern "C" fn class(id: u64, name: *const c_char, bytes: u64) {
    describe(name, bytes, |text| Event::Class {
        key: named_by_user(id),
        label: LabelValue::Text(text),
    });
}

extern "C" fn attribute(id: u64, name: *const c_char, bytes: u64, value: i64) {
    describe(name, bytes, |text| Event::Attribute {
        key: named_by_user(id),
        name: text,
        value,
    });
}

/// Writes an event about `bytes` of text, or the text up to its zero.
fn describe(name: *const c_char, bytes: u64, event: impl for<'a> FnOnce(&'a [u8]) -> Event<'a>) {
    if table().is_none() || name.is_null() {
        return;
    }
    // SAFETY: the annotation's text.
    let text = unsafe {
        if bytes == u64::MAX {
            CStr::from_ptr(name).to_bytes()
        } else {
            core::slice::from_raw_parts(name.cast::<u8>(), bytes as usize)
        }
    };
    keeping_errno(|| {
        if let Some(thread) = recorder(now_ticks()) {
            rings::event(thread, event(&text[..text.len().min(LABEL_MAX)]));
        }
    });
}

/// An interval begins, and the thread works on it. The plan is polled here.
pub fn begin_interval(key: u64, at: u64, label: LabelValue<'_>) {
    plan::poll(arena::get());
    begin_planned(key, at, label);
}

/// As [`begin_interval`], where somebody else looks after the plan.
pub fn begin_planned(key: u64, at: u64, label: LabelValue<'_>) {
    let arena = arena::get();
    if key == 0 {
        return;
    }
    let thread = evenkeel_patch::thread::current();
    let beginning = beginning(thread, arena);
    let Beginning::Recorded(stamp) = beginning else {
        if rings::ensure(thread, arena) {
            beginning.count(thread);
        }
        if matches!(beginning, Beginning::Skipped) {
            // What the thread does now is not for the interval it worked for before.
            work_for(key, at);
        }
        return;
    };
    let Some(thread) = recorder(at) else { return };
    let event = Event::BeginKeyed {
        at,
        key,
        stamp,
        label,
    };
    if rings::event(thread, event) {
        set_work(thread, key, at);
    } else {
        rings::count_missed(thread);
    }
}

/// An interval begins while nothing is recorded. The plan is still polled.
pub fn count_interval() {
    let arena = arena::get();
    plan::poll(arena);
    let mode = arena.control().mode.load(Relaxed);
    let thread = evenkeel_patch::thread::current();
    // Recording may have begun since the caller looked.
    let counted = mode == Mode::Count as u32 || mode == Mode::Record as u32;
    if counted && rings::ensure(thread, arena) {
        rings::count_skipped(thread);
    }
}

/// An interval ends; a thread that worked on it works on none.
pub fn end_interval(key: u64, at: u64) {
    let generation = code_state::applied();
    let is_recorded = groups::with_open(at, |open| Event::EndKeyed {
        at,
        key,
        generation,
        open,
    });
    if !is_recorded {
        groups::end_while_counting(key, at);
    }
    if evenkeel_patch::thread::current().work == key {
        work_for(0, at);
    }
}

/// From now on the thread works on an interval; 0: on none.
pub fn work_for(key: u64, at: u64) {
    if let Some(thread) = recorder(at) {
        set_work(thread, key, at);
    }
}

fn set_work(thread: &mut Thread, key: u64, at: u64) {
    if rings::event(thread, Event::Work { at, key }) {
        thread.work = key;
    }
}

/// A task is put into a queue.
pub fn enqueue_task(key: u64, at: u64) {
    groups::enqueue(ObjectKind::Task, key, at);
}

/// A task is taken out of a queue.
pub fn dequeue_task(key: u64, at: u64) {
    groups::dequeue(ObjectKind::Task, key, at);
}
