//! The state of one thread: its shadow stack of calls in flight, its ring, its interval.
//!
//! It lies in the static thread-local block (initial-exec). So a trampoline reaches every field with one
//! `fs`-relative access, at an offset that is the same in all threads.
//!
//! **Shadow stack.** A frame is pushed when a hooked call begins and popped when it returns. Frames of calls that
//! never return (`longjmp`, exceptions) are recognised at the next entry: the stack grows down, so a frame whose
//! stack pointer is not above the present one is stale. Free slots hold `sp == u64::MAX`, and the top is raised
//! before a slot is filled. So a signal handler that runs hooked code in between sees a consistent stack.
//!
//! Dropped frames are of calls that were left; `crate::leaving` records them.
//!
//! A call-site hook returns to a constant, so losing its frame costs only a record. Hooks of entries and tail jumps
//! keep the return address in the frame. When such a frame looks stale it is stashed among the **orphaned frames**. A
//! return that finds its frame gone (coroutines switch stacks) finds it there, on another thread, too (see
//! [`crate::shadow`]). On an alternate signal stack no frame of the interrupted stack is stale, wherever it lies.

use core::ptr;
use core::sync::atomic::{Ordering::*, compiler_fence};

use evenkeel_wire::{RingHeader, now_ticks};

use crate::arch::tls;
use crate::frame::{Frame, Left};
use crate::kernel;
use crate::shadow::{self, Shadow};

/// Waits that one thread can be in at once: handlers of signals wait inside of waits, and functions that the user named
/// contain others.
pub const ANNOUNCED_MAX: usize = 8;

/// The interval that is open on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpenInterval {
    /// None is.
    None = 0,
    /// An interval that is followed to its end, and counted.
    Skipped(Label) = 1,
    /// An interval that is recorded.
    Recorded(Label) = 2,
}

/// Relation of an open interval to an inner call that may give it its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Label {
    /// The thread has not come to such a call.
    Awaited = 0,
    /// It has, and the interval has no label yet: its record found no room, or it needs none.
    Missed = 1,
    /// It has, and the label is recorded.
    Given = 2,
}

impl OpenInterval {
    /// Whether there is one.
    pub fn is_open(self) -> bool {
        self != OpenInterval::None
    }

    /// Whether there is one that is recorded.
    pub fn is_recorded(self) -> bool {
        matches!(self, OpenInterval::Recorded(_))
    }

    /// Whether it has come to the call that may give it its label.
    pub fn is_past_label(self) -> bool {
        match self {
            OpenInterval::None => false,
            OpenInterval::Skipped(label) | OpenInterval::Recorded(label) => label != Label::Awaited,
        }
    }
}

/// A wait in progress, as the thread announced it to others.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Announced {
    /// Addresses of the counters that it is in; 0 for none.
    pub slots: [usize; 2],
    /// Where on the stack: a wait below the present stack pointer was left.
    pub sp: u64,
    /// The value kept to its end.
    pub value: u64,
}

