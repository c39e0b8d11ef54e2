//! What the functions of `include/evenkeel.h` and of the crate `evenkeel-annotate` lead to.

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering::*;

use evenkeel_patch::Thread;
use evenkeel_wire::edges::end_payload;
use evenkeel_wire::now_ticks;
use evenkeel_wire::record::{LABEL_CHUNK, LABEL_MAX};
use evenkeel_wire::{Kind, Marker, Mode, Record};

use super::groups::{self, keeping_errno, object, recorder};
use super::objects::named_by_user;
use super::switch::table;
use crate::{arena, plan, rings, sampling};

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
        keeping_errno(|| begin_interval(named_by_user(id), now_ticks(), &[]));
    }
}

extern "C" fn end(id: u64) {
    if table().is_some() {
        keeping_errno(|| end_interval(named_by_user(id), now_ticks()));
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
    describe(Marker::Class, id, name, bytes, 0);
}

extern "C" fn attribute(id: u64, name: *const c_char, bytes: u64, value: i64) {
    describe(Marker::Attribute, id, name, bytes, value as u64);
}

/// `bytes` of text, or up to its zero.
fn describe(marker: Marker, id: u64, name: *const c_char, bytes: u64, value: u64) {
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
        let Some(thread) = recorder(now_ticks()) else {
            return;
        };
        let text = &text[..text.len().min(LABEL_MAX)];
        let mut group = [Record::marker(marker, value, 0); 2 + LABEL_MAX / LABEL_CHUNK];
        group[1] = object(Kind::Interval, named_by_user(id));
        let mut len = 2;
        for chunk in text.chunks(LABEL_CHUNK) {
            group[len] = Record::from_label_chunk(chunk);
            len += 1;
        }
        rings::group(thread, &group[..len]);
    });
}

/// An interval begins, and the thread works for it. A beginning is where the plan is looked at.
pub fn begin_interval(key: u64, at: u64, labels: &[Record]) {
    let arena = arena::get();
    plan::poll(arena);
    let generation = plan::applied();
    if key == 0 {
        return;
    }
    let control = arena.control();
    let thread = evenkeel_patch::thread::current();
    if generation == plan::CHANGING {
        if rings::ensure(thread, arena) {
            rings::count_unplanned(thread);
        }
        return;
    }
    let counting = control.mode.load(Relaxed) == Mode::Count as u32;
    if counting || sampling::skips(thread, control.skip_65536.load(Relaxed)) {
        if rings::ensure(thread, arena) {
            rings::count_skipped(thread);
        }
        // What the thread does now is not for the interval it worked for before.
        work_for(key, at);
        return;
    }
    let Some(thread) = recorder(at) else { return };
    let probed = arena.control().mode.load(Relaxed) == Mode::Record as u32;
    let payload = u64::from(generation) << 1 | u64::from(probed);
    let mut group = [object(Kind::Interval, key); 2 + LABEL_MAX / LABEL_CHUNK];
    group[0] = Record::marker(Marker::BeginKeyed, at, payload);
    group[2..2 + labels.len()].copy_from_slice(labels);
    if rings::group(thread, &group[..2 + labels.len()]) {
        set_work(thread, key, at);
    } else {
        rings::count_missed(thread);
    }
}

/// An interval begins while nothing is recorded. The plan is looked at all the same.
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

/// An interval ends; if the thread worked for it, it works for none now.
pub fn end_interval(key: u64, at: u64) {
    let generation = plan::applied();
    groups::with_open(Marker::EndKeyed, at, Kind::Interval, key, |opens| {
        end_payload(generation, opens)
    });
    if evenkeel_patch::thread::current().work == key {
        work_for(0, at);
    }
}

/// The thread works for an interval from now on; 0: for none.
pub fn work_for(key: u64, at: u64) {
    if let Some(thread) = recorder(at) {
        set_work(thread, key, at);
    }
}

fn set_work(thread: &mut Thread, key: u64, at: u64) {
    if rings::group(
        thread,
        &[
            Record::marker(Marker::Work, at, 0),
            object(Kind::Interval, key),
        ],
    ) {
        thread.work = key;
    }
}

/// A task is put into a queue.
pub fn enqueue_task(key: u64, at: u64) {
    groups::with_open(Marker::Enqueue, at, Kind::Task, key, |opens| opens as u64);
}

/// A task is taken out of a queue.
pub fn dequeue_task(key: u64, at: u64) {
    groups::plain(Marker::Dequeue, at, 0, Kind::Task, key);
}
