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

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*, compiler_fence};

use crate::arch::{claim, counter};
use crate::frame::Frame;
use crate::kernel;
use evenkeel_wire::now_ticks;

/// Calls in flight that one thread can have; deeper ones run unrecorded.
pub const FRAMES_MAX: usize = 4096;
/// Orphaned frames of one thread. Address space only: a page is used when it is reached.
pub const ORPHANS_MAX: usize = 1 << 16;
/// With fewer orphans, a search for dead ones is not worth its cost.
const SWEEP_MIN: u64 = 1024;
/// The newest orphans, of which one may be an earlier call at the place of the next. Errors are thrown from few places.
const RECENT: usize = 16;
/// Slots that are looked at in one system call.
const PEEKS: usize = 16;
/// How often a thread with little room looks for dead orphans, in ticks (some tens of milliseconds).
const SWEEP_PERIOD_TICKS: u64 = 100_000_000;

/// Set in an orphan's `start`: a hooked tail call was made from it, whose frame with the same slot is the next orphan. While that
/// call is in flight, the slot holds the address of its trampoline.
const COVERED: u64 = 1 << 63;

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
    /// errors that are thrown again and again from one place leave one orphan. False if there is none.
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