/// Per-thread state. The first fields are read and written by trampolines: see `offsets`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// End of the used frames.
    pub top: *mut Frame,
    /// End of the usable frames.
    pub limit: *mut Frame,
    /// Where records go.
    pub ring: *mut RingHeader,
    /// Whether inner probes record: 0, or [`Thread::IN_INTERVAL`], or [`Thread::ALWAYS`].
    pub active: u64,
    /// Calls that found the shadow stack full.
    pub shadow_full: u64,
    /// Returns that did not find their frame: the interval is not to be trusted.
    pub frames_lost: u64,
    /// Slow path of an entry, called by trampolines.
    pub on_stale: usize,
    /// Slow path of a return.
    pub on_mismatch: usize,
    /// The shadow stack; null until the thread's first interval.
    pub shadow: *mut Shadow,
    /// While a boundary's function runs: the stack pointer of its call, which a fault of the function returns to; otherwise 0.
    pub guard: u64,
    /// The frame pointer there.
    pub guard_base: u64,
    /// The innermost replacement of a C library function that the thread is in: the address of the data for leaving
    /// it.
    pub replacement: u64,
    /// The interval that is open.
    pub interval: OpenInterval,
    /// When it began.
    pub begun_ticks: u64,
    /// Where its records begin in the ring, if it is recorded.
    pub begun_at: u64,
    /// Its records are being given back: no interval begins in the handler of a signal that strikes during that.
    pub gives_back: bool,
    /// The thread has passed a gate.
    pub admitted: bool,
    /// The thread has ended, or could not be set up: nothing is recorded any more.
    pub closed: bool,
    /// The C library was asked to report the thread's end.
    pub end_watched: bool,
    /// `rax` and the address of an instruction of the program's that is about to fail (`arch::fault`).
    pub failing: [u64; 2],
    /// A fault of the agent is being left.
    pub leaves_fault: bool,
    /// Records the ring had dropped at the beginning of the open interval.
    pub dropped: u64,
    /// The frame of the call that is the interval, if it is one call.
    pub root: *mut Frame,
    /// Ends that interval at this moment, ticks, since its call was left.
    pub on_left: Option<fn(&mut Thread, u64)>,
    /// When to look for a ring again.
    pub retry_ticks: u64,
    /// State of the generator that chooses which intervals are recorded; 0: not seeded yet.
    pub random: u32,
    /// Frames dropped since the beginning of the open interval as those of calls that cannot return any more.
    pub frames_dropped: u64,
    /// Returns without a frame of calls that began before the open interval: it has lost nothing by them.
    pub frames_suspended: u64,
    /// Calls recorded since the beginning of the open interval that were left in a way that only their stale frames showed.
    pub left_unseen: u64,
    /// Records that the ring had dropped when the thread last reported it outside of intervals.
    pub reported_dropped: u64,
    /// When the thread's stack may be copied again, ticks.
    pub copy_ticks: u64,
    /// Its stack was copied where an interval began, and is to be where it ends.
    pub copied_at_begin: bool,
    /// Key of the interval that the thread works on; 0 for none.
    pub work: u64,
    /// Number of used entries in `announced`.
    pub announced_len: u64,
    /// Waits in progress, outermost first.
    pub announced: [Announced; ANNOUNCED_MAX],
}

/// Offsets that trampolines use.
pub mod offsets {
    use super::Thread;
    use core::mem::offset_of;
    /// `top`.
    pub const TOP: usize = offset_of!(Thread, top);
    /// `limit`.
    pub const LIMIT: usize = offset_of!(Thread, limit);
    /// `ring`.
    pub(crate) const RING: usize = offset_of!(Thread, ring);
    /// `active`.
    pub const ACTIVE: usize = offset_of!(Thread, active);
    /// `shadow_full`.
    pub(crate) const SHADOW_FULL: usize = offset_of!(Thread, shadow_full);
    /// `on_stale`.
    pub(crate) const ON_STALE: usize = offset_of!(Thread, on_stale);
    /// `shadow`.
    pub(crate) const SHADOW: usize = offset_of!(Thread, shadow);
    /// `on_mismatch`.
    pub(crate) const ON_MISMATCH: usize = offset_of!(Thread, on_mismatch);
    /// `guard`.
    pub(crate) const GUARD: usize = offset_of!(Thread, guard);
    /// `guard_base`.
    pub(crate) const GUARD_BASE: usize = offset_of!(Thread, guard_base);
    /// `replacement`.
    pub const REPLACEMENT: usize = offset_of!(Thread, replacement);
}

/// Where `top` of a thread without a shadow stack points behind, once it had one.
static NO_FRAMES: [Frame; 1] = [Frame::FREE];

/// The calling thread's state.
///
/// The reference must not be kept across a call of code that may itself be hooked.
pub fn current<'a>() -> &'a mut Thread {
    // SAFETY: the block is part of this thread's static thread-local storage, zeroed when the thread begins, and zero
    // is a valid `Thread`. The only other users are trampolines and slow paths of the same thread, and never at the
    // same time.
    unsafe { &mut *(tls::address() as *mut Thread) }
}

impl Thread {
    /// `active` while an interval is open and probed. Once a call finds no room for its record, the others of the interval are not timed
    /// either: it is left out, and hooks should not make it longer.
    pub const IN_INTERVAL: u64 = 1;
    /// `active` where calls are recorded for the sake of other threads' intervals, which go on when there is room again.
    pub const ALWAYS: u64 = 2;
    const _A_FULL_RING_TELLS_THEM_APART: () = assert!(Thread::IN_INTERVAL & Thread::ALWAYS == 0);

