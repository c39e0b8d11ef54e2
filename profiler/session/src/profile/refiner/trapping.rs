//! Discovers the callees of calls through pointers, and the callbacks given to the C library. The calls are trapped
//! for a moment, and the discovered functions are timed at their entries, or else by their own calls. A call that is
//! made too often for that is trapped at times only ([`allowance`]; `patch/src/trap_budget.rs` is the agent's side).

mod allowance;

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_symbols::{Callee, Site};
use evenkeel_wire::{Form, Refusal, Wanted};

use super::search::Below;
use super::{Code, Refiner};
use crate::arena::Arena;
use crate::location::Location;
use crate::plan::is_timed;
use crate::refine::known::{Again, Callees, Pointers};
use crate::refine::policy::{
    DISCOVERED_AT_ONCE, DISCOVERY, DISCOVERY_AT_MOST, INTERVALS_ENOUGH, INTERVALS_TO_FOLLOW,
    SAMPLED,
};
pub use allowance::Allowance;

impl Refiner {
    /// Probes at the next short pointer calls of a function whose callees are to be learned.
    pub(super) fn pointer_probes(&mut self, function: Location, code: &mut Code<'_>) -> Vec<u32> {
        let Ok(module) = code.module(function.module) else {
            return Vec::new();
        };
        let sites = module.call_sites(function.address).into_iter();
        let sites: Vec<_> = sites.filter(is_discovered_only).collect();
        let pointers = &mut self.known.function_mut(function).pointers;
        let (turn, after) = next_turn(*pointers, sites.len(), Instant::now());
        *pointers = after;
        sites[turn]
            .iter()
            .filter_map(|site| {
                self.plan
                    .add_site(code.arena, function.module, &module, site)
            })
            .collect()
    }

    /// Begins to trap calls through pointers.
    pub(super) fn discover(&mut self, ids: &[u32], arena: &Arena) {
        for &id in ids {
            let then = self.plan.probes()[id as usize].wanted;
            self.known.probe_mut(id).callees = Callees::Trapped(then);
            self.plan.want(arena, id, Wanted::Discover);
            arena.probes()[id as usize].traps.store(0, Relaxed);
            self.search.begin_trapping();
        }
        // Before processes follow the plan.
        self.grant_traps(arena);
    }

    /// Grants the target further traps.
    pub(in crate::profile) fn grant_traps(&mut self, arena: &Arena) {
        if self.search.is_trapping() {
            let left = &arena.control().traps_left;
            let granted = self.allowance.grant(Instant::now(), left.load(Relaxed));
            left.fetch_add(granted, Relaxed);
        }
    }

    /// Asks again for calls that agents have left alone, once there are traps to spare.
    pub(in crate::profile) fn trap_again(&mut self, arena: &Arena) {
        let left = arena.control().traps_left.load(Relaxed);
        let has_some = 2 * left >= self.allowance.most();
        let trapped: Vec<u32> = self.known.trapped().map(|(id, _)| id).collect();
        let mut any = false;
        for id in trapped {
            if self.plan.was_left_alone(arena, id) {
                any = true;
                self.sampled_calls.insert(id);
                if has_some {
                    self.plan.want_again(arena, id);
                }
            }
        }
        if let Some(trapping) = self.search.trapping() {
            trapping.is_sampled |= any;
        }
    }

    /// A warning about calls that were not trapped all the time.
    pub(in crate::profile) fn sampled_warning(&self) -> Option<Warning> {
        let calls = self.sampled_calls.len() as u64;
        (calls > 0).then_some(Warning::CalleesSampled(calls))
    }

    /// Whether the calls that are trapped were met for long enough, or had the time to be.
    pub(in crate::profile) fn has_trapped_enough(
        &mut self,
        intervals_seen: u64,
        arena: &Arena,
    ) -> bool {
        let mut trapped = self.known.trapped();
        let has_met = trapped.any(|(id, _)| !self.plan.seen(arena, id).is_empty());
        let Some(trapping) = self.search.trapping() else {
            return false;
        };
        if has_met && trapping.met.is_none() {
            trapping.met = Some(Instant::now());
        }
        let met = trapping.met.map(|met| met.elapsed());
        let intervals = intervals_seen - trapping.intervals_then;
        is_enough(
            trapping.since.elapsed(),
            met,
            intervals,
            trapping.is_sampled,
        )
    }

