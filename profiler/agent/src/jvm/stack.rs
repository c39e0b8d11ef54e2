//! The Java calls that are in flight on each thread.
//!
//! Stack pointers say nothing about Java frames: inlined ones share theirs, and it moves when code is deoptimised. So a call is known by
//! its depth, which its probe keeps as a token, and whoever leaves a call leaves all that were entered since.
//!
//! A stack's memory is never freed. Another thread may look at it ([`each_in_interval`]) after its own thread has
//! ended, and then sees a stack in no interval. It serves the next thread.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use crate::jvm::environment::Watched;
use crate::jvm::recording::Mark;

/// Calls in flight on a thread, at most; deeper ones are not recorded.
const DEPTH_MAX: usize = 1024;
/// References of ended threads that are kept until somebody looks at stacks.
const RETIRED_MAX: usize = 1024;
/// Bits of a token that are the depth; those above are the session's.
const DEPTH_BITS: u32 = 10;
const _: () = assert!(DEPTH_MAX == 1 << DEPTH_BITS);
/// Bits of a session's number: a token is a positive number.
const SESSION_MASK: u32 = (1 << (31 - DEPTH_BITS)) - 1;

/// The session that calls are entered for. A call of an earlier one is not left any more.
static SESSION: AtomicU32 = AtomicU32::new(1);
/// All stacks, each leading to the next.
static ALL: AtomicPtr<JavaStack> = AtomicPtr::new(ptr::null_mut());

/// References of threads that have ended.
static RETIRED: [AtomicPtr<c_void>; RETIRED_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; RETIRED_MAX];

thread_local! {
    static OWN: Cell<*mut JavaStack> = const { Cell::new(ptr::null_mut()) };
}

/// A call in flight.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// When it was entered, ticks.
    pub start: u64,
    /// Its probe.
    pub id: u32,
}

/// A wait in flight.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The token of its call.
    pub token: i32,
    /// What distinguishes its object.
    pub key: u64,
}

/// Waits in flight on a thread, at most: a thread that was notified may wait for the monitor.
const WAITS_MAX: usize = 4;

/// The interval that a thread works on, which began elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Working {
    /// Identity of its object.
    pub identity: u64,
    /// Its key; 0: it is not known, or the work is for any interval.
    pub key: u64,
    /// It is recorded, and not only counted.
    pub is_recorded: bool,
    /// The depth of the call for whose time the thread works on it; 0: until it turns to another.
    pub depth: usize,
}

impl Working {
    /// Work for any interval, or for several at once.
    pub const fn for_any() -> Working {
        Working {
            identity: NO_OBJECT,
            key: 0,
            is_recorded: false,
            depth: 0,
        }
    }
}

/// No object has this identity: they have 32 bits.
const NO_OBJECT: u64 = u64::MAX;

/// Intervals that a thread works on, one inside of the other, at most.
const WORKS_MAX: usize = 4;

/// The calls in flight on one thread, and what others see of it.
#[derive(Debug)]
pub struct JavaStack {
    next: AtomicPtr<JavaStack>,
    /// A thread has it.
    is_owned: AtomicBool,
    /// The thread, as a reference that does not keep it.
    thread: AtomicPtr<c_void>,
    /// When the open interval began, ticks; 0: none is open.
    begun: AtomicU64,
    session: u32,
    /// Whether the interval is recorded, for the helper class.
    pub recording: Mark,
    depth: usize,
    calls: [Call; DEPTH_MAX],
    waits: [Waiting; WAITS_MAX],
    waits_len: usize,
    works: [Working; WORKS_MAX],
    works_len: usize,
    /// Garbage collections that the thread has taken note of.
    pub collections: u64,
    /// What was before is recorded, ticks.
    pub settled: u64,
}

/// The calling thread's, if it has one. The reference must not be kept over the end of a probe.
pub fn own<'a>() -> Option<&'a mut JavaStack> {
    // SAFETY: it is this thread's until it ends, and others look at what is atomic only.
    unsafe { OWN.get().as_mut() }
}