    /// Gives the thread a shadow stack if it has none. False if the memory cannot be had.
    pub fn prepare(&mut self) -> bool {
        if !self.shadow.is_null() {
            return true;
        }
        let shadow = Shadow::take();
        if shadow.is_null() {
            return false;
        }
        // SAFETY: `take` returned a shadow stack that this thread owns alone.
        unsafe {
            let frames = &raw mut (*shadow).frames as *mut Frame;
            self.top = frames.add(1);
            self.limit = Shadow::limit(shadow);
        }
        self.on_stale = tls::stale_stub();
        self.on_mismatch = tls::mismatch_stub();
        self.shadow = shadow;
        true
    }

    /// Pushes a frame; false when the stack is full.
    pub fn push(&mut self, frame: Frame) -> bool {
        if self.top >= self.limit {
            self.shadow_full += 1;
            return false;
        }
        let slot = self.top;
        // SAFETY: `slot` is below `limit`. Raised first, `sp` last: see the module's head.
        unsafe {
            self.top = slot.add(1);
            compiler_fence(SeqCst);
            slot.write(Frame {
                sp: u64::MAX,
                ..frame
            });
            compiler_fence(SeqCst);
            (*slot).sp = frame.sp;
            if frame.ret != 0 && (*self.shadow).in_flight.end < self.top {
                (*self.shadow).in_flight.end = self.top;
            }
        }
        true
    }