    /// Ends trapping. What was found to be called is timed at its entry, or else its own calls are.
    pub(in crate::profile) fn end_discovery(&mut self, code: &mut Code<'_>) {
        self.search.end_trapping();
        let trapped: Vec<(u32, Wanted)> = self.known.trapped().collect();
        for (id, then) in trapped {
            self.plan.want(code.arena, id, then);
            let again = Again::first(Instant::now());
            self.known.probe_mut(id).callees = Callees::Sought(again);
            self.note_generated(id, code.arena);
            for callee in self.plan.seen(code.arena, id) {
                self.time_at_entry(Below::Probe(id), callee, code);
            }
        }
    }

    /// A call that is too short to be timed and leads to code in no file is not its function's own code.
    fn note_generated(&mut self, id: u32, arena: &Arena) {
        let form = self.plan.probes()[id as usize].form;
        if !is_timed(form) && self.plan.leads_nowhere(arena, id) {
            self.plan
                .note_hidden(self.plan.probe(id), NotTimed::IntoNoFile);
        }
    }

    /// Where an agent could not hook an entry, the function's own calls are timed below its callers.
    pub(in crate::profile) fn open_below_refused_entries(&mut self, code: &mut Code<'_>) {
        let none = Refusal::None as u32;
        let refused =
            |arena: &Arena, id: u32| arena.probes()[id as usize].refused.load(Relaxed) != none;
        for pending in std::mem::take(&mut self.entries) {
            if refused(code.arena, pending.entry) {
                self.open_below(pending.below, pending.callee, code);
            } else if code.arena.probes()[pending.entry as usize]
                .planted
                .load(Relaxed)
                == 0
            {
                self.entries.push(pending);
            }
        }
    }
}

/// Which of a function's calls through pointers are trapped next, and what is known of them then.
fn next_turn(pointers: Pointers, sites: usize, now: Instant) -> (Range<usize>, Pointers) {
    let next = match pointers {
        Pointers::Unexplored { next } => next,
        _ => 0,
    };
    let end = sites.min(next + DISCOVERED_AT_ONCE);
    let after = match pointers {
        _ if end < sites => Pointers::Unexplored { next: end },
        Pointers::Explored(again) => Pointers::Explored(again.later(now)),
        _ => Pointers::Explored(Again::first(now)),
    };
    (next.min(end)..end, after)
}

/// Whether calls were trapped for long enough: in all, since the last discovery, and for enough intervals; all of the
/// calls or a sample.
fn is_enough(ran: Duration, met: Option<Duration>, intervals: u64, is_sampled: bool) -> bool {
    // A sample takes longer to show the same.
    let least = if is_sampled { SAMPLED } else { DISCOVERY };
    match met {
        Some(met) => met >= DISCOVERY_AT_MOST || (met >= least && intervals >= INTERVALS_TO_FOLLOW),
        None => ran >= DISCOVERY_AT_MOST || (ran >= DISCOVERY && intervals >= INTERVALS_ENOUGH),
    }
}

/// Whether a call through a pointer can be discovered but not timed where it is.
pub fn is_discovered_only(site: &Site) -> bool {
    matches!(site.form, Ok(Form::ShortIndirectCall | Form::IndirectJump))
        && site.callee == Callee::Pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_function_are_trapped_in_turns() {
        let mut pointers = Pointers::Unexplored { next: 0 };
        let turns = [0, 1, 2, 3].map(|_| {
            let (turn, after) = next_turn(pointers, 60, Instant::now());
            pointers = after;
            turn
        });
        assert_eq!(turns, [0..24, 24..48, 48..60, 0..24]);
    }

    /// With thousands of intervals a second, a tenth of a second suffices. With a hundred a second, and one in eight
    /// slow, most tenths of a second have no slow one. Without a discovery, trapping lasts until enough intervals
    /// have shown that there is nothing to discover.
    #[test]
    fn rare_intervals_are_trapped_for_longer() {
        let enough = |ran, met: Option<u64>, intervals| {
            let met = met.map(Duration::from_millis);
            is_enough(Duration::from_millis(ran), met, intervals, false)
        };
        assert!(enough(150, Some(100), 1000) && !enough(150, Some(99), 1000));
        assert!(!enough(150, Some(100), 10) && !enough(1000, Some(950), 95));
        assert!(enough(1050, Some(1000), 100));
        let sampled = |ms| {
            is_enough(
                DISCOVERY_AT_MOST,
                Some(Duration::from_millis(ms)),
                9999,
                true,
            )
        };
        assert!(!sampled(299) && sampled(300));
        assert!(enough(100, None, 300) && !enough(900, None, 90) && enough(1000, None, 0));
    }
}
