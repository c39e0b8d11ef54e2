//! Callees that traps have met at calls through pointers.

use std::sync::atomic::Ordering::*;

use evenkeel_wire::Wanted;

use super::Plan;
use crate::arena::Arena;
use crate::location::Location;

/// The agent's value for a callee that lies in none of the loader's files.
const NO_FILE: u64 = u64::MAX;

impl Plan {
    /// Callees that discovery has met at a probe.
    pub fn seen(&self, arena: &Arena, id: u32) -> Vec<Location> {
        let in_files = words(arena, id).filter(|&seen| seen != 0 && seen != NO_FILE);
        let locations = in_files.map(|seen| {
            let address = seen & ((1 << 48) - 1);
            Location::new((seen >> 48) as usize, address)
        });
        locations.collect()
    }

    /// Whether agents have left a call alone that the plan wants trapped, for what that costs.
    pub(crate) fn was_left_alone(&self, arena: &Arena, id: u32) -> bool {
        let wanted = arena.probes()[id as usize].wanted.load(Acquire);
        self.probes()[id as usize].wanted == Wanted::Discover && wanted == Wanted::Off as u32
    }

    /// Asks for such a call again.
    pub(crate) fn want_again(&mut self, arena: &Arena, id: u32) {
        let probe = &arena.probes()[id as usize];
        probe.traps.store(0, Relaxed);
        probe.wanted.store(Wanted::Discover as u32, Release);
        self.touch();
    }

    /// Whether it has met one that lies in none of the files that the loader names.
    pub(crate) fn leads_nowhere(&self, arena: &Arena, id: u32) -> bool {
        words(arena, id).any(|seen| seen == NO_FILE)
    }
}

fn words(arena: &Arena, id: u32) -> impl Iterator<Item = u64> {
    let seen = arena.probes()[id as usize].seen.iter();
    seen.map(|seen| seen.load(Relaxed))
}
