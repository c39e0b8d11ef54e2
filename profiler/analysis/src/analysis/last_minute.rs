//! The profile of the last minute of a run alone, however long the run is.
//!
//! A minute of sums has the call paths that are new in it, and counts of the whole run ([`crate::fleet::minutes`]).
//! Here it gets all paths of its rounds, and the counts since the previous minute. It is then a complete run with a
//! profile.

use std::collections::BTreeMap;

use super::Analysis;
use crate::facts::RunFacts;
use crate::fleet::minutes::Minute;
use crate::intervals::counts::RunCounts;

/// What was known when the last minute began.
#[derive(Debug, Default)]
pub struct LastMinute {
    /// By round: steps of its call paths.
    steps: BTreeMap<usize, Vec<(u32, u32)>>,
    classes: Vec<String>,
    attributes: Vec<String>,
    run: RunCounts,
    facts: RunFacts,
    /// Intervals that ended since and were not recorded, by class of latency, and the largest latency among them,
    /// ticks.
    unrecorded: Vec<(usize, u64)>,
    max_ticks: u64,
}

impl LastMinute {
    /// Counts intervals of the minute that were not recorded, as [`Analysis::count_unrecorded`].
    pub fn count_unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        for &(class, count) in by_class {
            match self.unrecorded.iter_mut().find(|(at, _)| *at == class) {
                Some((_, sum)) => *sum += count,
                None => self.unrecorded.push((class, count)),
            }
        }
        // Of all of the run: only in the first minute surely of this one.
        let highest = by_class.iter().map(|&(class, _)| class + 1).max();
        let end = highest.map_or(0, |class| {
            evenkeel_wire::latency_class_start(class).saturating_sub(1)
        });
        self.max_ticks = self.max_ticks.max(end.min(max_ticks));
    }

    /// The minute that has ended, as an analysis of nothing else; `run` is that of the whole run.
    pub fn alone(&mut self, minute: &Minute, run: &Analysis) -> Analysis {
        let mut alone = minute.clone();
        self.classes.append(&mut alone.classes);
        self.attributes.append(&mut alone.attributes);
        alone.classes.clone_from(&self.classes);
        alone.attributes.clone_from(&self.attributes);
        alone.run = minute.run.since(&self.run);
        self.run = minute.run;
        // A round whose sums were dropped does not go on.
        self.steps
            .retain(|&round, _| run.intake.rounds.has_sums(round));
        for round in &mut alone.rounds {
            let steps = self.steps.entry(round.round).or_default();
            steps.append(&mut round.steps);
            round.steps.clone_from(steps);
        }
        let mut analysis = Analysis::new(run.intake.cost);
        if run.follows_waits() {
            analysis.follow_waits();
        }
        analysis.count_unrecorded(&std::mem::take(&mut self.unrecorded), self.max_ticks);
        self.max_ticks = 0;
        let is_whole = analysis.add_minute(&alone, &[], None).is_some();
        debug_assert!(is_whole, "it follows what was known");
        analysis
    }

    /// What the session counted in the minute that has ended; `facts` are those of the whole run.
    pub fn facts(&mut self, facts: &RunFacts) -> RunFacts {
        let before = std::mem::replace(&mut self.facts, facts.clone());
        RunFacts {
            missed: facts.missed.saturating_sub(before.missed),
            sampled_out: facts.sampled_out.saturating_sub(before.sampled_out),
            unplanned: facts.unplanned.saturating_sub(before.unplanned),
            traps: facts.traps.saturating_sub(before.traps),
            ..facts.clone()
        }
    }
}