    /// Frames in flight, innermost last.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        if self.shadow.is_null() {
            return &[];
        }
        // SAFETY: everything between the first frame and `top` belongs to this thread.
        unsafe {
            let first = (&raw const (*self.shadow).frames as *const Frame).add(1);
            core::slice::from_raw_parts(first, self.top.offset_from(first).max(0) as usize)
        }
    }

    /// Drops the frames of calls that can no longer return to a caller with its return address at `sp`.
    ///
    /// A frame at the same `sp` is alive if its slot still holds the trampoline's return address: a hooked function that
    /// makes a hooked tail call. On an alternate signal stack only frames of that stack are dropped.
    pub fn drop_stale(&mut self, sp: u64) {
        self.drop_frames_below(sp, Left::Noticed);
    }

    /// See [`Thread::drop_stale`].
    pub(crate) fn drop_frames_below(&mut self, sp: u64, left: Left) {
        if self.shadow.is_null() {
            return;
        }
        let mut alternate = None;
        let mut keep = self.top;
        // SAFETY: the bottom frame is always free (`sp == MAX`), so the walk ends inside the shadow stack.
        unsafe {
            loop {
                let frame = keep.sub(1);
                let at = (*frame).sp;
                if at > sp || (at == sp && *(sp as *const u64) == (*frame).after) {
                    break;
                }
                let stack = alternate.get_or_insert_with(kernel::alternate_stack);
                if !stack.is_empty() && !stack.contains(&at) {
                    break;
                }
                keep = frame;
            }
            if keep < self.top {
                self.drop_above(keep, now_ticks(), left);
            }
            Shadow::make_room(self.shadow);
            self.limit = Shadow::limit(self.shadow);
        }
    }

    /// Brings the frame of a returning call to the top, dropping what lies above. False if it is not there, or only one of an
    /// earlier call from the same place. What lies above was left at `now` at the latest.
    pub fn surface(&mut self, sp: u64, after: u64, now: u64) -> bool {
        if self.shadow.is_null() {
            return false;
        }
        let Some(found) = self
            .frames()
            .iter()
            .rposition(|f| f.sp == sp && f.after == after)
        else {
            return false;
        };
        // SAFETY: an index into the frames in flight.
        unsafe {
            let frame = (&raw mut (*self.shadow).frames as *mut Frame).add(1 + found);
            if (*frame).ret != 0
                && shadow::newest(self.shadow.as_ref(), sp, after)
                    .is_some_and(|newest| newest != frame)
            {
                return false;
            }
            self.drop_above(frame.add(1), now, Left::Noticed);
        }
        true
    }

    /// Takes the frame of a call off the stack whose return was not handled to its end, with everything above, and returns where the call
    /// returns to. `None`: no frame knows it.
    pub(crate) fn abandon(&mut self, sp: u64, after: u64) -> Option<u64> {
        let is_it = |frame: &Frame| frame.sp == sp && frame.after == after && frame.ret != 0;
        let found = self.frames().iter().rposition(is_it);
        let Some(found) = found else {
            // SAFETY: shadow stacks are never unmapped.
            return unsafe { shadow::recover(self.shadow.as_ref(), sp, after) };
        };
        let ret = self.frames()[found].ret;
        // SAFETY: an index into the frames in flight.
        unsafe {
            let frame = (&raw mut (*self.shadow).frames as *mut Frame).add(1 + found);
            self.drop_above(frame.add(1), now_ticks(), Left::Noticed);
        }
        self.pop();
        Some(ret)
    }

    /// Pops the top frame and returns it.
    pub fn pop(&mut self) -> Frame {
        // SAFETY: called only when a frame is in flight.
        unsafe {
            let frame = self.top.sub(1);
            let popped = *frame;
            *frame = Frame::FREE;
            compiler_fence(SeqCst);
            self.top = frame;
            popped
        }
    }

    /// A call returned that has no frame: its frame looked stale while the thread was on another stack (coroutines).
    /// If no frame was dropped since the interval began, the call began earlier and does not belong to it.
    pub(crate) fn lose_frame(&mut self) {
        if self.frames_dropped == 0 {
            self.frames_suspended += 1;
        } else {
            self.frames_lost += 1;
        }
    }

    /// Frees the frames from `keep` on, whose calls were left at `now`, stashing those whose return address is known nowhere else.
    ///
    /// # Safety
    /// `keep` is one of the frames in flight, or the top.
    pub(crate) unsafe fn drop_above(&mut self, keep: *mut Frame, now: u64, left: Left) {
        if keep >= self.top {
            return;
        }
        // SAFETY: the caller's contract. Frames are stashed before they are freed, so a concurrent search finds them.
        unsafe {
            Shadow::stash(self.shadow, keep, self.top);
            while self.top > keep {
                let frame = self.top.sub(1);
                self.frames_dropped += 1;
                let was_call = self.record_left(&*frame, now);
                self.left_unseen += u64::from(was_call && left == Left::Noticed);
                *frame = Frame::FREE;
                compiler_fence(SeqCst);
                self.top = frame;
            }
            self.limit = Shadow::limit(self.shadow);
        }
    }

    /// The thread is about to end: nothing is recorded any more, and the shadow stack goes to the next thread. Calls
    /// still in flight do return: their frames are orphaned.
    pub fn close(&mut self) {
        self.active = 0;
        self.interval = OpenInterval::None;
        self.closed = true;
        compiler_fence(SeqCst);
        if self.shadow.is_null() {
            return;
        }
        // SAFETY: the first frame is in flight, or the top.
        unsafe {
            let first = (&raw mut (*self.shadow).frames as *mut Frame).add(1);
            self.drop_above(first, now_ticks(), Left::Seen);
        }
        let shadow = core::mem::replace(&mut self.shadow, ptr::null_mut());
        self.top = NO_FRAMES.as_ptr_range().end.cast_mut();
        self.limit = self.top;
        // SAFETY: this thread owned it until now.
        unsafe { Shadow::release(shadow) };
    }

    /// The thread takes part in a new session from now on: [`Thread::end_all`] finds it.
    ///
    /// # Safety
    /// It has a shadow stack ([`Thread::prepare`]), and gives it back ([`Thread::close`]) before its state goes away.
    pub unsafe fn take_part(&mut self) {
        // SAFETY: the caller's contract.
        unsafe { Shadow::set_owner(self.shadow, (&raw mut *self).cast()) };
    }

    /// Ends what is open on any thread: no call in flight is recorded when it returns. `each` does the rest for a thread.
    ///
    /// # Safety
    /// No hook is in place that could begin an interval during the call.
    pub unsafe fn end_all(each: impl Fn(&mut Thread)) {
        Shadow::each_owned(|shadow, owner| {
            // SAFETY: an owner is what `take_part` set, and is alive.
            unsafe {
                let thread = &mut *owner.cast::<Thread>();
                each(thread);
                let mut frame = (&raw mut (*shadow).frames as *mut Frame).add(1);
                while frame < thread.top {
                    (*frame).start = 0;
                    frame = frame.add(1);
                }
            }
        });
    }

    /// In the child of a `fork`: the calls in flight are the parent's to record, and other threads are gone.
    pub fn after_fork(&mut self) {
        self.active = 0;
        self.interval = OpenInterval::None;
        self.root = ptr::null_mut();
        self.random = 0;
        if self.shadow.is_null() {
            return;
        }
        // SAFETY: only this thread exists in the child.
        unsafe {
            let mut frame = (&raw mut (*self.shadow).frames as *mut Frame).add(1);
            while frame < self.top {
                Shadow::forget_earlier(&*frame);
                (*frame).start = 0;
                frame = frame.add(1);
            }
            Shadow::release_all_but(self.shadow);
        }
    }
}
