//! A thread's ring: one producer (the thread and the signal handlers on it), one consumer (the session).
//!
//! The producer checks `position < limit` and reserves with one addition (atomic against signals on the same thread).
//! It writes the word with the lap bit last ([`crate::arch::order`]), so a reader that sees the expected lap bit sees
//! the whole record. The consumer copies complete records and then moves `limit` up. When the ring is full the
//! producer counts and drops: it never waits, and the consumer never reads a record that may be overwritten. An
//! interval that lost a record has a [`crate::Marker::Gap`] before its end; if that finds no room, the end is not
//! written either.
//!
//! # Intervals that give their space back
//! Whether an interval is kept is decided when it ends (`wire/src/keeping.rs`). Until then its records are not read: the consumer reads up to
//! `published`. The producer raises it where an interval begins, because what came before is settled, and where a kept one ends. An
//! interval that is not kept sets `position` back to its beginning.
//!
//! ```text
//!        read                published = open        position          limit
//! ──────────┼──────────────────────┼────────────────────┼────────────────┼──
//!           │ settled, to be read  │ the open interval  │ free           │ room for ends
//! ```
//! The consumer **claims** an interval that has written a quarter of the ring: it sets the lowest bit of `open`, and reads records while
//! the interval lasts, up to [`RING_SLACK_BYTES`] below the newest. The producer takes `open` back before it decides. If that fails, the
//! interval is kept with weight 1 whatever was drawn: it was certain to be kept.
//!
//! The lap bit does not distinguish a slot that was given back from one that is written. The consumer reads no such slot: they lie above
//! `published`, or among the newest of a claimed interval. There is one exception. A handler of a signal may begin an interval while its
//! thread writes a record. That thread's interval was then left early, and is not used.
//!
//! Where waits are followed, other threads' intervals need what is recorded outside of intervals, so that all is read up to `position`.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use crate::latencies::LatencyCounts;

/// log2 of the capacity of a ring in bytes.
pub const RING_SHIFT: u32 = 20;
/// Capacity of a ring in bytes: 65,536 records.
pub const RING_BYTES: usize = 1 << RING_SHIFT;
/// Kept free above `limit`: room for markers, and for signal handlers between the check and the reservation.
pub const RING_SLACK_BYTES: usize = 1024 * 16;
/// Where the records begin, from the header.
pub const RECORDS_AT: usize = 3 * 4096;

/// Head of a ring. Positions count bytes ever written and begin at [`RING_BYTES`]. So the first lap is odd, and the
/// zeroed memory of a new ring reads as "not yet written".
#[repr(C, align(64))]
pub struct RingHeader {
    /// Producer: bytes reserved.
    pub position: AtomicU64,
    /// Producer: records dropped because the ring was full.
    pub dropped: AtomicU64,
    /// Producer: process, and thread within it, that own the ring.
    pub pid: AtomicU32,
    /// See `pid`.
    pub tid: AtomicU32,
    /// Producer: intervals that could not begin because the ring was full.
    pub missed: AtomicU64,
    /// Producer: intervals counted and not recorded ([`crate::Control::skip_65536`]). As `dropped`, it only grows.
    pub skipped: AtomicU64,
    /// Producer: intervals that could not begin because another thread was changing the plan.
    pub unplanned: AtomicU64,
    /// Producer: what lies below is settled.
    pub published: AtomicU64,
    /// Producer: the start of an open interval that may give its space back; 0 without one. Consumer: plus 1 if it is
    /// claimed.
    pub open: AtomicU64,
    /// Producer: when the thread's open interval began, ticks; 0 while none is open. The session looks at intervals that take long
    /// while they last.
    pub open_since: AtomicU64,
    /// Producer: intervals that were open and did not end: another began on the thread, or their function was left. It only grows.
    pub left: AtomicU64,
    /// Producer: when the last of these began, ticks.
    pub left_since: AtomicU64,
    /// Producer: where the thread's calls in flight lie in its process ([`crate::in_flight`]); 0 while it has none.
    pub in_flight_at: AtomicU64,
    /// Consumer: the producer stops here.
    pub limit: AtomicU64,
    /// A [`RingState`].
    pub state: AtomicU32,
    /// Producer: latencies of the intervals that ended here and are not recorded. They only grow.
    pub unrecorded: LatencyCounts,
    /// Producer: bytes that intervals gave back. As `dropped`, it only grows.
    pub given_back: AtomicU64,
}

