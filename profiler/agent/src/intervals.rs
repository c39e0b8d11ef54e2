//! Where intervals begin and end.
//!
//! Switches the recording of inner calls on and off, by the thread's `active` field. An interval that is one call ends where
//! `longjmp` or an exception leaves that call. If nobody sees it left, the next beginning tells.

use core::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_patch::arch::stubs::{Registers, restore_return};
use evenkeel_patch::thread::{Label, OpenInterval};
use evenkeel_patch::{Frame, Thread, thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Control, Form, KeepRate, Mode, Open, Probe, Record, Role, Stamp};

use crate::arena::{self, Arena};
use crate::labels::FoundLabel;
use crate::{code_state, rings, sampling, stack_copies, waits};

/// Whether the call's return is to be intercepted; if so its frame was pushed. The thread is ready (see
/// [`crate::boundaries`]), and the role is not one with a key.
pub fn enter(probe: &Probe, role: Role, registers: &Registers, after: u64, arena: Arena) -> bool {
    let thread = thread::current();
    if thread.closed {
        return false;
    }
    if role == Role::Gate {
        thread.admitted = true;
        return thread.interval.is_open()
            && thread.active != 0
            && push_now(thread, registers, after);
    }
    if role == Role::Label {
        pass_label(thread, probe, registers, arena);
        // The hook of an entry lies inside of a call that is timed by its own.
        let is_site = probe.form != Form::Entry as u8;
        return is_site
            && thread.interval.is_open()
            && thread.active != 0
            && push_now(thread, registers, after);
    }
    if role == Role::End {
        // What is still in flight at the interval's end is reported as that.
        thread.drop_stale(registers.sp());
        if thread.interval.is_recorded() {
            stack_copies::copy_at_end(thread, registers.caller(), now_ticks());
        }
        if !thread.interval.is_open() {
            note_end_elsewhere();
        }
        return thread.interval.is_open() && push_now(thread, registers, after);
    }
    let whole = role == Role::Whole;
    if goes_on(thread, role) || !begin(thread, arena, || FoundLabel::read(probe, registers, arena))
    {
        return false;
    }
    if !whole {
        if thread.interval.is_recorded() {
            stack_copies::copy_at_begin(thread, registers.caller(), now_ticks());
        }
        return false;
    }
    thread.root = thread.top;
    thread.on_left = Some(fail);
    if !push(thread, registers, after, now_ticks() | Frame::INTERVAL) {
        end_recording(thread);
        return false;
    }
    true
}

/// The thread comes to a call that may give the open interval its label. It does so once, unless its record found no room.
fn pass_label(thread: &mut Thread, probe: &Probe, registers: &Registers, arena: Arena) {
    thread.interval = match thread.interval {
        OpenInterval::None => OpenInterval::None,
        OpenInterval::Skipped(_) => OpenInterval::Skipped(Label::Missed),
        OpenInterval::Recorded(Label::Given) => OpenInterval::Recorded(Label::Given),
        OpenInterval::Recorded(_) => {
            let found = FoundLabel::read(probe, registers, arena);
            let is_given = found.records() == 0 || rings::classify(thread, &found);
            let label = if is_given {
                Label::Given
            } else {
                Label::Missed
            };
            OpenInterval::Recorded(label)
        }
    };
}

/// Whether this is a call of an interval inside of it: in a recursion the outermost call is the interval. Stale frames have
/// been dropped.
fn is_nested(thread: &Thread, role: Role) -> bool {
    role == Role::Whole && thread.interval_slot().is_some()
}

/// Whether a call that may begin an interval belongs to the open one. It does if it lies inside of it, or is one more
/// step before the interval's subject. Stale frames have been dropped.
pub fn goes_on(thread: &Thread, role: Role) -> bool {
    is_nested(thread, role)
        || (role == Role::Step && thread.interval.is_open() && !thread.interval.is_past_label())
}

/// Ends the open interval where the first step of the next one begins. That is before the thread looks for a new plan, so that
/// the interval is one of the plan that it began with.
pub fn end_before_step(role: Role, sp: u64) {
    let thread = thread::current();
    if role == Role::Step && thread.interval.is_past_label() {
        thread.drop_stale(sp);
        finish(thread, now_ticks());
    }
}

