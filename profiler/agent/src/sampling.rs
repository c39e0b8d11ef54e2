//! Which intervals are recorded, where not all are: some are skipped when they begin, and others are not kept when they end.
//!
//! Each is chosen by itself, at random: every second one would be the same statement of a transaction each time.

use core::sync::atomic::Ordering::Relaxed;

use evenkeel_patch::Thread;
use evenkeel_wire::{Control, KeepRate, now_ticks};

use crate::rings;

/// Whether the interval that begins is one of the `skip_65536` in 65536 that are left out.
pub fn skips(thread: &mut Thread, skip_65536: u32) -> bool {
    skip_65536 != 0 && next(thread) & 0xffff < skip_65536
}

/// At least one in eight of the intervals whose probes are bypassed is kept: they are few, and they measure the cost
/// of probes.
pub const BYPASSED_MOST: KeepRate = KeepRate::of_log2(3);

/// The probability, as a weight, with which the interval that ends at `now` was kept; `None` if it is not kept.
/// `most` is the largest weight.
///
/// Where waits are followed, others may need what the thread did, so that all are kept. A clock that has gone back says nothing of the
/// latency: such an interval is kept, and the analysis counts it as malformed.
pub fn keep(thread: &mut Thread, control: &Control, now: u64, most: KeepRate) -> Option<KeepRate> {
    let Some(ticks) = now.checked_sub(thread.begun_ticks) else {
        return Some(KeepRate::ALL);
    };
    if control.waits.load(Relaxed) != 0 {
        return Some(KeepRate::ALL);
    }
    let keep = control.keep.of(ticks).min(most);
    if keep == KeepRate::ALL || !rings::take_back(thread) {
        return Some(KeepRate::ALL);
    }
    keep.keeps(next(thread)).then_some(keep)
}

/// Marsaglia's xorshift, 32 bits; seeded apart in each thread.
fn next(thread: &mut Thread) -> u32 {
    if thread.random == 0 {
        let address = &raw const *thread as u64;
        let seed = (now_ticks() ^ address).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        thread.random = (seed >> 32) as u32 | 1;
    }
    let mut random = thread.random;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    thread.random = random;
    // The upper bits are the better ones.
    random >> 16
}