/// The calling thread's. `watch` says how others know the thread. Nothing where there is no memory.
pub fn ensure<'a>(watch: impl FnOnce() -> Option<Watched>) -> Option<&'a mut JavaStack> {
    if let Some(stack) = own() {
        return Some(stack);
    }
    let thread = watch()?;
    let stack = claim().or_else(add)?;
    // SAFETY: claimed: it is this thread's from now on.
    let stack = unsafe { &mut *stack };
    stack.session = 0;
    stack.depth = 0;
    stack.works_len = 0;
    stack.begun.store(0, Relaxed);
    stack.recording = Mark::of(thread.number);
    retire(stack.thread.swap(thread.reference, AcqRel));
    OWN.set(stack);
    Some(stack)
}

fn claim() -> Option<*mut JavaStack> {
    let mut at = ALL.load(Acquire);
    // SAFETY: stacks stay mapped.
    while let Some(stack) = unsafe { at.as_ref() } {
        if !stack.is_owned.load(Relaxed) && !stack.is_owned.swap(true, AcqRel) {
            return Some(at);
        }
        at = stack.next.load(Acquire);
    }
    None
}

/// A new one, owned. Memory of zeroes is a stack without calls.
fn add() -> Option<*mut JavaStack> {
    let (rights, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: fresh memory.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size_of::<JavaStack>(),
            rights,
            flags,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return None;
    }
    let new = memory.cast::<JavaStack>();
    // SAFETY: zeroed memory of its size.
    let stack = unsafe { &*new };
    stack.is_owned.store(true, Relaxed);
    let mut first = ALL.load(Acquire);
    loop {
        stack.next.store(first, Relaxed);
        match ALL.compare_exchange(first, new, AcqRel, Acquire) {
            Ok(_) => return Some(new),
            Err(now) => first = now,
        }
    }
}

/// The calling thread ends. The reference that others knew it by stays until the stack serves the next thread: this one may have left
/// the JVM.
pub fn release() {
    if let Some(stack) = own() {
        stack.depth = 0;
        stack.begun.store(0, Relaxed);
        stack.recording.set(false);
        OWN.set(ptr::null_mut());
        stack.is_owned.store(false, Release);
    }
}

/// A thread's reference is not used any more. It is dropped by the thread that looks at stacks, which may be about to use it.
fn retire(thread: *mut c_void) {
    if thread.is_null() {
        return;
    }
    let free = |place: &&AtomicPtr<c_void>| {
        place
            .compare_exchange(ptr::null_mut(), thread, AcqRel, Relaxed)
            .is_ok()
    };
    // Where there is no place, a few bytes of the JVM's are lost.
    let _ = RETIRED.iter().find(free);
}

/// The references that are not used any more, to be dropped by the thread that looks at stacks.
pub fn take_retired() -> impl Iterator<Item = *mut c_void> {
    let taken = RETIRED
        .iter()
        .map(|place| place.swap(ptr::null_mut(), AcqRel));
    taken.filter(|thread| !thread.is_null())
}

/// Another session begins: what is in flight is not recorded.
pub fn begin_session() {
    SESSION.fetch_add(1, AcqRel);
}

fn session() -> u32 {
    SESSION.load(Relaxed) & SESSION_MASK
}

/// Calls `look` with each thread that is in an interval, and when that began.
pub fn each_in_interval(mut look: impl FnMut(&JavaStack, u64)) {
    let mut at = ALL.load(Acquire);
    // SAFETY: stacks stay mapped; what is looked at is atomic.
    while let Some(stack) = unsafe { at.as_ref() } {
        let begun = stack.begun();
        if begun != 0 && stack.is_owned.load(Acquire) {
            look(stack, begun);
        }
        at = stack.next.load(Acquire);
    }
}

impl JavaStack {
    /// The thread, as a reference that does not keep it.
    pub fn thread(&self) -> *mut c_void {
        self.thread.load(Acquire)
    }

    /// When the open interval began, ticks; 0 where none is open.
    pub fn begun(&self) -> u64 {
        self.begun.load(Acquire)
    }

    /// Whether an interval is open, of the present session.
    pub fn is_open(&self) -> bool {
        self.depth > 0 && self.session == session()
    }

