//! The state of one thread: its shadow stack of calls in flight, its ring, its interval.
//!
//! It lies in the static thread-local block (initial-exec), so that a trampoline reaches every field with one
//! `fs`-relative access at an offset that is the same in all threads.
//!
//! **Shadow stack.** A frame is pushed when a hooked call begins and popped when it returns. Frames of calls that never
//! return (`longjmp`, exceptions) are recognised at the next entry: the stack grows down, so a frame whose stack pointer
//! is not above the present one is stale. Free slots hold `sp == u64::MAX`, and the top is raised before a slot is
//! filled, so a signal handler that runs hooked code in between sees a consistent stack.
//!
//! A call-site hook returns to a constant, so losing its frame costs a record and nothing else. Hooks of entries and
//! tail jumps keep the return address in the frame: when such a frame looks stale it is stashed among the **orphaned frames**, where a
//! return that finds its frame gone (coroutines switch stacks) still finds its way, on another thread, too. On an
//! alternate signal stack nothing of the interrupted stack is stale, wherever it lies.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*, compiler_fence};

use evenkeel_wire::RingHeader;

use crate::arch::tls;
use crate::kernel;

/// Calls in flight that one thread can have; deeper ones run unrecorded.
pub const FRAMES_MAX: usize = 4096;
/// Slots of orphaned frames looked at for one that can be used again.
const ORPHANS_TRIED: usize = 16;
/// Frames remembered after they looked stale.
pub const ORPHANS_MAX: usize = 1024;

/// A call in flight.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// Where to return to, for hooks that cannot know it beforehand; 0 otherwise.
    pub ret: u64,
    /// Address of the stack slot with the return address; `u64::MAX` in a free frame.
    pub sp: u64,
    /// Entry time in ticks; 0 if the record is void (the thread forked in between).
    pub start: u64,
    /// Return address of the trampoline's own call: says which hook this is.
    pub after: u64,
}

impl Frame {
    /// A free slot.
    pub const FREE: Frame = Frame {
        ret: 0,
        sp: u64::MAX,
        start: 0,
        after: 0,
    };
}

/// Waits that one thread can be in at once: handlers of signals wait inside of waits, and functions that the user named
/// contain others.
pub const ANNOUNCED_MAX: usize = 8;

/// A wait in progress, as the thread announced it to others.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Announced {
    /// Addresses of the counters that it is in; 0 for none.
    pub slots: [usize; 2],
    /// Where on the stack: a wait below the present stack pointer was left.
    pub sp: u64,
    /// What is remembered of it to its end.
    pub value: u64,
}

/// Per-thread state. The first fields are read and written by trampolines: see `offsets`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// One past the topmost frame.
    pub top: *mut Frame,
    /// One past the last usable frame.
    pub limit: *mut Frame,
    /// Where records go.
    pub ring: *mut RingHeader,
    /// Whether inner probes record: an interval is open and probed.
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
    /// An interval is open.
    pub open: bool,
    /// The open interval is recorded; otherwise it is one of those that are only counted.
    pub sampled: bool,
    /// The thread has passed a gate.
    pub admitted: bool,
    /// The thread has ended, or could not be set up: nothing is recorded any more.
    pub closed: bool,
    /// The C library was asked to report the thread's end.
    pub end_watched: bool,
    /// Records the ring had dropped at the beginning of the open interval.
    pub dropped: u64,
    /// The frame of the call that is the interval, if it is one call.
    pub root: *mut Frame,
    /// When to look for a ring again.
    pub retry_ticks: u64,
    /// State of the generator that chooses which intervals are recorded; 0: not seeded yet.
    pub random: u32,
    /// Frames dropped since the beginning of the open interval as those of calls that cannot return any more.
    pub frames_dropped: u64,
    /// Returns without a frame of calls that began before the open interval: it has lost nothing by them.
    pub frames_suspended: u64,
    /// Records that the ring had dropped when the thread last reported it outside of intervals.
    pub reported_dropped: u64,
    /// Key of the interval that the thread works for; 0 for none.
    pub work: u64,
    /// How many of `announced` are in use.
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
    pub const RING: usize = offset_of!(Thread, ring);
    /// `active`.
    pub const ACTIVE: usize = offset_of!(Thread, active);
    /// `shadow_full`.
    pub const SHADOW_FULL: usize = offset_of!(Thread, shadow_full);
    /// `frames_lost`.
    pub const FRAMES_LOST: usize = offset_of!(Thread, frames_lost);
    /// `on_stale`.
    pub const ON_STALE: usize = offset_of!(Thread, on_stale);
    /// `shadow`.
    pub const SHADOW: usize = offset_of!(Thread, shadow);
    /// `on_mismatch`.
    pub const ON_MISMATCH: usize = offset_of!(Thread, on_mismatch);
}

