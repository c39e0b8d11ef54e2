//! Copies of threads' stacks. What the thread was in is the session's to find out, which has the unwind tables.
//!
//! A copy costs a system call of about a microsecond, and each thread's stack is copied now and then only; a process that has
//! confined itself makes none.
//!
//! An interval may lie between the call of one function and the return of another. Then its function is unknown: it
//! is one that was active at its beginning or at its end. So both stacks of one interval are copied.

use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_patch::{Thread, kernel};
use evenkeel_wire::{CopiedAt, CopyState};

use crate::arena;

/// How often a thread's stack is copied, in ticks (some ten milliseconds).
const PERIOD_TICKS: u64 = 30_000_000;

/// Whether it is time for another copy of this thread's stack.
pub fn is_due(thread: &Thread, now: u64) -> bool {
    now >= thread.copy_ticks && !kernel::is_confined()
}

/// Copies a stack from the stack pointer in `registers` on (instruction pointer, stack pointer, frame pointer). False if there is no room.
pub fn copy(thread: &mut Thread, at: CopiedAt, registers: [u64; 3], now: u64) -> bool {
    let mut copies = arena::get().stacks()[at.places()].iter();
    let Some(copy) = copies.find(|copy| claim(&copy.state)) else {
        return false;
    };
    thread.copy_ticks = now + PERIOD_TICKS;
    for (slot, register) in copy.registers.iter().zip(registers) {
        slot.store(register, Relaxed);
    }
    let len = kernel::copy_words(registers[1], &copy.words);
    // SAFETY: null, or the thread's ring.
    let tid = unsafe { thread.ring.as_ref() }.map_or(0, |ring| ring.tid.load(Relaxed));
    copy.len.store(len as u32, Relaxed);
    copy.at.store(at as u32, Relaxed);
    copy.pid.store(kernel::process_id() as u32, Relaxed);
    copy.tid.store(tid, Relaxed);
    copy.state.store(CopyState::Full as u32, Release);
    true
}

/// Copies the stack of a thread on which an interval begins that is recorded, if it is time for that.
pub fn copy_at_begin(thread: &mut Thread, registers: [u64; 3], now: u64) {
    thread.copied_at_begin = is_due(thread, now) && copy(thread, CopiedAt::Begin, registers, now);
}

/// Copies the stack of a thread on which an interval ends, if it was copied where one began.
pub fn copy_at_end(thread: &mut Thread, registers: [u64; 3], now: u64) {
    if core::mem::take(&mut thread.copied_at_begin) && !kernel::is_confined() {
        copy(thread, CopiedAt::End, registers, now);
    }
}

/// Like `copy_at_end`, for the end of an interval that may have begun on another thread: also copies this thread's
/// stack if it is time.
pub fn copy_at_end_anywhere(thread: &mut Thread, registers: [u64; 3], now: u64) {
    if is_due(thread, now) {
        thread.copied_at_begin = false;
        copy(thread, CopiedAt::End, registers, now);
    } else {
        copy_at_end(thread, registers, now);
    }
}

fn claim(state: &AtomicU32) -> bool {
    let (free, claimed) = (CopyState::Free as u32, CopyState::Claimed as u32);
    state.load(Relaxed) == free
        && state
            .compare_exchange(free, claimed, Acquire, Relaxed)
            .is_ok()
}
