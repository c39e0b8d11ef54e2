//! Where intervals begin and end.
//!
//! The recording of inner calls is switched on and off here, by the thread's `active` field; a begun interval that is
//! left by `longjmp` or an exception is noticed at the next beginning.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::x86_64::clock::now_ticks;
use evenkeel_patch::x86_64::stubs::{Boundaries, Registers, restore_return};
use evenkeel_patch::{Frame, Thread, thread};
use evenkeel_wire::record::{LABEL_CHUNK, LABEL_MAX};
use evenkeel_wire::{Marker, Mode, Probe, Record, Role};

use crate::arena::{self, Arena};
use crate::edges::{self, named};
use crate::{labels, plan, rings, sampling, threads};

/// The callbacks for trampolines.
pub const BOUNDARIES: Boundaries = Boundaries { enter, leave };

extern "C" fn enter(id: u32, registers: &mut Registers, after: u64) -> u32 {
    // SAFETY: the C library's per-thread word; the target must find it as it was.
    let errno = unsafe { *libc::__errno_location() };
    let intercept = enter_boundary(id, registers, after);
    unsafe { *libc::__errno_location() = errno };
    intercept as u32
}

extern "C" fn leave(id: u32, registers: &mut Registers, after: u64, now: u64) {
    // SAFETY: as in `enter`.
    let errno = unsafe { *libc::__errno_location() };
    leave_boundary(id, registers, after, now);
    unsafe { *libc::__errno_location() = errno };
}

/// Whether the call's return is to be intercepted; if so its frame was pushed.
fn enter_boundary(id: u32, registers: &mut Registers, after: u64) -> bool {
    threads::notice_fork();
    let arena = arena::get();
    let thread = thread::current();
    if thread.closed {
        return false;
    }
    let Some(probe) = arena.probes().get(id as usize) else {
        return false;
    };
    let sp = registers.sp();
    let role = Role::of(probe);
    let whole = role == Role::Whole;
    if role == Role::Gate {
        thread.admitted = true;
        return thread.open && thread.active != 0 && push(thread, registers, after, now_ticks());
    }
    if role == Role::End {
        return thread.open && push(thread, registers, after, now_ticks());
    }
    if role.is_keyed() {
        return named::enter(probe, role, registers, arena)
            && push(thread::current(), registers, after, now_ticks());
    }
    if !thread.prepare() {
        return false;
    }
    thread.drop_stale(sp);
    if whole && thread.open && root_is_alive(thread) {
        return false; // recursion: the outermost call is the interval
    }
    if !begin(thread, arena, probe, registers) || !whole {
        return false;
    }
    thread.root = thread.top;
    if !push(thread, registers, after, 1) {
        end_recording(thread);
        return false;
    }
    true
}

/// Pushes the frame of a boundary call. Its return address is kept even where the trampoline knows it: a boundary is
/// passed once an interval, and the frame is then the same for all.
fn push(thread: &mut Thread, registers: &Registers, after: u64, start: u64) -> bool {
    thread.push(Frame {
        ret: registers.return_slot,
        sp: registers.sp(),
        start,
        after,
    })
}

fn root_is_alive(thread: &Thread) -> bool {
    // SAFETY: `root` points into this thread's shadow stack while an interval is open.
    !thread.root.is_null() && thread.root < thread.top && unsafe { (*thread.root).start } == 1
}

