//! Stacks of the target's threads: those that agents have copied, and those of intervals that are slow already.

mod around;
mod copied;
mod unnamed;

use std::time::Duration;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::slow::SlowStack;

use super::records::Records;
use super::refiner::Refiner;
use crate::arena::Arena;
use crate::modules::Modules;
use crate::processes::Processes;
use crate::slow::{SlowIntervals, Subject};
use copied::{CopiedStacks, Seen};

/// Age from which an interval is slow as long as too few have ended to tell.
const SLOW_AT_FIRST: Duration = Duration::from_millis(10);

fn record(stack: &crate::slow::SlowStack, records: &mut Records) {
    let names = stack.path.iter().map(|step| step.name.clone());
    records.sink.slow_stack(&SlowStack {
        functions: names.collect(),
        interval: stack.interval,
        age: stack.age,
        unseen: stack.unseen,
    });
}

/// What stacks have shown.
#[derive(Default)]
pub struct Stacks {
    /// The code of the target's processes.
    processes: Processes,
    pub copied: CopiedStacks,
    pub slow: SlowIntervals,
    /// How long an interval has lasted from which on it is slow, once enough have ended.
    slow_from: Option<Duration>,
}

impl Stacks {
    /// None yet, of intervals that have keys, or not.
    pub fn of(keyed: bool) -> Stacks {
        let subject = match keyed {
            true => Subject::Stretches,
            false => Subject::Intervals,
        };
        Stacks {
            slow: SlowIntervals::of(subject),
            ..Stacks::default()
        }
    }

    /// What the stacks show that agents have copied since.
    pub fn take_copied(&mut self, arena: &Arena, modules: &mut Modules) -> Seen {
        self.copied.take(arena, modules, &mut self.processes)
    }

    /// Called often. `is_time`: to look again from when on an interval is slow.
    pub fn look_at_slow(
        &mut self,
        is_time: bool,
        records: &mut Records,
        modules: &mut Modules,
        refiner: &mut Refiner,
    ) {
        if is_time {
            let analysis = records.sink.analysis.as_ref();
            let ticks = analysis.and_then(Analysis::slow_from_ticks);
            let ns = ticks.map(|ticks| ticks as f64 / records.clock.ticks_per_ns());
            self.slow_from = ns.map(|ns| Duration::from_nanos(ns as u64));
        }
        let bound = self.slow_from.unwrap_or(SLOW_AT_FIRST);
        let (scope, processes) = (refiner.begin_paths(), &mut self.processes);
        let (arena, clock) = (&records.arena, &records.clock);
        let polled = self
            .slow
            .poll(bound, clock, scope, arena, modules, processes);
        for stack in &polled.ended {
            record(stack, records);
        }
        for stack in &polled.promising {
            refiner.note_slow(stack);
        }
    }

    /// At the end of the run: what intervals have shown that are open yet.
    pub fn take_rest(&mut self, records: &mut Records) {
        for stack in self.slow.rest(&records.arena) {
            record(&stack, records);
        }
    }
}
