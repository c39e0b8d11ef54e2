//! The lock of the table of modules.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::now_ticks;

/// Held for microseconds, by a process of the target or by the session. Its value is the time at which it was taken, 0 for none. A
/// process' number would not do. It can be another process' in another pid namespace. And it stays in use as long as nobody has
/// waited for a process that was killed.
#[repr(transparent)]
pub struct TableLock(AtomicU64);

impl TableLock {
    /// One to two seconds. A holder that takes longer was killed.
    pub const HELD_MAX_TICKS: u64 = 4_000_000_000;

    /// Takes it, and returns the ticket with which it is released. `pause` is called between looks.
    pub fn take(&self, pause: impl Fn()) -> u64 {
        loop {
            let ticket = now_ticks().max(1);
            let holder = self.0.load(Relaxed);
            let is_free = holder == 0 || ticket.abs_diff(holder) > Self::HELD_MAX_TICKS;
            if is_free
                && self
                    .0
                    .compare_exchange(holder, ticket, Acquire, Relaxed)
                    .is_ok()
            {
                return ticket;
            }
            pause();
        }
    }

    /// Releases it, unless it was taken over.
    pub fn release(&self, ticket: u64) {
        let _ = self.0.compare_exchange(ticket, 0, Release, Relaxed);
    }
}
