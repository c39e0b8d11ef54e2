//! Joining the session, once per program image.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::x86_64::clock::now_ticks;
use evenkeel_wire::{Mode, ModuleState};

use crate::arena::{self, Arena};
use crate::{calibrate, intervals, plan, rings, signals, threads};

/// How often a waiting process looks for its verdict.
const NAP_NS: i64 = 200_000;

/// Finds the session and stays with it if this process is wanted; otherwise leaves no trace but this library.
pub fn join() {
    let Some(arena) = arena::open() else { return };
    let control = arena.control();
    control.processes.fetch_add(1, Relaxed);
    let unwanted = over(arena) || {
        let executable = plan::prepare(arena, intervals::BOUNDARIES);
        !executable.is_some_and(|index| is_wanted(arena, index))
    };
    if unwanted {
        arena.unmap();
        return;
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
    plan::start(arena);
}

fn over(arena: Arena) -> bool {
    let control = arena.control();
    control.mode.load(Relaxed) == Mode::Detach as u32 || now_ticks() > control.lease_ticks.load(Relaxed)
}

/// Waits for the session to judge the executable. It answers within milliseconds the first time and has the answer
/// ready for every further process; a session that died answers by letting its lease run out.
fn is_wanted(arena: Arena, index: usize) -> bool {
    // SAFETY: an announced entry of the table.
    let module = unsafe { &*arena.module(index) };
    while !over(arena) {
        match module.state.load(Acquire) {
            state if state == ModuleState::Wanted as u32 => return true,
            state if state == ModuleState::Ignored as u32 => return false,
            _ => {
                let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP_NS };
                // SAFETY: a duration of our own.
                unsafe { libc::nanosleep(&nap, core::ptr::null_mut()) };
            }
        }
    }
    false
}