    /// Enters the call that is an interval, after so many garbage collections: the token.
    pub fn open(&mut self, id: u32, now: u64, collections: u64) -> i32 {
        if self.session != session() {
            self.works_len = 0;
        }
        self.session = session();
        self.waits_len = 0;
        (self.collections, self.settled) = (collections, now);
        self.calls[0] = Call { start: now, id };
        self.depth = 1;
        self.begun.store(now, Release);
        (self.session << DEPTH_BITS) as i32
    }

    /// Opens the stack, if it is not open, for calls that work on intervals of other threads; those begin with this probe.
    pub fn open_for_work(&mut self, id: u32, now: u64, collections: u64) {
        if !self.is_open() {
            self.open(id, now, collections);
        }
    }

    /// What the thread works on.
    pub fn working(&self) -> Option<Working> {
        let at = self.works_len.checked_sub(1)?;
        let is_there = self.session == session();
        self.works.get(at).filter(|_| is_there).copied()
    }

    /// The thread turns to this work. False where there is no room for it.
    pub fn begin_work(&mut self, working: Working) -> bool {
        if self.session != session() {
            (self.session, self.depth, self.works_len) = (session(), 0, 0);
        }
        let place = self.works.get_mut(self.works_len);
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = working;
            self.works_len += 1;
        }
        has_room
    }

    /// The last work is over when the call of this token is left, if it was not to be over before.
    pub fn work_lasts_as(&mut self, token: i32) {
        let depth = self.depth_of(token).unwrap_or(0);
        let last = self.works_len.checked_sub(1);
        if let Some(work) = last.and_then(|at| self.works.get_mut(at))
            && work.depth == 0
        {
            work.depth = depth;
        }
    }

    /// The last work is over.
    pub fn end_work(&mut self) {
        self.works_len = self.works_len.saturating_sub(1);
        if self.works_len == 0 {
            self.close();
        }
    }

    /// All work is over.
    pub fn forget_works(&mut self) {
        self.works_len = 0;
        self.close();
    }

    /// Enters a call in an interval: the token; nothing where there is no room.
    pub fn push(&mut self, call: Call) -> Option<i32> {
        let depth = self.depth;
        *self.calls.get_mut(depth)? = call;
        self.depth = depth + 1;
        Some((self.session << DEPTH_BITS | depth as u32) as i32)
    }

    /// Says when the call that was entered last began.
    pub fn start_last(&mut self, now: u64) {
        self.settled = now;
        if let Some(call) = self
            .depth
            .checked_sub(1)
            .and_then(|at| self.calls.get_mut(at))
        {
            call.start = now;
        }
    }

    /// The innermost call.
    pub fn innermost(&self) -> Option<Call> {
        let at = self.depth.checked_sub(1)?;
        self.calls.get(at).copied()
    }

    /// The calls inside of the interval, outermost first.
    pub fn calls(&self) -> &[Call] {
        self.calls.get(1..self.depth).unwrap_or_default()
    }

    /// The call that was entered last is a wait.
    pub fn wait_begins(&mut self, waiting: Waiting) {
        if let Some(place) = self.waits.get_mut(self.waits_len) {
            *place = waiting;
            self.waits_len += 1;
        }
    }

    /// The wait that began last.
    pub fn waiting(&self) -> Option<Waiting> {
        let at = self.waits_len.checked_sub(1)?;
        self.waits.get(at).copied()
    }

    /// The wait that began last, which is over.
    pub fn wait_ends(&mut self) -> Option<Waiting> {
        let last = self.waiting()?;
        self.waits_len -= 1;
        Some(last)
    }

    /// The depth of the call of `token`; nothing where it was left, or is of another session.
    pub fn depth_of(&self, token: i32) -> Option<usize> {
        let token = token as u32;
        let depth = (token & (DEPTH_MAX as u32 - 1)) as usize;
        let is_there =
            token >> DEPTH_BITS == self.session && self.session == session() && self.depth > depth;
        is_there.then_some(depth)
    }

    /// Leaves the innermost call if it is of this depth or deeper, and not the interval.
    pub fn pop(&mut self, depth: usize) -> Option<Call> {
        if self.depth <= depth.max(1) {
            return None;
        }
        self.depth -= 1;
        Some(self.calls[self.depth])
    }

    /// Leaves the interval, once no call is open in it.
    pub fn close(&mut self) {
        self.depth = 0;
        self.begun.store(0, Release);
    }
}