/// Memory of one shadow stack. Never unmapped, since an unwinder may walk the list of all of them at any time; ended
/// threads hand theirs on.
#[repr(C)]
pub struct Shadow {
    /// Next in the list of all shadow stacks of the process.
    pub next: *mut Shadow,
    /// One past the highest frame that ever kept a return address: how far an unwinder has to search.
    pub end: *mut Frame,
    /// The lowest slot of `orphans` ever used: where an unwinder's search ends.
    pub low: *mut Frame,
    /// Owned by a thread.
    owned: AtomicU64,
    /// Frames ever stashed, counted modulo [`ORPHANS_MAX`].
    stashed: usize,
    /// Frames that looked stale, filled from the end: what is in use adjoins `frames`.
    orphans: [Frame; ORPHANS_MAX],
    /// The frames; the first stays free for ever.
    pub frames: [Frame; FRAMES_MAX + 1],
}

/// Where `top` of a thread without a shadow stack points behind, once it had one.
static NO_FRAMES: [Frame; 1] = [Frame::FREE];

/// All shadow stacks of the process.
pub static SHADOWS: AtomicPtr<Shadow> = AtomicPtr::new(ptr::null_mut());

/// The calling thread's state.
///
/// The reference must not be kept across a call of code that may itself be hooked.
pub fn current<'a>() -> &'a mut Thread {
    // SAFETY: the block is part of this thread's static thread-local storage, zeroed when the thread begins, and zero is
    // a valid `Thread`; trampolines and slow paths of the same thread are the only other users, and never at once.
    unsafe { &mut *(tls::address() as *mut Thread) }
}

impl Thread {
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
            self.limit = frames.add(FRAMES_MAX + 1);
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
            if frame.ret != 0 && (*self.shadow).end < self.top {
                (*self.shadow).end = self.top;
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
        let mut alternate = None;
        // SAFETY: the bottom frame is always free (`sp == MAX`), so the walk ends inside the shadow stack.
        unsafe {
            loop {
                let frame = self.top.sub(1);
                let at = (*frame).sp;
                if at > sp || (at == sp && *(sp as *const u64) == (*frame).after) {
                    return;
                }
                let stack = alternate.get_or_insert_with(kernel::alternate_stack);
                if !stack.is_empty() && !stack.contains(&at) {
                    return;
                }
                self.drop_top();
            }
        }
    }

    /// Brings the frame of a returning call to the top, dropping what lies above. False if it is not there.
    pub fn surface(&mut self, sp: u64, after: u64) -> bool {
        let depth = self.frames().len();
        let Some(found) = self
            .frames()
            .iter()
            .rposition(|f| f.sp == sp && f.after == after)
        else {
            return false;
        };
        for _ in found + 1..depth {
            // SAFETY: `found + 1 .. depth` are frames of this thread.
            unsafe { self.drop_top() };
        }
        true
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

    /// A call returned that has no frame: its frame looked stale while the thread was on another stack (coroutines). If no
    /// frame was dropped since the interval began, the call began before it and is none of its calls.
    pub fn lose_frame(&mut self) {
        if self.frames_dropped == 0 {
            self.frames_suspended += 1;
        } else {
            self.frames_lost += 1;
        }
    }

    /// The return address of a call whose frame is gone from the stack, if it is still stashed, or the shadow stack of
    /// another thread, on which a coroutine made the call.
    pub fn recover(&mut self, sp: u64, after: u64) -> Option<u64> {
        // SAFETY: shadow stacks in the list are never unmapped; what this one's owner frees nobody else does.
        unsafe {
            if let Some(slot) = Shadow::search(self.shadow, sp, after) {
                return Some(core::mem::replace(&mut *slot, Frame::FREE).ret);
            }
            let mut other = SHADOWS.load(Acquire);
            while !other.is_null() {
                if let Some(frame) = Shadow::search(other, sp, after) {
                    return Some((*frame).ret);
                }
                other = (*other).next;
            }
        }
        None
    }

    /// Frees the top frame, remembering it if its return address is known nowhere else.
    ///
    /// # Safety
    /// A frame is in flight.
    unsafe fn drop_top(&mut self) {
        // SAFETY: the caller's contract.
        unsafe {
            let frame = self.top.sub(1);
            self.frames_dropped += 1;
            if (*frame).ret != 0 && (*frame).sp != u64::MAX {
                Shadow::stash(self.shadow, *frame);
            }
            *frame = Frame::FREE;
            compiler_fence(SeqCst);
            self.top = frame;
        }
    }

    /// The thread is about to end: nothing is recorded any more, the shadow stack goes to the next thread. Calls still in
    /// flight return all the same.
    pub fn close(&mut self) {
        self.active = 0;
        self.open = false;
        self.closed = true;
        compiler_fence(SeqCst);
        if self.shadow.is_null() {
            return;
        }
        for _ in 0..self.frames().len() {
            // SAFETY: so many are in flight.
            unsafe { self.drop_top() };
        }
        let shadow = core::mem::replace(&mut self.shadow, ptr::null_mut());
        self.top = NO_FRAMES.as_ptr_range().end.cast_mut();
        self.limit = self.top;
        // SAFETY: this thread owned it until now.
        unsafe { Shadow::release(shadow) };
    }

    /// In the child of a `fork`: the calls in flight are the parent's to record, and other threads are gone.
    pub fn after_fork(&mut self) {
        self.active = 0;
        self.open = false;
        self.root = ptr::null_mut();
        self.random = 0;
        if self.shadow.is_null() {
            return;
        }
        // SAFETY: only this thread exists in the child.
        unsafe {
            let mut frame = (&raw mut (*self.shadow).frames as *mut Frame).add(1);
            while frame < self.top {
                (*frame).start = 0;
                frame = frame.add(1);
            }
            let mut other = SHADOWS.load(Relaxed);
            while !other.is_null() {
                if other != self.shadow {
                    Shadow::release(other);
                }
                other = (*other).next;
            }
        }
    }
}

impl Shadow {
    /// A shadow stack that no thread owns, new if need be; null if there is no memory.
    fn take() -> *mut Shadow {
        let mut shadow = SHADOWS.load(Acquire);
        while !shadow.is_null() {
            // SAFETY: shadow stacks in the list are never unmapped.
            unsafe {
                if (*shadow)
                    .owned
                    .compare_exchange(0, 1, AcqRel, Relaxed)
                    .is_ok()
                {
                    return shadow;
                }
                shadow = (*shadow).next;
            }
        }
        Shadow::create()
    }

