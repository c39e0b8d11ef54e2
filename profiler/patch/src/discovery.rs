//! Callees of calls through pointers, as traps have met them.

use core::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_wire::{Probe, Wanted};

/// Remembers a callee of a probe that is being discovered.
pub fn note_callee(probe: &Probe, callee: u64) {
    if probe.wanted.load(Relaxed) != Wanted::Discover as u32 {
        return;
    }
    for slot in &probe.seen {
        let seen: &AtomicU64 = slot;
        match seen.compare_exchange(0, callee, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(present) if present == callee => return,
            Err(_) => {}
        }
    }
}
