//! Orphans of a shadow stack: frames that look stale, whose calls may still return. They are remembered, replaced by later calls at the same
//! place, and dropped once dead.

use core::mem::MaybeUninit;
use core::sync::atomic::{Ordering::*, compiler_fence};

use evenkeel_wire::now_ticks;

use super::{ORPHANS_MAX, SEPARATOR, Shadow};
use crate::arch::counter;
use crate::frame::Frame;
use crate::kernel;

/// With fewer orphans, a search for dead ones is not worth its cost.
pub(super) const SWEEP_MIN: u64 = 1024;
/// How many of the newest orphans may be earlier calls at the place of the next one. Errors are thrown from few places.
const RECENT: usize = 16;
/// Slots that are looked at in one system call.
const PEEKS: usize = 16;
/// How often a thread with little room looks for dead orphans, in ticks (some tens of milliseconds).
const SWEEP_PERIOD_TICKS: u64 = 100_000_000;

/// Set in an orphan's `start`: a hooked tail call was made from it, whose frame with the same slot is the next orphan. While that
/// call is in flight, the slot holds the address of its trampoline.
pub(super) const COVERED: u64 = 1 << 63;

/// Whether `word`, which an orphan's slot holds, is the address of its trampoline, or of one that it made a tail call through.
unsafe fn is_pending(orphan: *const Frame, end: *const Frame, word: u64) -> bool {
    let mut frame = orphan;
    // SAFETY: the caller's orphans.
    unsafe {
        while (*frame).after != word {
            if (*frame).start & COVERED == 0 || frame.add(1) >= end {
                return false;
            }
            frame = frame.add(1);
        }
    }
    true
}

impl Shadow {
    /// Remembers the frames `from .. to` that keep return addresses, in their order.
    ///
    /// # Safety
    /// The calling thread owns `shadow`, or its owner no longer exists; the frames are in flight there.
    pub(crate) unsafe fn stash(shadow: *mut Shadow, from: *mut Frame, to: *mut Frame) {
        // SAFETY: the caller's contract. Handlers of signals may do the same at any point.
        unsafe {
            let (mut frame, mut covers) = (from, false);
            while frame < to {
                let mut left = *frame;
                frame = frame.add(1);
                let is_covered = frame < to && (*frame).sp == left.sp && (*frame).ret == left.after;
                let in_chain = is_covered || covers;
                covers = is_covered;
                if is_covered {
                    left.start |= COVERED;
                }
                // Claimed by another thread, free, or of a hook that knows its return address.
                if left.ret == 0 || left.sp == 0 || left.sp == u64::MAX {
                    continue;
                }
                if !in_chain && Shadow::replace(shadow, &left) {
                    continue;
                }
                let index = counter::add(&(*shadow).stashed, 1) as usize;
                debug_assert!(index < ORPHANS_MAX, "see `limit`");
                let slot = (&raw mut (*shadow).orphans as *mut Frame).add(index);
                slot.write(left);
                compiler_fence(SeqCst);
                if (*shadow).orphaned.end < slot.add(1) {
                    (*shadow).orphaned.end = slot.add(1);
                }
            }
            if (*shadow).stashed.load(Relaxed) >= (*shadow).sweep_at {
                Shadow::sweep(shadow);
            }
        }
    }

    /// Puts a frame into the place of a recent orphan with its slot and trampoline, of an earlier call, which cannot return any more. So
    /// errors that are thrown again and again from one place leave one orphan. Returns whether it did so.
    unsafe fn replace(shadow: *mut Shadow, left: &Frame) -> bool {
        // SAFETY: the caller owns it; a handler that comes in between only appends.
        unsafe {
            if core::mem::replace(&mut (*shadow).changing, true) {
                return false;
            }
            let orphans = &raw mut (*shadow).orphans as *mut Frame;
            let end = (*shadow).stashed.load(Relaxed) as usize;
            let mut recent = (end.saturating_sub(RECENT)..end).rev();
            let earlier = recent.find_map(|at| {
                let orphan = orphans.add(at);
                let is_it = (*orphan).sp == left.sp && (*orphan).after == left.after;
                (is_it && (*orphan).start & COVERED == 0).then_some(orphan)
            });
            if let Some(earlier) = earlier {
                (*earlier).ret = left.ret;
                (*earlier).start = left.start;
            }
            compiler_fence(SeqCst);
            (*shadow).changing = false;
            earlier.is_some()
        }
    }

