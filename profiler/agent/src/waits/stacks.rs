//! The stacks of threads that hold others up in functions of which no call is timed.
//!
//! Copied at a release for which somebody waits, each thread's now and then; what it was in is the session's to find out, which has
//! the unwind tables. It costs a system call of about a microsecond; a process that has confined itself makes none.

use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_patch::arch::here;
use evenkeel_patch::{kernel, thread};
use evenkeel_wire::CopyState;

use crate::{arena, intervals};

/// How often a thread's stack is copied, in ticks (some ten milliseconds).
const PERIOD_TICKS: u64 = 30_000_000;

/// Copies the calling thread's stack at `now` if none of its calls is timed.
pub fn copy_if_unknown(now: u64) {
    let thread = thread::current();
    // Before its first event a thread's calls are not recorded, and whether one is timed is not known.
    if thread.active == 0 || now < thread.copy_ticks || kernel::is_confined() {
        return;
    }
    let mut calls = thread.frames().iter().filter_map(intervals::open_call);
    if calls.next().is_some() {
        return;
    }
    let mut copies = arena::get().stacks().iter();
    let Some(copy) = copies.find(|copy| claim(&copy.state)) else {
        return;
    };
    thread.copy_ticks = now + PERIOD_TICKS;
    let registers = here::registers();
    for (slot, register) in copy.registers.iter().zip(registers) {
        slot.store(register, Relaxed);
    }
    let len = kernel::copy_words(registers[1], &copy.words);
    copy.len.store(len as u32, Relaxed);
    copy.pid.store(kernel::process_id() as u32, Relaxed);
    copy.state.store(CopyState::Full as u32, Release);
}

fn claim(state: &AtomicU32) -> bool {
    let (free, claimed) = (CopyState::Free as u32, CopyState::Claimed as u32);
    state.load(Relaxed) == free
        && state
            .compare_exchange(free, claimed, Acquire, Relaxed)
            .is_ok()
}