fn begin(thread: &mut Thread, arena: Arena, probe: &Probe, registers: &Registers) -> bool {
    plan::poll(arena);
    let control = arena.control();
    let mode = control.mode.load(Relaxed);
    let admitted = thread.admitted || control.gated.load(Relaxed) == 0;
    let recording = mode == Mode::Record as u32;
    let counting = mode == Mode::Count as u32;
    if !admitted
        || plan::detached()
        || !(recording || counting || mode == Mode::IntervalsOnly as u32)
        || !rings::ensure(thread, arena)
    {
        end_recording(thread);
        return false;
    }
    threads::watch_end();
    thread.generation = plan::applied();
    if thread.generation == plan::CHANGING {
        rings::count_unplanned(thread);
        end_recording(thread);
        return false;
    }
    thread.frames_lost = 0;
    thread.dropped = rings::dropped(thread);
    thread.root = core::ptr::null_mut();
    thread.sampled = !(counting || sampling::skips(thread, control.skip_65536.load(Relaxed)));
    if !thread.sampled {
        // Followed to its end all the same, so that what is inside of it is not taken for another.
        rings::count_skipped(thread);
        thread.open = true;
        thread.active = u64::from(edges::recording());
        return true;
    }
    let mut labels = [Record::new(0, 0, 0); LABEL_MAX / LABEL_CHUNK];
    let count = labels::read(probe, registers, arena, &mut labels);
    let payload = (thread.generation as u64) << 1 | recording as u64;
    thread.open = rings::begin(thread, payload, &labels[..count]);
    thread.active = (thread.open && recording) as u64;
    thread.open
}

/// No interval is open on the thread now. With edges on, its calls are recorded all the same.
fn end_recording(thread: &mut Thread) {
    thread.open = false;
    thread.active = u64::from(!thread.ring.is_null() && edges::recording());
}

fn leave_boundary(id: u32, registers: &mut Registers, after: u64, now: u64) {
    let thread = thread::current();
    let sp = registers.sp();
    if thread.shadow.is_null() || !thread.surface(sp, after) {
        thread.frames_lost += 1;
        restore_return(thread, sp, after);
        return;
    }
    let frame = thread.pop();
    registers.return_slot = frame.ret;
    let Some(probe) = arena::get().probes().get(id as usize) else {
        return;
    };
    let role = Role::of(probe);
    if role.is_keyed() {
        named::leave(probe, role, &frame, registers.rax, now);
        if frame.start != 0 && thread::current().active != 0 {
            let call = Record::new(frame.start, now.wrapping_sub(frame.start), id);
            rings::write(thread::current(), call);
        }
        return;
    }
    if !thread.open || frame.start == 0 {
        return;
    }
    let inner = role == Role::End || role == Role::Gate;
    if inner && thread.active != 0 {
        rings::write(
            thread,
            Record::new(frame.start, now.wrapping_sub(frame.start), id),
        );
    }
    if role == Role::Gate {
        return;
    }
    if role == Role::Whole && thread.root != thread.top {
        return; // the frame of an interval that was given up
    }
    finish(thread, now);
}

fn finish(thread: &mut Thread, now: u64) {
    end_recording(thread);
    if !thread.sampled {
        return;
    }
    if thread.frames_lost > 0 {
        rings::write(thread, Record::marker(Marker::Abandon, now, 0));
    }
    for depth in 0..thread.frames().len() {
        if let Some(open) = open_record(&thread.frames()[depth]) {
            rings::write(thread, open);
        }
    }
    // Last, as it may have been a marker that was dropped; and without it no end: the next beginning then tells.
    let dropped = rings::dropped(thread).wrapping_sub(thread.dropped);
    if dropped == 0 || rings::write(thread, Record::marker(Marker::Gap, now, dropped)) {
        rings::write(
            thread,
            Record::marker(Marker::End, now, (plan::applied() as u64) << 1 | 1),
        );
    }
}

/// The record of a call that is still running; `None` for a frame that is an interval, or void. Its trampoline says which
/// probe it belongs to.
pub fn open_record(frame: &Frame) -> Option<Record> {
    if frame.start <= 1 || frame.sp == u64::MAX {
        return None;
    }
    // SAFETY: a frame in flight.
    let id = unsafe { evenkeel_patch::x86_64::trampoline::probe_id(frame.after) };
    Some(Record::marker(Marker::Open, frame.start, id.into()))
}
