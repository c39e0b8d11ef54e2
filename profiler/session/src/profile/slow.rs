//! Intervals that are slow already, in the loop of a session: when one is slow, and where its stack goes.

use std::time::Duration;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::slow::SlowStack;

use super::Session;

/// Age from which an interval is slow as long as too few have ended to tell.
const SLOW_AT_FIRST: Duration = Duration::from_millis(10);

impl Session<'_> {
    /// Called often. `is_time`: to look again from when on an interval is slow.
    pub(super) fn look_at_slow(&mut self, is_time: bool) {
        if is_time {
            let analysis = self.records.sink.analysis.as_ref();
            self.slow_from = analysis.and_then(Analysis::slow_from_ticks);
        }
        let at_first = SLOW_AT_FIRST.as_nanos() as f64 * self.records.clock.ticks_per_ns();
        let bound = self.slow_from.unwrap_or(at_first as u64);
        let seen = self.slow.poll(
            bound,
            &self.refiner.scope,
            &self.records.arena,
            &mut self.modules,
            &mut self.processes,
        );
        for stack in seen {
            let names = stack.path.iter().map(|step| step.name.clone());
            self.records.sink.slow_stack(&SlowStack {
                functions: names.collect(),
                interval: stack.interval,
                age: stack.age,
                unseen: stack.unseen,
            });
            self.refiner.note_slow(&stack);
        }
    }
}
