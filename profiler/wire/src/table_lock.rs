//! The lock of the table of modules.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::now_ticks;

/// Held for microseconds, by one of the target's processes or by the session. When it was taken says who holds it: a process' number
/// can mean another process in another pid namespace, and it stays in use while nobody waits for a process that was killed.
#[repr(transparent)]
pub struct TableLock(AtomicU64);

impl TableLock {
    /// One to two seconds: who has held it for longer was killed.
    pub const HELD_MAX_TICKS: u64 = 4_000_000_000;

    /// Takes it, and returns the ticket with which it is released. `pause` is called between looks.
    pub fn take(&self, pause: impl Fn()) -> u64 {
        loop {
            let ticket = now_ticks().max(1);
            let holder = self.0.load(Relaxed);
            let is_free = holder == 0 || ticket.saturating_sub(holder) > Self::HELD_MAX_TICKS;
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