impl RingHeader {
    /// Producer: an interval begins, at these ticks, or none is open any more (0). One that has not ended is left.
    pub fn note_open(&self, since: u64) {
        let before = self.open_since.load(Relaxed);
        if before != 0 {
            self.left_since.store(before, Relaxed);
            self.left.store(self.left.load(Relaxed) + 1, Relaxed);
        }
        self.open_since.store(since, Release);
    }

    /// Producer: the open interval has ended.
    pub fn note_end(&self) {
        self.open_since.store(0, Release);
    }

    /// Producer: an interval begins whose first record lies at `begin`; what came before is settled.
    pub fn open(&self, begin: u64) {
        self.published.store(begin, Release);
        self.open.store(begin, Release);
    }

    /// Producer: takes the open interval from the consumer, before its end decides whether it is kept. False: the consumer has it.
    pub fn take_back(&self, begin: u64) -> bool {
        self.open
            .compare_exchange(begin, 0, AcqRel, Relaxed)
            .is_ok()
    }

    /// Producer: all that is written is settled.
    pub fn publish(&self) {
        self.published.store(self.position.load(Relaxed), Release);
        self.open.store(0, Release);
    }

    /// Producer: gives back the space of the interval that begins at `begin`, which was taken back.
    pub fn give_back(&self, begin: u64) {
        let bytes = self.position.load(Relaxed).saturating_sub(begin);
        self.position.store(begin, Release);
        self.given_back
            .store(self.given_back.load(Relaxed) + bytes, Relaxed);
    }

    /// Consumer: up to where records may be read. Claims an interval that fills the ring.
    pub fn readable(&self) -> u64 {
        let open = self.open.load(Acquire);
        let begin = open & !CLAIMED;
        if open == 0 {
            return self.published.load(Acquire);
        }
        let written = self.position.load(Acquire).saturating_sub(begin);
        let mine = begin | CLAIMED;
        if open != mine {
            let is_large = written > CLAIMED_FROM_BYTES;
            let claims = || self.open.compare_exchange(open, mine, AcqRel, Relaxed);
            if !is_large || claims().is_err() {
                return self.published.load(Acquire);
            }
        }
        let position = self.position.load(Acquire);
        let published = self.published.load(Acquire);
        // The position is that interval's only while it is open. A claimed one keeps its space, so that no other begins where it did.
        if self.open.load(Acquire) == mine {
            published.max(position.saturating_sub(RING_SLACK_BYTES as u64))
        } else {
            published
        }
    }
}

/// The bit of [`RingHeader::open`] that the consumer sets.
const CLAIMED: u64 = 1;
/// Size from which an interval is claimed.
const CLAIMED_FROM_BYTES: u64 = RING_BYTES as u64 / 4;
const _: () = assert!(CLAIMED_FROM_BYTES > 4 * RING_SLACK_BYTES as u64);

const _: () = assert!(size_of::<RingHeader>() <= RECORDS_AT);

/// Life of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RingState {
    /// Not backed by memory yet.
    Absent = 0,
    /// Backed by memory, position and limit set: a thread may claim it.
    Free = 1,
    /// A thread is setting it up, or the session empties it.
    Claimed = 2,
    /// A thread writes to it.
    Live = 3,
    /// Its thread has ended: the session drains the rest and frees it, or another thread takes it over.
    Dead = 4,
}

/// The parity a reader expects in bit 0 of the word of the record at `position`.
pub const fn lap_bit(position: u64) -> u64 {
    position >> RING_SHIFT & 1
}
