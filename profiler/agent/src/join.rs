//! Joining the session, once per program image.

use core::sync::atomic::Ordering::*;

use evenkeel_wire::now_ticks;
use evenkeel_wire::{Mode, ModuleState};

use crate::arena::{self, Arena};
use crate::{boundaries, calibrate, plan, rings, signals, threads, waits};

/// How often a waiting process looks for its verdict.
const NAP_NS: i64 = 200_000;

/// Finds the session and stays with it if this process is wanted; otherwise leaves no trace but this library.
pub fn join() {
    let Some(arena) = arena::open() else { return };
    let control = arena.control();
    control.processes.fetch_add(1, Relaxed);
    let unwanted = over(arena) || {
        let executable = plan::prepare(arena, boundaries::BOUNDARIES);
        executable.is_none_or(|index| verdict(arena, index, u32::MAX) != ModuleState::Wanted as u32)
    };
    if unwanted {
        arena.unmap();
        return;
    }
    // The interval may lie in a library: the plan is complete when all that is loaded has been judged.
    for index in plan::loaded() {
        verdict(arena, index, u32::MAX);
    }
    arena.publish();
    rings::release_inherited(arena);
    signals::take_over();
    threads::watch();
    rings::discard_records(evenkeel_patch::thread::current());
    if control.calibration_claimed.swap(1, Relaxed) == 0 {
        calibrate::calibrate(control);
    }
    control.processes_hooked.fetch_add(1, Relaxed);
    waits::switch::follow(arena);
    plan::start(arena);
}

fn over(arena: Arena) -> bool {
    let control = arena.control();
    control.mode.load(Relaxed) == Mode::Detach as u32
        || now_ticks() > control.lease_ticks.load(Relaxed)
}

/// Waits for the session to judge a module. It answers within milliseconds the first time and has the answer ready for
/// every further process; a session that died answers by letting its lease run out. Gives up after so many `naps`.
pub fn verdict(arena: Arena, index: usize, naps: u32) -> u32 {
    // SAFETY: an announced entry of the table.
    let module = unsafe { &*arena.module(index) };
    for _ in 0..naps {
        let state = module.state.load(Acquire);
        if state == ModuleState::Wanted as u32 || state == ModuleState::Ignored as u32 {
            return state;
        }
        if over(arena) {
            break;
        }
        let nap = libc::timespec {
            tv_sec: 0,
            tv_nsec: NAP_NS,
        };
        // SAFETY: a duration of our own.
        unsafe { libc::nanosleep(&nap, core::ptr::null_mut()) };
    }
    ModuleState::Ignored as u32
}
