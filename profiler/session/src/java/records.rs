//! The arena of a session in a JVM, and where its records go.

use std::time::Duration;

use evenkeel_analysis::{Analysis, ProbeCost};
use evenkeel_wire::ring::RING_BYTES;
use std::sync::atomic::Ordering::*;

use crate::arena::Arena;
use crate::clock::TickClock;
use crate::drain::Drain;
use crate::profile::duty_cycle::{DutyCycle, Work};
use crate::profile::sink::RecordSink;

/// Pause between two drains; the shorter while rings fill quickly.
const PERIODS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// It is halved when a ring was this full, and grows while all are emptier by a factor of eight.
const FILL_HIGH_BYTES: u64 = RING_BYTES as u64 / 4;

/// See the module's head.
pub(super) struct Records {
    pub(super) arena: Arena,
    pub(super) drain: Drain,
    pub(super) sink: RecordSink,
    pub(super) duty_cycle: DutyCycle,
    pub(super) clock: TickClock,
    pub(super) period: Duration,
    /// Threads have the numbers here that they have in the JVM's own namespace, so that it can be asked whether they live.
    pub(super) knows_threads: bool,
}

impl Records {
    /// Pause between two drains at first.
    pub(super) const FIRST_PERIOD: Duration = PERIODS[0];

    /// Takes in everything that there is.
    pub(super) fn pass(&mut self, check_alive: bool) {
        let (drain, arena, sink) = (&mut self.drain, &self.arena, &mut self.sink);
        let check = check_alive && self.knows_threads;
        let unused = self.duty_cycle.measure(|| {
            let unused = drain.run(arena, sink, check);
            sink.pass_ended();
            unused
        });
        self.arena.provide_rings(unused);
    }

    /// Fits how often is drained, and how much is recorded, to what was found.
    pub(super) fn adapt(&mut self) {
        let fullest = self.drain.fullest_bytes;
        if fullest > FILL_HIGH_BYTES {
            self.period /= 2;
        } else if fullest < FILL_HIGH_BYTES / 8 {
            self.period = self.period * 5 / 4;
        }
        self.period = self.period.clamp(PERIODS[0], PERIODS[1]);
        let work = Work {
            records: self.drain.read + self.drain.given_back,
            probe_ns: self.probe_cost().ticks() / self.clock.ticks_per_ns(),
            kernel_ns: 0.0,
            in_flight: self.sink.analysis.as_ref().map_or(0, Analysis::in_flight),
        };
        let analysis = self.sink.analysis.as_ref();
        let by_class = analysis.map_or(&[][..], Analysis::latencies);
        self.duty_cycle.turn(&self.arena, work, by_class);
    }

    /// The calibrated cost of a probe.
    pub(super) fn probe_cost(&self) -> ProbeCost {
        let control = self.arena.control();
        ProbeCost {
            outer_256: control.probe_outer_ticks_256.load(Acquire) as u32,
            inner_256: control.probe_inner_ticks_256.load(Acquire) as u32,
        }
    }

    /// Intervals seen so far.
    pub(super) fn intervals(&self) -> u64 {
        self.sink
            .analysis
            .as_ref()
            .map_or(0, Analysis::intervals_seen)
    }
}
