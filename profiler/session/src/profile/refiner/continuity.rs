//! Whether a new plan continues the round of an earlier one (see [`evenkeel_analysis::rounds::plans`]).

use std::collections::BTreeSet;

use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_wire::Wanted;

use super::Refiner;
use crate::plan::Plan;
use crate::profile::records::Records;

impl Refiner {
    /// Lets agents see the plan if it changed, and begins the round that it makes.
    pub(in crate::profile) fn publish(&mut self, records: &mut Records) {
        let Some(generation) = self.plan.publish(&records.arena) else {
            return;
        };
        let sink = &mut records.sink;
        sink.write_sites(&self.plan.sites);
        let was_called = |since, probe| sink.was_called(since, probe);
        let change = self.continuity.change(generation, &self.plan, was_called);
        sink.plan_changed(change);
        self.search.look_from(records.intervals());
    }
}

/// Compares each plan with the last one under which no calls were trapped.
#[derive(Debug, Default)]
pub struct Continuity {
    generation: Option<u32>,
    planted: BTreeSet<u32>,
}

impl Continuity {
    /// The analysis' view of the plan of `generation`. It continues the previous one unless a probe was removed that
    /// `was_called` under that one's generation.
    fn change(
        &mut self,
        generation: u32,
        plan: &Plan,
        was_called: impl Fn(u32, u32) -> bool,
    ) -> PlanChange {
        let planted: BTreeSet<u32> = plan.planted().collect();
        let mut change = PlanChange {
            generation,
            probes: planted.len() as u32,
            ..PlanChange::default()
        };
        let traps = |wanted| wanted == Wanted::Discover;
        if plan.probes().iter().any(|planned| traps(planned.wanted)) {
            change.trapping = true;
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