    fn create() -> *mut Shadow {
        // SAFETY: a fresh anonymous mapping, written before it is published.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                size_of::<Shadow>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return ptr::null_mut();
            }
            let shadow = memory as *mut Shadow;
            (*shadow).owned = AtomicU64::new(1);
            let frames = &raw mut (*shadow).frames as *mut Frame;
            for i in 0..=FRAMES_MAX {
                frames.add(i).write(Frame::FREE);
            }
            // `orphans` stays untouched, and takes no memory, until it is needed: a slot of zeros is free, too.
            (*shadow).end = frames.add(1);
            (*shadow).low = frames;
            let mut head = SHADOWS.load(Relaxed);
            loop {
                (*shadow).next = head;
                match SHADOWS.compare_exchange(head, shadow, Release, Relaxed) {
                    Ok(_) => return shadow,
                    Err(other) => head = other,
                }
            }
        }
    }

    /// The frame of a call, in flight or orphaned, if it is here.
    ///
    /// # Safety
    /// `shadow` is null or of the list. What another thread owns may change meanwhile.
    unsafe fn search(shadow: *mut Shadow, sp: u64, after: u64) -> Option<*mut Frame> {
        if shadow.is_null() {
            return None;
        }
        // SAFETY: `low .. end` lies inside the shadow stack.
        unsafe {
            let mut frame = (*shadow).end;
            while frame > (*shadow).low {
                frame = frame.sub(1);
                if (*frame).sp == sp && (*frame).after == after && (*frame).ret != 0 {
                    return Some(frame);
                }
            }
        }
        None
    }

    /// Stashes a frame whose stack slot looked stale. The oldest one gives way whose call cannot return any more: its stack slot no longer holds the
    /// trampoline's return address. Only a few are looked at: dead stacks may keep their words for ever.
    ///
    /// # Safety
    /// The calling thread owns `shadow`.
    unsafe fn stash(shadow: *mut Shadow, frame: Frame) {
        // SAFETY: the index is below ORPHANS_MAX.
        unsafe {
            let first = &raw mut (*shadow).orphans as *mut Frame;
            let mut slot = first;
            for _ in 0..ORPHANS_TRIED {
                slot = first.add(ORPHANS_MAX - 1 - (*shadow).stashed);
                (*shadow).stashed = ((*shadow).stashed + 1) % ORPHANS_MAX;
                if (*slot).ret == 0 || kernel::peek((*slot).sp) != Some((*slot).after) {
                    break;
                }
            }
            slot.write(frame);
            (*shadow).low = (*shadow).low.min(slot);
        }
    }

    /// Frees all frames and gives the stack back.
    ///
    /// # Safety
    /// The caller owns it, or its owner no longer exists.
    unsafe fn release(shadow: *mut Shadow) {
        // SAFETY: the caller's contract.
        unsafe {
            let frames = &raw mut (*shadow).frames as *mut Frame;
            for i in 0..=FRAMES_MAX {
                if (*frames.add(i)).sp != u64::MAX {
                    frames.add(i).write(Frame::FREE);
                }
            }
            (*shadow).owned.store(0, Release);
        }
    }
}
