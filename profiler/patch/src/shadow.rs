//! Shadow stacks: the calls in flight of one thread, and those of its frames that are orphaned.
//!
//! ```text
//! Shadow   in_flight { next, end, low }   orphaned { next, end, low }
//!          frames     bottom | in flight, filled upwards ... FRAMES_MAX
//!          orphans    | filled upwards ... ORPHANS_MAX
//!
//! SHADOWS > in flight of the newest shadow stack > ... > in flight of the oldest > SEPARATOR > orphaned > orphaned ...
//! ```
//!
//! A hook of an entry or of a tail jump keeps its return address only in its frame. So such a frame must be found
//! until its call has returned, on whatever stack or thread it returns. **No return address is ever given up.** A
//! frame that looks stale becomes an orphan. An orphan is dropped only when its slot no longer holds the trampoline's
//! address. A thread whose frames in flight could not all become orphans has no room for further calls: they run
//! unhooked (see [`Shadow::limit`]).
//!
//! Of several frames with one slot and one trampoline the newest is valid: only a later call can use a slot again.

mod orphans;

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use crate::arch::claim;
use crate::frame::Frame;
use crate::kernel;
use orphans::{COVERED, SWEEP_MIN};

/// Calls in flight that one thread can have; deeper ones run unrecorded.
pub const FRAMES_MAX: usize = 4096;
/// Orphaned frames of one thread. Address space only: a page is used when it is reached.
pub const ORPHANS_MAX: usize = 1 << 16;
/// Frames `low .. end`, which unwinders and threads that miss a frame search downwards. Nodes are never unmapped.
#[derive(Debug)]
#[repr(C)]
pub struct Node {
    /// Next in the list of all.
    pub next: *mut Node,
    /// End of the frames that ever kept a return address.
    pub end: *mut Frame,
    /// The lowest frame.
    pub low: *mut Frame,
}

/// Memory of one shadow stack. Never unmapped, since an unwinder may walk the list at any time; ended threads hand theirs on.
#[repr(C)]
pub struct Shadow {
    /// The frames in flight.
    pub in_flight: Node,
    orphaned: Node,
    /// Owned by a thread.
    owned: AtomicU64,
    /// The state of the thread that owns it, while its end is sure to be noticed; otherwise null. [`crate::thread`]
    /// defines it.
    owner: AtomicPtr<()>,
    /// Orphans ever stashed and not swept away: the next one's index.
    stashed: AtomicU64,
    /// Number of orphans from which dead ones are searched.
    sweep_at: u64,
    /// Orphans are moved or replaced: handlers of signals only append.
    changing: bool,
    /// Not again before.
    sweep_ticks: u64,
    /// The frames; the first stays free for ever.
    pub frames: [Frame; FRAMES_MAX + 1],
    orphans: [Frame; ORPHANS_MAX],
}

// What the session reads from outside.
const _: () = {
    use core::mem::offset_of;
    use evenkeel_wire::in_flight;
    assert!(offset_of!(Shadow, in_flight) == 0);
    assert!(offset_of!(Node, end) == 8 * in_flight::END_WORD);
    assert!(offset_of!(Node, low) == 8 * in_flight::FIRST_WORD);
    assert!(size_of::<Frame>() == 8 * in_flight::FRAME_WORDS);
    assert!(offset_of!(Frame, ret) == 8 * in_flight::RETURN_WORD);
    assert!(offset_of!(Frame, sp) == 8 * in_flight::SLOT_WORD);
    assert!(offset_of!(Frame, start) == 8 * in_flight::START_WORD);
    assert!(in_flight::START_MASK & (Frame::INTERVAL | COVERED) == 0);
    assert!(offset_of!(Frame, after) == 8 * in_flight::AFTER_WORD);
};

/// Behind all nodes of frames in flight, before all of orphans: a call that is in flight is newer than one that was left.
struct Separator(UnsafeCell<Node>);
// SAFETY: `next` is changed as an atomic; the rest never.
unsafe impl Sync for Separator {}
static SEPARATOR: Separator = Separator(UnsafeCell::new(Node {
    next: ptr::null_mut(),
    end: ptr::null_mut(),
    low: ptr::null_mut(),
}));

