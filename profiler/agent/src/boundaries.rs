//! From the trampolines of boundaries to [`crate::intervals`], by a short way or a long one (see
//! [`evenkeel_patch::arch::stubs`] for what each saves).
//!
//! The short way only calls functions of this crate, `evenkeel-patch` and `evenkeel-wire`; a test follows its calls.
//! The long way handles everything that needs the C library: a thread's first interval, a new plan, a fork, and an
//! occasional look at the loaded libraries. It prepares the thread and then does the same as the short way.

use evenkeel_patch::arch::stubs::{Boundaries, NOT_SHORT, Registers, SHORT_WAYS};
use evenkeel_patch::thread;
use evenkeel_wire::{Probe, Role};

use crate::arena::{self, Arena};
use crate::errno::keeping_errno;
use crate::waits::named;
use crate::{intervals, plan, rings, threads};

/// The callbacks for trampolines.
pub const BOUNDARIES: Boundaries = Boundaries {
    enter,
    leave,
    enter_short,
    leave_short,
};

extern "C" fn enter_short(id: u32, registers: &mut Registers, after: u64) -> u32 {
    let arena = arena::get();
    let Some((probe, role)) = probe(arena, id) else {
        return 0;
    };
    if !SHORT_WAYS || role.is_keyed() {
        return NOT_SHORT;
    }
    intervals::end_before_step(role, registers.sp());
    if !is_ready(role, registers.sp(), arena) {
        return NOT_SHORT;
    }
    intervals::enter(probe, role, registers, after, arena).into()
}

extern "C" fn enter(id: u32, registers: &mut Registers, after: u64) -> u32 {
    keeping_errno(|| enter_long(id, registers, after)).into()
}

extern "C" fn leave_short(id: u32, registers: &mut Registers, after: u64, now: u64) -> u32 {
    let role = probe(arena::get(), id).map(|(_, role)| role);
    if !SHORT_WAYS || role.is_some_and(Role::is_keyed) {
        return NOT_SHORT;
    }
    intervals::leave(id, registers, after, now);
    0
}

extern "C" fn leave(id: u32, registers: &mut Registers, after: u64, now: u64) {
    keeping_errno(|| leave_long(id, registers, after, now));
}

fn probe(arena: Arena, id: u32) -> Option<(&'static Probe, Role)> {
    let probe = arena.probes().get(id as usize)?;
    Some((probe, Role::of(probe)))
}

/// Whether [`make_ready`] would find nothing to do.
fn is_ready(role: Role, sp: u64, arena: Arena) -> bool {
    let thread = thread::current();
    if !threads::is_known_process() {
        return false;
    }
    if thread.closed || !role.begins() {
        return true;
    }
    if thread.shadow.is_null() {
        return false;
    }
    thread.drop_stale(sp);
    if intervals::goes_on(thread, role) {
        return true;
    }
    let recordable = rings::is_own(thread) && thread.end_watched;
    !plan::is_due(arena) && (recordable || !intervals::are_wanted(thread, arena))
}

/// Whether the call's return is to be reported; if so its frame was pushed.
fn enter_long(id: u32, registers: &mut Registers, after: u64) -> bool {
    threads::notice_fork();
    let arena = arena::get();
    let Some((probe, role)) = probe(arena, id) else {
        return false;
    };
    if thread::current().closed {
        return false;
    }
    if role.is_keyed() {
        return named::enter(probe, role, registers, arena)
            && intervals::push_now(thread::current(), registers, after);
    }
    intervals::end_before_step(role, registers.sp());
    if role.begins() && !make_ready(role, registers.sp(), arena) {
        return false;
    }
    intervals::enter(probe, role, registers, after, arena)
}

/// Does what must be done before an interval can begin. False if the thread has no room for its calls.
fn make_ready(role: Role, sp: u64, arena: Arena) -> bool {
    let thread = thread::current();
    if !thread.prepare() {
        rings::count_unrecorded(thread, arena);
        return false;
    }
    thread.drop_stale(sp);
    if intervals::goes_on(thread, role) {
        return true;
    }
    plan::poll(arena);
    if intervals::are_wanted(thread, arena) && rings::ensure(thread, arena) {
        threads::watch_end();
    }
    true
}

fn leave_long(id: u32, registers: &mut Registers, after: u64, now: u64) {
    let keyed = probe(arena::get(), id).filter(|(_, role)| role.is_keyed());
    let Some((probe, role)) = keyed else {
        return intervals::leave(id, registers, after, now);
    };
    if let Some(frame) = intervals::pop(registers, after, now) {
        named::leave(probe, role, &frame, registers.result(), now);
        if frame.start != 0 && thread::current().active != 0 {
            intervals::write_call(thread::current(), &frame, now, id);
        }
    }
}
