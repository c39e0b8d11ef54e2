//! Stacks of threads that delay others in functions without timed calls, copied at a release that has a waiter.

use evenkeel_patch::arch::here;
use evenkeel_patch::thread;
use evenkeel_wire::CopiedAt;

use crate::{intervals, stack_copies};

/// Copies the calling thread's stack at `now` if none of its calls is timed.
pub fn copy_if_unknown(now: u64) {
    let thread = thread::current();
    // Before its first event a thread's calls are not recorded, and whether one is timed is not known.
    if thread.active == 0 || !stack_copies::is_due(thread, now) {
        return;
    }
    let mut calls = thread.frames().iter().filter_map(intervals::open_call);
    if calls.next().is_none() {
        stack_copies::copy(thread, CopiedAt::Release, here::registers(), now);
    }
}