/// All nodes of the process.
pub static SHADOWS: AtomicPtr<Node> = AtomicPtr::new(SEPARATOR.0.get());

/// Puts `node` behind `before`.
unsafe fn link(before: &AtomicPtr<Node>, node: *mut Node) {
    let mut next = before.load(Relaxed);
    loop {
        // SAFETY: nobody sees the node yet.
        unsafe { (*node).next = next };
        match before.compare_exchange(next, node, Release, Relaxed) {
            Ok(_) => return,
            Err(other) => next = other,
        }
    }
}

/// Set once a call has returned on another thread than the one that made it. From then on the newest frame of the
/// thread itself may be an earlier call's, and all frames are searched.
static CALLS_MOVE: AtomicBool = AtomicBool::new(false);

/// The newest frame of a call, in flight or orphaned, of any thread; the owner of `own` asks. Other threads may
/// change theirs at the same time.
#[inline]
pub fn newest(own: Option<&Shadow>, sp: u64, after: u64) -> Option<*mut Frame> {
    // SAFETY: shadow stacks are never unmapped.
    unsafe {
        if let Some(own) = own
            && !CALLS_MOVE.load(Acquire)
        {
            let found = own.in_flight.find(sp, after);
            let found = found.or_else(|| own.orphaned.find(sp, after));
            if found.is_some() {
                return found;
            }
        }
        let started = |frame: *mut Frame| (&raw const (*frame).start).read_volatile() & !COVERED;
        let mut newest: Option<*mut Frame> = None;
        let mut node = SHADOWS.load(Acquire);
        while !node.is_null() {
            if let Some(found) = (*node).find(sp, after)
                && newest.is_none_or(|newest| started(found) > started(newest))
            {
                newest = Some(found);
            }
            node = (&raw const (*node).next).read_volatile();
        }
        newest
    }
}

/// The return address of a call whose frame is not among the thread's own in flight. Found once: the frame is claimed, and
/// means nothing any more to the thread that has it.
pub fn recover(own: Option<&Shadow>, sp: u64, after: u64) -> Option<u64> {
    loop {
        let frame = newest(own, sp, after)?;
        // SAFETY: frames are never unmapped. Reads both words at once: if its thread has moved the frame in between,
        // the search is repeated.
        unsafe {
            let ret = (&raw const (*frame).ret).read_volatile();
            if ret != 0 && claim::zero_pair(frame.cast(), (ret, sp)) {
                if own.is_none_or(|own| !own.contains(frame)) {
                    CALLS_MOVE.store(true, Release);
                }
                return Some(ret);
            }
        }
    }
}

impl Node {
    /// The frame of a call that lies highest here: of one thread's frames the newest.
    unsafe fn find(&self, sp: u64, after: u64) -> Option<*mut Frame> {
        // SAFETY: `low .. end` lies inside the node's memory.
        unsafe {
            let mut frame = (&raw const self.end).read_volatile();
            while frame > self.low {
                frame = frame.sub(1);
                if (&raw const (*frame).sp).read_volatile() == sp {
                    let there = frame.read_volatile();
                    if there.sp == sp && there.after == after && there.ret != 0 {
                        return Some(frame);
                    }
                }
            }
        }
        None
    }
}

impl Shadow {
    fn contains(&self, frame: *mut Frame) -> bool {
        (&raw const *self..(&raw const *self).wrapping_add(1)).contains(&frame.cast_const().cast())
    }

    /// A shadow stack that no thread owns, new if need be; null if there is no memory.
    pub fn take() -> *mut Shadow {
        let mut node = SHADOWS.load(Acquire);
        while !ptr::eq(node, SEPARATOR.0.get()) {
            // SAFETY: nodes before the separator begin a shadow stack.
            unsafe {
                let shadow = node.cast::<Shadow>();
                if (*shadow)
                    .owned
                    .compare_exchange(0, 1, AcqRel, Relaxed)
                    .is_ok()
                {
                    return shadow;
                }
                node = (*node).next;
            }
        }
        Shadow::create(1)
    }

    /// Makes `count` of them that no thread owns yet. False if there is no memory.
    pub fn provide(count: usize) -> bool {
        (0..count).all(|_| !Shadow::create(0).is_null())
    }

