//! Whether a new plan continues the round of an earlier one (see [`evenkeel_analysis::rounds::plans`]).

use std::collections::BTreeSet;

use evenkeel_analysis::rounds::plans::PlanChange;

/// Compares each plan with the last one under which no calls were trapped.
#[derive(Debug, Default)]
pub struct Continuity {
    generation: Option<u32>,
    planted: BTreeSet<u32>,
}

impl Continuity {
    /// The analysis' view of the plan of `generation`, with these inner probes. It continues the previous one unless a
    /// probe was removed that `was_called` under that one's generation, or calls are trapped now.
    pub fn change(
        &mut self,
        generation: u32,
        planted: BTreeSet<u32>,
        traps: bool,
        was_called: impl Fn(u32, u32) -> bool,
    ) -> PlanChange {
        let mut change = PlanChange {
            generation,
            probes: planted.len() as u32,
            trapping: traps,
            ..PlanChange::default()
        };
        if traps {
            return change;
        }
        let toggled = self.planted.symmetric_difference(&planted).copied();
        change.toggled = Some(toggled.collect());
        let mut taken_out = self.planted.difference(&planted).copied();
        let since = self.generation.unwrap_or_default();
        if !taken_out.any(|probe| was_called(since, probe)) {
            change.continues = self.generation;
            change.added = planted.difference(&self.planted).copied().collect();
        }
        self.generation = Some(generation);
        self.planted = planted;
        change
    }
}
