//! The calling thread's ring: claiming one, and writing markers into it.

use core::sync::atomic::{Ordering::*, compiler_fence};

use evenkeel_patch::Thread;
use evenkeel_patch::arch::counter;
use evenkeel_patch::kernel;
use evenkeel_wire::arch::order::publish;
use evenkeel_wire::latency_class;
use evenkeel_wire::now_ticks;
use evenkeel_wire::ring::{RECORDS_AT, RING_BYTES, RING_SLACK_BYTES, lap_bit};
use evenkeel_wire::{Event, Marker, ObjectKind, Record, RingHeader, RingState, Stamp};

use crate::arena::Arena;
use crate::labels::FoundLabel;
use crate::threads;

/// Where records go that nobody wants: its limit is zero, so all are dropped.
struct Scratch(RingHeader);
// SAFETY: all fields are atomic.
unsafe impl Sync for Scratch {}
// SAFETY: zero is a valid header.
static SCRATCH: Scratch = Scratch(unsafe { core::mem::zeroed() });

/// Room for records of signal handlers that run between a check of the limit and the reservation.
const SIGNALS_BYTES: usize = 1024;

/// Time that a thread without a ring waits before it looks again, in ticks (some tens of milliseconds).
const RETRY_TICKS: u64 = 100_000_000;

/// Lets the thread's calls run into nothing.
pub fn discard_records(thread: &mut Thread) {
    thread.ring = (&raw const SCRATCH.0).cast_mut();
}

/// Whether the thread has a ring.
pub fn is_own(thread: &Thread) -> bool {
    !thread.ring.is_null() && !core::ptr::eq(thread.ring, &SCRATCH.0)
}

/// Whether the thread has a ring; claims a free one if necessary.
pub fn ensure(thread: &mut Thread, arena: Arena) -> bool {
    if is_own(thread) {
        return true;
    }
    let now = now_ticks();
    if now < thread.retry_ticks {
        return false;
    }
    if let Some(ring) = claim(arena) {
        thread.ring = ring;
        // SAFETY: rings stay mapped.
        let header = unsafe { &*ring };
        header.note_open(0);
        header.in_flight_at.store(thread.shadow as u64, Relaxed);
        thread.reported_dropped = dropped(thread);
        return true;
    }
    count_unrecorded(thread, arena);
    thread.retry_ticks = now + RETRY_TICKS;
    discard_records(thread);
    false
}

/// Counts the thread, once, as one that is not recorded.
pub fn count_unrecorded(thread: &mut Thread, arena: Arena) {
    if thread.retry_ticks == 0 {
        thread.retry_ticks = 1;
        arena.control().threads_without_ring.fetch_add(1, Relaxed);
    }
}

/// A free ring; else one whose thread has ended, to go on behind its last record: short-lived threads come faster than the
/// session frees rings.
fn claim(arena: Arena) -> Option<*mut RingHeader> {
    claim_in(arena, RingState::Free).or_else(|| claim_in(arena, RingState::Dead))
}

fn claim_in(arena: Arena, state: RingState) -> Option<*mut RingHeader> {
    let state = state as u32;
    let rings = arena.control().rings.load(Acquire) as usize;
    for index in 0..rings {
        let ring = arena.ring(index);
        // SAFETY: rings below the count are backed by memory.
        let header = unsafe { &*ring };
        if header.state.load(Relaxed) == state
            && header
                .state
                .compare_exchange(state, RingState::Claimed as u32, AcqRel, Relaxed)
                .is_ok()
        {
            header.pid.store(kernel::process_id() as u32, Relaxed);
            header.tid.store(threads::thread_id() as u32, Relaxed);
            // An interval of the thread before that has no end.
            header.publish();
            header.state.store(RingState::Live as u32, Release);
            return Some(ring);
        }
    }
    None
}

/// The thread is about to end. The ring is let go first: a signal handler may still run hooked code.
pub fn release(thread: &mut Thread) {
    let ring = thread.ring;
    discard_records(thread);
    compiler_fence(SeqCst);
    if !ring.is_null() && !core::ptr::eq(ring, &SCRATCH.0) {
        // SAFETY: rings stay mapped.
        unsafe {
            (*ring).note_open(0);
            (*ring).publish();
            (*ring).state.store(RingState::Dead as u32, Release);
        }
    }
}

