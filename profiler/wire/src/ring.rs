//! A thread's ring: one producer (the thread and the signal handlers on it), one consumer (the session).
//!
//! The producer checks `position < limit`, reserves with one addition (atomic against signals on the same
//! thread) and writes the word with the lap bit last ([`crate::arch::order`]), so that a reader that sees the lap bit
//! it expects sees the whole record. The consumer copies what is complete and then moves `limit` up. When the ring is
//! full the producer counts and drops: it never waits, and the consumer never reads a record that may be overwritten. An
//! interval that lost a record says so itself, with a [`crate::Marker::Gap`] before its end; if that finds no room, the
//! end is not written either.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::latencies::LatencyCounts;

/// log2 of the capacity of a ring in bytes.
pub const RING_SHIFT: u32 = 20;
/// Capacity of a ring in bytes: 65,536 records.
pub const RING_BYTES: usize = 1 << RING_SHIFT;
/// Kept free above `limit`: room for markers, and for signal handlers between the check and the reservation.
pub const RING_SLACK_BYTES: usize = 1024 * 16;
/// Where the records begin, from the header.
pub const RECORDS_AT: usize = 3 * 4096;

/// Head of a ring. Positions count bytes ever written and begin at [`RING_BYTES`], so that the first lap is odd
/// and the zeroed memory of a new ring reads as "not yet written".
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
    /// Producer: when the thread's open interval began, ticks; 0 while none is open. The session looks at intervals that take long
    /// while they last.
    pub open_since: AtomicU64,
    /// Producer: where the thread's calls in flight lie in its process ([`crate::in_flight`]); 0 while it has none.
    pub in_flight_at: AtomicU64,
    /// Consumer: the producer stops here.
    pub limit: AtomicU64,
    /// A [`RingState`].
    pub state: AtomicU32,
    /// Producer: latencies of the intervals that ended here and are not recorded. They only grow.
    pub unrecorded: LatencyCounts,
}

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
    /// Its thread has ended: the session drains what is left and frees it, or another thread goes on with it.
    Dead = 4,
}

/// The parity a reader expects in bit 0 of the word of the record at `position`.
pub const fn lap_bit(position: u64) -> u64 {
    position >> RING_SHIFT & 1
}