/// Pushes the frame of a boundary call that begins now.
pub fn push_now(thread: &mut Thread, registers: &Registers, after: u64) -> bool {
    push(thread, registers, after, now_ticks())
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

/// Whether intervals of this thread are recorded or counted at present.
pub fn are_wanted(thread: &Thread, arena: Arena) -> bool {
    let control = arena.control();
    let mode = control.mode.load(Relaxed);
    let admitted = thread.admitted || control.gated.load(Relaxed) == 0;
    let modes = [Mode::Record, Mode::Count, Mode::IntervalsOnly];
    admitted && !code_state::detached() && modes.into_iter().any(|wanted| mode == wanted as u32)
}

/// Begins an interval: whether it is followed to its end, recorded or not. The thread has a ring, or none to write to.
pub fn begin(thread: &mut Thread, arena: Arena, label: impl FnOnce() -> FoundLabel) -> bool {
    if !are_wanted(thread, arena) || !rings::is_own(thread) {
        end_recording(thread);
        return false;
    }
    if core::mem::take(&mut thread.gives_back) {
        // A handler of a signal, or what it left: the space of the interval before is settled first.
        rings::count_missed(thread);
        end_recording(thread);
        return false;
    }
    (thread.frames_lost, thread.frames_dropped) = (0, 0);
    (thread.frames_suspended, thread.left_unseen) = (0, 0);
    thread.dropped = rings::dropped(thread);
    thread.root = core::ptr::null_mut();
    let beginning = beginning(thread, arena);
    let Beginning::Recorded(stamp) = beginning else {
        note_left(thread);
        beginning.count(thread);
        if matches!(beginning, Beginning::Unplanned) {
            end_recording(thread);
            return false;
        }
        // The interval is still followed to its end: its latency counts, and its inner calls begin no other interval.
        thread.begun_ticks = now_ticks();
        rings::note_open(thread, thread.begun_ticks);
        thread.interval = OpenInterval::Skipped(Label::Awaited);
        thread.active = active_for_others();
        return true;
    };
    let label = label();
    // One for which the ring has no room is missed, once: it is followed to its end like those that are not in the sample.
    let is_recorded = rings::begin(thread, stamp, &label);
    thread.interval = match is_recorded {
        true => OpenInterval::Recorded(Label::Awaited),
        false => OpenInterval::Skipped(Label::Awaited),
    };
    thread.begun_ticks = now_ticks();
    rings::note_open(thread, thread.begun_ticks);
    let probed = is_recorded && stamp.probed;
    thread.active = match (probed, is_recorded) {
        (true, _) => Thread::IN_INTERVAL,
        (false, true) => 0,
        (false, false) => active_for_others(),
    };
    true
}

/// Treatment of an interval that begins now, one that stays on its thread or one with a key.
pub enum Beginning {
    /// It is recorded under this plan.
    Recorded(Stamp),
    /// It is counted: intervals are counted only, or it is not in the sample.
    Skipped,
    /// Another thread is changing the plan.
    Unplanned,
}

impl Beginning {
    /// Counts the interval if it is not recorded. The thread has a ring, its own or none to write to.
    pub fn count(&self, thread: &mut Thread) {
        match self {
            Beginning::Recorded(_) => {}
            Beginning::Skipped => rings::count_skipped(thread),
            Beginning::Unplanned => rings::count_unplanned(thread),
        }
    }
}

/// Decides it.
pub fn beginning(thread: &mut Thread, arena: Arena) -> Beginning {
    let generation = code_state::applied();
    if generation == code_state::CHANGING {
        return Beginning::Unplanned;
    }
    let control = arena.control();
    let mode = control.mode.load(Relaxed);
    if mode == Mode::Count as u32 || sampling::skips(thread, control.skip_65536.load(Relaxed)) {
        return Beginning::Skipped;
    }
    Beginning::Recorded(Stamp {
        generation,
        probed: mode == Mode::Record as u32,
    })
}

/// Another interval begins, and its beginning is not recorded. The session would await the end of the one before for ever.
fn note_left(thread: &mut Thread) {
    if thread.interval.is_recorded() {
        rings::write(thread, Record::left(now_ticks()));
        rings::publish_all(thread);
    }
}

/// No interval is open on the thread now. With waits on, its calls are still recorded.
fn end_recording(thread: &mut Thread) {
    if thread.interval.is_open() {
        rings::note_open(thread, 0);
    }
    thread.interval = OpenInterval::None;
    thread.active = match thread.ring.is_null() {
        true => 0,
        false => active_for_others(),
    };
}

/// Whether the thread's calls are recorded while it has no interval that is.
fn active_for_others() -> u64 {
    if waits::recording() {
        Thread::ALWAYS
    } else {
        0
    }
}

/// Pops the frame of a boundary call that returned at `now`, and restores its return address. `None` where the frame
/// was lost; the return address is still restored.
pub fn pop(registers: &mut Registers, after: u64, now: u64) -> Option<Frame> {
    let thread = thread::current();
    let sp = registers.sp();
    if thread.shadow.is_null() || !thread.surface(sp, after, now) {
        thread.frames_lost += 1;
        restore_return(thread, sp, after);
        if !thread.closed {
            count(&arena::get().control().intervals_switched, 1);
        }
        return None;
    }
    let frame = thread.pop();
    registers.return_slot = frame.ret;
    Some(frame)
}

/// Records the call of a boundary.
pub fn write_call(thread: &mut Thread, frame: &Frame, now: u64, id: u32) {
    let call = Record::new(frame.start, now.wrapping_sub(frame.start), id);
    rings::write(thread, call);
}

/// A boundary call returned; its role is not one with a key.
pub fn leave(id: u32, registers: &mut Registers, after: u64, now: u64) {
    let Some(frame) = pop(registers, after, now) else {
        return;
    };
    let Some(probe) = arena::get().probes().get(id as usize) else {
        return;
    };
    let role = Role::of(probe);
    let thread = thread::current();
    if !thread.interval.is_open() || frame.start == 0 {
        return;
    }
    let inner = matches!(role, Role::End | Role::Gate | Role::Label);
    if inner && thread.active != 0 {
        write_call(thread, &frame, now, id);
    }
    if matches!(role, Role::Gate | Role::Label) {
        return;
    }
    if role == Role::Whole && thread.root != thread.top {
        return; // the frame of an interval that was given up
    }
    finish(thread, now);
}

/// Ends the open interval.
pub fn finish(thread: &mut Thread, now: u64) {
    end(thread, now, false);
}

/// The same where an exception, `longjmp` or the end of the thread leaves the interval's call.
pub fn fail(thread: &mut Thread, now: u64) {
    end(thread, now, true);
}

fn end(thread: &mut Thread, now: u64, left: bool) {
    let (was_recorded, was_probed) = (thread.interval.is_recorded(), thread.active != 0);
    rings::note_end(thread);
    end_recording(thread);
    if !was_recorded {
        if rings::is_own(thread) {
            rings::count_latency(thread, now.saturating_sub(thread.begun_ticks));
        }
        return;
    }
    let control = arena::get().control();
    count(&control.calls_suspended, thread.frames_suspended);
    count(&control.calls_left_unseen, thread.left_unseen);
    count(
        &control.shadow_full,
        core::mem::take(&mut thread.shadow_full),
    );
    let is_whole = thread.frames_lost == 0 && rings::dropped(thread) == thread.dropped;
    let most = match (is_whole, was_probed) {
        (true, true) => KeepRate::MOST,
        (true, false) => sampling::BYPASSED_MOST,
        // An interval that lost records reports it.
        (false, _) => KeepRate::ALL,
    };
    let Some(keep) = sampling::keep(thread, control, now, most) else {
        rings::give_back(thread);
        rings::count_skipped(thread);
        rings::count_latency(thread, now.saturating_sub(thread.begun_ticks));
        return;
    };
    if thread.frames_lost > 0 {
        count(&control.intervals_switched, 1);
        rings::write(thread, Record::abandon(now));
    }
    for depth in 0..thread.frames().len() {
        if let Some(open) = open_call(&thread.frames()[depth]) {
            rings::write(thread, open.record());
        }
    }
    // Last, as it may have been a marker that was dropped; and without it no end: the next beginning then reports it.
    let dropped = rings::dropped(thread).wrapping_sub(thread.dropped);
    if dropped == 0 || rings::write(thread, Record::gap(now, dropped)) {
        let end = Record::end_of_interval(now, code_state::applied(), keep, left);
        rings::write(thread, end);
    }
    rings::publish_all(thread);
}

/// An interval ends on a thread on which none is open: perhaps it was begun by another.
fn note_end_elsewhere() {
    let counter = &arena::get().control().ends_elsewhere;
    if counter.load(Relaxed) < Control::ENDS_ELSEWHERE_MAX {
        counter.fetch_add(1, Relaxed);
    }
}

/// Adds to a counter of the session's, which costs a locked instruction: only where there is something to add.
fn count(counter: &AtomicU64, more: u64) {
    if more > 0 {
        counter.fetch_add(more, Relaxed);
    }
}

/// A call that is still running; `None` for a frame that is an interval, or void. Its trampoline says which
/// probe it belongs to.
pub fn open_call(frame: &Frame) -> Option<Open> {
    if frame.start == 0
        || frame.start & Frame::INTERVAL != 0
        || frame.sp == u64::MAX
        || frame.sp == 0
    {
        return None;
    }
    // SAFETY: a frame in flight.
    let probe = unsafe { evenkeel_patch::arch::trampoline::probe_id(frame.after) };
    let start = frame.start;
    Some(Open { start, probe })
}
