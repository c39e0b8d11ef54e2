//! Counts of waiters, so that a release without a waiter costs one load.
//!
//! Objects are hashed to the slots of one table that all processes share. A waiter counts itself in *before* its last
//! try without waiting, and out when it continues. A releaser looks before it releases, and once more after:
//!
//! ```text
//! waiter                                   releaser
//! announce: here += 1, ever += 1           state; here > 0: write the wake, release
//! try, block                                      here = 0: release; state changed: write the wake late
//! retire: here -= 1
//! ```
//! `here` counts the present waiters, `ever` all announcements of a wait. Both the announcement and the release are
//! locked instructions, so they are ordered before all later memory accesses. If the waiter's last try came before the
//! release, so did its announcement. The second look then finds it, even if the waiter continues already. So every wait
//! that a release ends has its wake (`tests/waiters_model.rs` explores this). A late wake has the time of the last
//! announcement.
//!
//! Two objects in one slot, and processes that were killed while they waited, make for wakes that nobody waits for.

use core::sync::atomic::{AtomicU64, Ordering::*};

/// log2 of the number of slots that objects are hashed to.
const SLOTS_SHIFT: u32 = 14;
/// Slot of threads that wait for one of several descriptors: every writer to a descriptor looks here, too.
pub const POLLERS: usize = 1 << SLOTS_SHIFT;
/// Slots in all; the pollers' is alone in its cache line.
pub const WAITERS_LEN: usize = POLLERS + 4;

/// A slot; all zeros without waiters.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Waiters {
    /// Low half: `here`; high half: `ever`.
    state: AtomicU64,
    announced_ticks: AtomicU64,
}

/// A slot as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(u64);

impl State {
    /// Whether somebody waited.
    #[inline(always)]
    pub const fn is_waited_for(self) -> bool {
        self.0 as u32 != 0
    }
}

/// The slot of an object, by anything that is the same in all processes that know it.
#[inline(always)]
pub const fn slot_of(identity: u64) -> usize {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the high bits of a product.
    (identity.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS_SHIFT)) as usize
}

impl Waiters {
    /// A thread is about to wait.
    #[inline]
    pub fn announce(&self, now_ticks: u64) {
        self.announced_ticks.store(now_ticks, Relaxed);
        self.state.fetch_add(1 << 32 | 1, SeqCst);
    }

    /// The waiter continues.
    #[inline]
    pub fn retire(&self) {
        self.state.fetch_sub(1, Release);
    }

    /// The state now, to be compared with that after a release.
    #[inline(always)]
    pub fn state(&self) -> State {
        State(self.state.load(Acquire))
    }

    /// Whether somebody may be waiting.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.state().is_waited_for()
    }

    /// When somebody last announced a wait.
    pub fn announced_ticks(&self) -> u64 {
        self.announced_ticks.load(Relaxed)
    }
}