/// Gives up the rings of the program that this process was before `exec`.
pub fn release_inherited(arena: Arena) {
    // SAFETY: no arguments.
    let own = unsafe { libc::getpid() } as u32;
    for index in 0..arena.control().rings.load(Acquire) as usize {
        // SAFETY: rings below the count are backed by memory.
        let header = unsafe { &*arena.ring(index) };
        if header.pid.load(Relaxed) == own {
            let (live, dead) = (RingState::Live as u32, RingState::Dead as u32);
            let _ = header.state.compare_exchange(live, dead, AcqRel, Relaxed);
        }
    }
}

/// Whether `count` markers fit below the limit plus `beyond` bytes.
fn has_room(header: &RingHeader, count: usize, beyond: usize) -> bool {
    let end = header.limit.load(Acquire) + beyond as u64;
    header.position.load(Relaxed) + 16 * count as u64 <= end
}

/// Puts a record at a reserved position. The word goes last: it says that the record is complete.
fn put(header: *mut RingHeader, position: u64, record: Record) {
    let offset = RECORDS_AT + (position as usize & (RING_BYTES - 1));
    // SAFETY: inside the ring, in a slot that this thread reserved.
    unsafe {
        let slot = header.cast::<u8>().add(offset).cast::<u64>();
        publish(slot, record.start, record.word | lap_bit(position));
    }
}

/// Writes the beginning of an interval with its label's records; the beginning is the time at which everything else
/// is written. Returns false, and writes nothing, when the ring is full. The space above the limit is for the end of
/// the interval that filled it, and no other interval may lose calls there unnoticed.
pub fn begin(thread: &mut Thread, stamp: Stamp, label: &FoundLabel) -> bool {
    // SAFETY: rings stay mapped.
    let header = unsafe { &*thread.ring };
    let count = 1 + label.records();
    if !has_room(header, count, 0) {
        count_missed(thread);
        return false;
    }
    let position = counter::add(&header.position, 16 * count as u64);
    for i in 1..count {
        put(thread.ring, position + 16 * i as u64, label.record(i - 1));
    }
    header.open(position);
    (thread.begun_at, thread.begun_ticks) = (position, now_ticks());
    put(
        thread.ring,
        position,
        Record::begin(thread.begun_ticks, stamp),
    );
    true
}

/// Writes the class of the interval that is open on the thread: an [`Event::Class`] with key 0, whose text is copied from where it
/// lies, as for [`begin`]. False, and nothing written, when the ring is full.
pub fn classify(thread: &mut Thread, label: &FoundLabel) -> bool {
    // SAFETY: rings stay mapped.
    let header = unsafe { &*thread.ring };
    let count = 2 + label.records();
    if !has_room(header, count, 0) {
        return false;
    }
    let position = counter::add(&header.position, 16 * count as u64);
    for at in 2..count {
        put(thread.ring, position + 16 * at as u64, label.record(at - 2));
    }
    let interval = Record::marker(Marker::Object, 0, ObjectKind::Interval as u64);
    put(thread.ring, position + 16, interval);
    put(thread.ring, position, Record::marker(Marker::Class, 0, 0));
    true
}

/// Writes one record, beyond the limit for calls if need be. False if even that is full.
pub fn write(thread: &mut Thread, record: Record) -> bool {
    // SAFETY: rings stay mapped.
    let header = unsafe { &*thread.ring };
    if !has_room(header, 1, RING_SLACK_BYTES - SIGNALS_BYTES) {
        header.dropped.fetch_add(1, Relaxed);
        return false;
    }
    let position = counter::add(&header.position, 16);
    put(thread.ring, position, record);
    true
}

/// Writes a completed call. Dropped, and counted, when the ring is full: the rest of the open interval is not timed then.
pub fn call(thread: &mut Thread, record: Record) {
    // SAFETY: rings stay mapped.
    let header = unsafe { &*thread.ring };
    if !has_room(header, 1, 0) {
        header.dropped.fetch_add(1, Relaxed);
        if thread.active == Thread::IN_INTERVAL {
            thread.active = 0;
        }
        return;
    }
    let position = counter::add(&header.position, 16);
    put(thread.ring, position, record);
}