    fn create(owned: u64) -> *mut Shadow {
        if kernel::is_confined() {
            return ptr::null_mut();
        }
        // SAFETY: a fresh anonymous mapping, written before it is published.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                size_of::<Shadow>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return ptr::null_mut();
            }
            let shadow = memory as *mut Shadow;
            (*shadow).owned = AtomicU64::new(owned);
            (*shadow).sweep_at = SWEEP_MIN;
            let frames = &raw mut (*shadow).frames as *mut Frame;
            for i in 0..=FRAMES_MAX {
                frames.add(i).write(Frame::FREE);
            }
            (*shadow).in_flight.low = frames.add(1);
            (*shadow).in_flight.end = frames.add(1);
            let orphans = &raw mut (*shadow).orphans as *mut Frame;
            (*shadow).orphaned.low = orphans;
            (*shadow).orphaned.end = orphans;
            let behind = AtomicPtr::from_ptr(&raw mut (*SEPARATOR.0.get()).next);
            link(behind, &raw mut (*shadow).orphaned);
            link(&SHADOWS, &raw mut (*shadow).in_flight);
            shadow
        }
    }

    /// End of the frames that may be used: every frame in flight must find room among the orphans. A frame that is
    /// orphaned moves from one sum to the other, so a thread that has room for a call keeps it until the call
    /// returns.
    ///
    /// # Safety
    /// `shadow` is one of the list.
    pub unsafe fn limit(shadow: *mut Shadow) -> *mut Frame {
        // SAFETY: the caller's contract; the result lies inside the frames.
        unsafe {
            let left = ORPHANS_MAX - ((*shadow).stashed.load(Relaxed) as usize).min(ORPHANS_MAX);
            (&raw mut (*shadow).frames as *mut Frame).add(1 + left.min(FRAMES_MAX))
        }
    }

    /// Frees all frames and gives the stack back. What is in flight becomes orphaned.
    ///
    /// # Safety
    /// The caller owns it, or its owner no longer exists.
    pub unsafe fn release(shadow: *mut Shadow) {
        // SAFETY: the caller's contract.
        unsafe {
            let frames = &raw mut (*shadow).frames as *mut Frame;
            Shadow::stash(shadow, frames.add(1), (*shadow).in_flight.end);
            for i in 1..=FRAMES_MAX {
                if (*frames.add(i)).sp != u64::MAX {
                    frames.add(i).write(Frame::FREE);
                }
            }
            (*shadow).owner.store(ptr::null_mut(), Release);
            (*shadow).owned.store(0, Release);
        }
    }

    /// From now on [`Shadow::each_owned`] gives `owner` with it.
    ///
    /// # Safety
    /// The thread whose state that is owns `shadow`, and gives it back before its state goes away.
    pub(crate) unsafe fn set_owner(shadow: *mut Shadow, owner: *mut ()) {
        // SAFETY: the caller's contract.
        unsafe { (*shadow).owner.store(owner, Release) };
    }

    /// Calls `each` with every shadow stack whose owner was set, and the owner.
    pub(crate) fn each_owned(mut each: impl FnMut(*mut Shadow, *mut ())) {
        let mut node = SHADOWS.load(Acquire);
        while !ptr::eq(node, SEPARATOR.0.get()) {
            let shadow = node.cast::<Shadow>();
            // SAFETY: nodes before the separator begin a shadow stack.
            unsafe {
                let owner = (*shadow).owner.load(Acquire);
                if !owner.is_null() {
                    each(shadow, owner);
                }
                node = (*node).next;
            }
        }
    }

    /// Gives back the shadow stacks of threads that a fork did not copy.
    ///
    /// # Safety
    /// The process has but one thread, whose shadow stack is `own`.
    pub(crate) unsafe fn release_all_but(own: *mut Shadow) {
        let mut node = SHADOWS.load(Relaxed);
        while !ptr::eq(node, SEPARATOR.0.get()) {
            // SAFETY: nodes before the separator begin a shadow stack, whose owner is gone.
            unsafe {
                if node.cast() != own {
                    Shadow::release(node.cast());
                }
                node = (*node).next;
            }
        }
    }
}
