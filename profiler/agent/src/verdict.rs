//! The session's verdicts on this process: whether a module is wanted, and whether the session is over.

use core::sync::atomic::Ordering::*;

use evenkeel_wire::{Mode, ModuleState, now_ticks};

use crate::arena::Arena;

/// How often a waiting process checks for the verdict.
const NAP_NS: i64 = 200_000;

/// Whether the session is over: it has ended, or its lease has run out.
pub fn is_over(arena: Arena, now: u64) -> bool {
    let control = arena.control();
    control.mode.load(Relaxed) == Mode::Detach as u32 || now > control.lease_ticks.load(Relaxed)
}

/// Waits for the session to judge a module. The session answers within milliseconds the first time and has the answer
/// ready for every further process. For a session that died, the lease runs out. Gives up after this many `naps`.
pub fn verdict(arena: Arena, index: usize, naps: u32) -> u32 {
    let module = arena.module(index);
    for _ in 0..naps {
        let state = module.state.load(Acquire);
        if state == ModuleState::Wanted as u32 || state == ModuleState::Ignored as u32 {
            return state;
        }
        if is_over(arena, now_ticks()) {
            break;
        }
        nap();
    }
    ModuleState::Ignored as u32
}

/// Two tenths of a millisecond.
pub fn nap() {
    let nap = libc::timespec {
        tv_sec: 0,
        tv_nsec: NAP_NS,
    };
    // SAFETY: a duration of our own.
    unsafe { libc::nanosleep(&nap, core::ptr::null_mut()) };
}
