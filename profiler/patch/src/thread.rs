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
//! tail jumps keep the return address in the frame: when such a frame looks stale it is moved to the **graveyard**, where
//! a return that finds its frame gone (coroutines switch stacks) still finds its way.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use evenkeel_wire::RingHeader;

use crate::x86_64::tls;

/// Calls in flight that one thread can have; deeper ones run unrecorded.
pub const FRAMES_MAX: usize = 4096;
/// Frames remembered after they looked stale.
pub const GRAVES_MAX: usize = 256;

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
    /// Return address of the trampoline's own call: tells which hook this is.
    pub after: u64,
}

impl Frame {
    /// A free slot.
    pub const FREE: Frame = Frame { ret: 0, sp: u64::MAX, start: 0, after: 0 };
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
    /// The thread has passed a gate.
    pub admitted: bool,
    /// The thread has ended, or could not be set up: nothing is recorded any more.
    pub closed: bool,
    /// Plan generation at the beginning of the open interval.
    pub generation: u32,
    /// The frame of the call that is the interval, if it is one call.
    pub root: *mut Frame,
    /// When to look for a ring again.
    pub retry_ticks: u64,
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
    /// Owned by a thread.
    owned: AtomicU64,
    /// Frames moved here in all; the last [`GRAVES_MAX`] are kept.
    graves: u64,
    /// Frames that looked stale.
    graveyard: [Frame; GRAVES_MAX],
    /// The frames; the first stays free for ever.
    pub frames: [Frame; FRAMES_MAX + 1],
}

/// Offset of `frames` in a shadow stack, for the unwinder's expression.
pub const SHADOW_FRAMES_AT: usize = core::mem::offset_of!(Shadow, frames);

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
        // SAFETY: `slot` is below `limit`. Raised first: see the module's head.
        unsafe {
            self.top = slot.add(1);
            slot.write(frame);
            if frame.ret != 0 && (*self.shadow).end < self.top {
                (*self.shadow).end = self.top;
            }
        }
        true
    }

    /// Frames in flight, innermost last.
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
    /// makes a hooked tail call.
    pub fn drop_stale(&mut self, sp: u64) {
        // SAFETY: the bottom frame is always free (`sp == MAX`), so the walk ends inside the shadow stack.
        unsafe {
            loop {
                let frame = self.top.sub(1);
                let at = (*frame).sp;
                if at > sp || (at == sp && *(sp as *const u64) == (*frame).after) {
                    return;
                }
                self.bury(frame);
                self.top = frame;
            }
        }
    }

    /// Brings the frame of a returning call to the top, dropping what lies above. False if it is not there.
    pub fn surface(&mut self, sp: u64, after: u64) -> bool {
        let depth = self.frames().len();
        let Some(found) = self.frames().iter().rposition(|f| f.sp == sp && f.after == after) else {
            return false;
        };
        for _ in found + 1..depth {
            // SAFETY: `found + 1 .. depth` are frames of this thread.
            unsafe {
                let frame = self.top.sub(1);
                self.bury(frame);
                self.top = frame;
            }
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
            self.top = frame;
            popped
        }
    }

    /// The return address of a call whose frame is gone from the stack, if the graveyard still has it.
    pub fn exhume(&mut self, sp: u64, after: u64) -> Option<u64> {
        if self.shadow.is_null() {
            return None;
        }
        // SAFETY: the shadow stack belongs to this thread.
        let shadow = unsafe { &mut *self.shadow };
        let newest = shadow.graves;
        for age in 1..=newest.min(GRAVES_MAX as u64) {
            let grave = &mut shadow.graveyard[((newest - age) % GRAVES_MAX as u64) as usize];
            if grave.sp == sp && grave.after == after {
                return Some(core::mem::replace(grave, Frame::FREE).ret);
            }
        }
        None
    }

    /// Frees a frame, remembering it if its return address is known nowhere else.
    ///
    /// # Safety
    /// `frame` lies in this thread's shadow stack.
    unsafe fn bury(&mut self, frame: *mut Frame) {
        unsafe {
            if (*frame).ret != 0 {
                let shadow = &mut *self.shadow;
                shadow.graveyard[(shadow.graves % GRAVES_MAX as u64) as usize] = *frame;
                shadow.graves += 1;
            }
            *frame = Frame::FREE;
        }
    }

    /// The thread is about to end: nothing is recorded any more, the shadow stack goes to the next thread.
    pub fn close(&mut self) {
        self.active = 0;
        self.open = false;
        self.closed = true;
        if let Some(shadow) = ptr::NonNull::new(core::mem::replace(&mut self.shadow, ptr::null_mut())) {
            // SAFETY: this thread owned it until now.
            unsafe { Shadow::release(shadow.as_ptr()) };
        }
        self.top = ptr::null_mut();
    }

    /// In the child of a `fork`: the calls in flight are the parent's to record, and other threads are gone.
    pub fn after_fork(&mut self) {
        self.active = 0;
        self.open = false;
        self.root = ptr::null_mut();
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
                if (*shadow).owned.compare_exchange(0, 1, AcqRel, Relaxed).is_ok() {
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
            (*shadow).end = frames.add(1);
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

    /// Frees all frames and gives the stack back.
    ///
    /// # Safety
    /// The caller owns it, or its owner no longer exists.
    unsafe fn release(shadow: *mut Shadow) {
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