/// Writes an event: its records are contiguous, whatever signal handlers write in between. Losses since the thread
/// last reported them are written first. Returns false, and counts the event as lost, when there is no room: the
/// space above the limit is shared with the ends of intervals.
pub fn event(thread: &mut Thread, event: Event<'_>) -> bool {
    // SAFETY: rings stay mapped.
    let header = unsafe { &*thread.ring };
    let dropped = header.dropped.load(Relaxed);
    let lost = dropped.wrapping_sub(thread.reported_dropped);
    let len = event.records_len();
    let count = len + usize::from(lost > 0);
    if !has_room(header, count, RING_SLACK_BYTES / 2) {
        header.dropped.fetch_add(len as u64, Relaxed);
        return false;
    }
    let mut position = counter::add(&header.position, 16 * count as u64);
    if lost > 0 {
        put(thread.ring, position, Record::gap(now_ticks(), lost));
        position += 16;
        thread.reported_dropped = dropped;
    }
    for record in event.records() {
        put(thread.ring, position, record);
        position += 16;
    }
    true
}

/// Takes the interval that ends on the thread from the session, which reads a large one before its end. False: it must be kept.
pub fn take_back(thread: &Thread) -> bool {
    // SAFETY: rings stay mapped.
    is_own(thread) && unsafe { (*thread.ring).take_back(thread.begun_at) }
}

/// Gives the space of the interval that ends on the thread back; it was taken back. Nothing is recorded on the thread, so that what a
/// handler of a signal leaves behind is of no interval.
pub fn give_back(thread: &mut Thread) {
    thread.gives_back = true;
    compiler_fence(SeqCst);
    // SAFETY: rings stay mapped.
    unsafe { (*thread.ring).give_back(thread.begun_at) };
    compiler_fence(SeqCst);
    thread.gives_back = false;
}

/// Lets the session read all that the thread has written.
pub fn publish_all(thread: &Thread) {
    // SAFETY: rings stay mapped.
    unsafe { (*thread.ring).publish() };
}

/// Notes when the thread's open interval began, ticks; 0 once none is open. One that is open is left.
pub fn note_open(thread: &Thread, since: u64) {
    // SAFETY: null, or a ring, which stays mapped.
    if let Some(ring) = unsafe { thread.ring.as_ref() } {
        ring.note_open(since);
    }
}

/// Notes that the thread's open interval has ended.
pub fn note_end(thread: &Thread) {
    // SAFETY: null, or a ring, which stays mapped.
    if let Some(ring) = unsafe { thread.ring.as_ref() } {
        ring.note_end();
    }
}

/// Counts an interval that is not recorded.
pub fn count_skipped(thread: &mut Thread) {
    // SAFETY: rings stay mapped.
    counter::add(unsafe { &(*thread.ring).skipped }, 1);
}

/// Counts the latency of an interval that is not recorded and has ended.
pub fn count_latency(thread: &mut Thread, ticks: u64) {
    // SAFETY: rings stay mapped.
    let unrecorded = unsafe { &(*thread.ring).unrecorded };
    if let Some(count) = unrecorded.by_class.get(latency_class(ticks)) {
        counter::add(count, 1);
    }
    if ticks > unrecorded.max_ticks.load(Relaxed) {
        unrecorded.max_ticks.store(ticks, Relaxed);
    }
    counter::add(&unrecorded.intervals, 1);
}

/// Counts an interval whose beginning found no room.
pub fn count_missed(thread: &mut Thread) {
    // SAFETY: rings stay mapped.
    unsafe { (*thread.ring).missed.fetch_add(1, Relaxed) };
}

/// Counts an interval that began while the plan was changed.
pub fn count_unplanned(thread: &mut Thread) {
    // SAFETY: rings stay mapped.
    unsafe { (*thread.ring).unplanned.fetch_add(1, Relaxed) };
}

/// Records dropped so far.
pub fn dropped(thread: &Thread) -> u64 {
    // SAFETY: rings stay mapped.
    unsafe { (*thread.ring).dropped.load(Relaxed) }
}
