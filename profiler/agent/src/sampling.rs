//! Which intervals are recorded, where not all are.
//!
//! Each is chosen by itself, at random: every second one would be the same statement of a transaction each time.

use evenkeel_patch::Thread;
use evenkeel_wire::now_ticks;

/// Whether the interval that begins is one of the `skip_65536` in 65536 that are left out.
pub fn skips(thread: &mut Thread, skip_65536: u32) -> bool {
    skip_65536 != 0 && next(thread) & 0xffff < skip_65536
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
