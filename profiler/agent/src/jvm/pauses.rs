//! Stops of all Java threads while the JVM collects garbage, as parts of the intervals that they delay.
//!
//! The JVM reports a collection on one of its own threads, while Java stands still. A thread that is in an interval takes note at its
//! next probe. Where it was blocked anyway, in a wait or in a call that blocks, the stop took it no time.
//!
//! The time until all threads have stopped, and until the last has been woken, is in none of these.

use core::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_patch::thread;
use evenkeel_wire::jvm::{BLOCKS, JavaWait, PARKS};
use evenkeel_wire::{ObjectKind, Record, now_ticks};

use crate::jvm::stack::JavaStack;
use crate::jvm::{reserved, switches};
use crate::rings;
use crate::waits::groups;
use crate::waits::objects::local;

/// Collections that a thread can learn of at once; of older ones it learns nothing.
const KEPT: u64 = 64;
/// Begin and end of the last collections, ticks.
static LAST: [[AtomicU64; 2]; KEPT as usize] =
    [const { [AtomicU64::new(0), AtomicU64::new(0)] }; KEPT as usize];
/// Number of collections that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);
/// When the one that is at work began.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// Java stands still: called by the JVM, one collection at a time.
pub fn begin() {
    BEGAN.store(now_ticks(), Relaxed);
}

/// The collection is over.
pub fn end() {
    let number = ENDED.load(Relaxed);
    let [begin, end] = &LAST[(number % KEPT) as usize];
    begin.store(BEGAN.load(Relaxed), Relaxed);
    end.store(now_ticks(), Relaxed);
    ENDED.store(number + 1, Release);
}

/// Collections that have ended: an interval begins after them.
pub fn ended() -> u64 {
    ENDED.load(Acquire)
}

/// Records the collections that have stopped the calling thread since its last probe, up to `now`.
#[inline(always)]
pub fn note(stack: &mut JavaStack, now: impl FnOnce() -> u64) {
    let ended = ENDED.load(Acquire);
    if stack.collections != ended {
        record(stack, now(), ended);
    }
}

#[cold]
fn record(stack: &mut JavaStack, now: u64, ended: u64) {
    stack.collections = stack.collections.max(ended.saturating_sub(KEPT));
    let probe = reserved::probe(JavaWait::Collection, None);
    let probe = probe.filter(|_| thread::current().active != 0 && !is_blocked(stack));
    while stack.collections < ended {
        let [begin, end] = &LAST[(stack.collections % KEPT) as usize];
        let (begin, end) = (begin.load(Relaxed), end.load(Relaxed));
        if end > now {
            return;
        }
        stack.collections += 1;
        // What was before the last probe belongs to another call.
        let begin = begin.max(stack.settled);
        if let Some(id) = probe.filter(|_| begin < end) {
            stack.settled = end;
            groups::wait(&[(ObjectKind::Collection, local(1))], begin, end);
            rings::call(thread::current(), Record::new(begin, end - begin, id));
        }
    }
}

/// Whether the innermost call is a wait, or blocks.
fn is_blocked(stack: &JavaStack) -> bool {
    let innermost = stack.innermost();
    let blocks = |id| matches!(switches::state_of(id), BLOCKS | PARKS);
    innermost.is_some_and(|call| reserved::kind(call.id).is_some() || blocks(call.id))
}