    /// Looks for dead orphans if they take much of the room, but not often.
    ///
    /// # Safety
    /// The calling thread owns `shadow`.
    pub unsafe fn make_room(shadow: *mut Shadow) {
        // SAFETY: the caller's contract.
        unsafe {
            if (*shadow).stashed.load(Relaxed) > ORPHANS_MAX as u64 / 2
                && now_ticks() > (*shadow).sweep_ticks
            {
                Shadow::sweep(shadow);
            }
        }
    }

    /// Drops orphans that were recovered, and those whose call cannot return any more: their slot no longer holds the
    /// trampoline's return address. The others move down in their order. Each is written to its new place before its
    /// old one is freed, so that a concurrent search downwards finds it.
    unsafe fn sweep(shadow: *mut Shadow) {
        // SAFETY: the caller owns it; a handler that comes in between only appends.
        unsafe {
            if core::mem::replace(&mut (*shadow).changing, true) {
                return;
            }
            let orphans = &raw mut (*shadow).orphans as *mut Frame;
            let (mut read, mut kept) = (0, 0);
            loop {
                let stashed = (*shadow).stashed.load(Relaxed) as usize;
                while read < stashed {
                    let count = (stashed - read).min(PEEKS);
                    let alive = Shadow::alive(orphans.add(read), count, orphans.add(stashed));
                    for i in 0..count {
                        let from = orphans.add(read + i);
                        if alive >> i & 1 == 1 && from != orphans.add(kept) {
                            orphans.add(kept).write(*from);
                        }
                        compiler_fence(SeqCst);
                        if alive >> i & 1 == 0 || from != orphans.add(kept) {
                            (*from).ret = 0;
                            (*from).sp = 0;
                        }
                        kept += alive >> i & 1;
                    }
                    read += count;
                }
                let swept =
                    (*shadow)
                        .stashed
                        .compare_exchange(read as u64, kept as u64, Relaxed, Relaxed);
                if swept.is_ok() {
                    break;
                }
            }
            (*shadow).orphaned.end = orphans.add(kept);
            (*shadow).sweep_at = (2 * kept as u64).max(SWEEP_MIN);
            (*shadow).sweep_ticks = now_ticks() + SWEEP_PERIOD_TICKS;
            (*shadow).changing = false;
        }
    }

    /// Which of `count` orphans may still return, as a bit set; more of them lie behind, up to `end`.
    unsafe fn alive(orphans: *const Frame, count: usize, end: *const Frame) -> usize {
        let mut slots = [const { MaybeUninit::<u64>::uninit() }; PEEKS];
        let mut words = [const { MaybeUninit::<u64>::uninit() }; PEEKS];
        // SAFETY: `count` is at most PEEKS; what is read was written.
        unsafe {
            for (i, slot) in slots.iter_mut().enumerate().take(count) {
                slot.write((*orphans.add(i)).sp);
            }
            let known = kernel::peek(&slots[..count], &mut words[..count]);
            let mut alive = 0;
            for (i, word) in words.iter().enumerate().take(count) {
                let orphan = &*orphans.add(i);
                let may_return = match known {
                    // Where the system does not let us look, it may be alive.
                    None => true,
                    Some(known) => {
                        known >> i & 1 == 1 && is_pending(orphan, end, word.assume_init())
                    }
                };
                alive |= usize::from(orphan.ret != 0 && may_return) << i;
            }
            alive
        }
    }

    /// Forgets orphans of a process' only thread that are earlier calls at `frame`'s place. A fork makes the start of
    /// a call unknown, by which later calls are distinguished from earlier ones.
    ///
    /// # Safety
    /// The process has but one thread.
    pub(crate) unsafe fn forget_earlier(frame: &Frame) {
        // SAFETY: the caller's contract.
        unsafe {
            let mut node = (&raw const (*SEPARATOR.0.get()).next).read_volatile();
            while !node.is_null() {
                let mut orphan = (*node).low;
                while orphan < (*node).end {
                    if ((*orphan).sp, (*orphan).after) == (frame.sp, frame.after)
                        && (*orphan).start < frame.start
                    {
                        (*orphan).ret = 0;
                        (*orphan).sp = 0;
                    }
                    orphan = orphan.add(1);
                }
                node = (*node).next;
            }
        }
    }
}
