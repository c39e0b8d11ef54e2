//! The way of records: out of the rings in the shared memory, into the analysis and the recording, at a bounded cost.
//! Sessions in a Java virtual machine have the same.
//!
//! ```text
//! sink         where records go: the analysis, and the recording if there is one
//! thread_names   what threads are called
//! continuity     whether a new plan continues the round of an earlier one
//! kernel       the kernel's events, merged with records
//! numbers        the agents' numbers of threads for the kernel's
//! duty_cycle   how much is recorded
//! ```

mod continuity;
mod duty_cycle;
mod kernel;
mod numbers;
mod sink;
pub mod thread_names;

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::{Analysis, ProbeCost, RunFacts};
use evenkeel_kernel::Watched;
use evenkeel_recording::Writer;
use evenkeel_wire::Mode;
use evenkeel_wire::ring::RING_BYTES;

use super::settings::{Observer, Settings, Subject};
use crate::arena::Arena;
use crate::clock::TickClock;
use crate::drain::Drain;
use crate::error::Error;
use crate::lease::Lease;
use crate::refine::Cost;
use duty_cycle::{DutyCycle, Slowdown, Work};
use kernel::Kernel;
use sink::RecordSink;

/// Pause between two drains: each wakes a processor that the target may be using. The shorter while rings fill quickly.
const DRAIN_PERIODS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// It is halved when a ring was this full, and grows while all are emptier by a factor of eight.
const FILL_HIGH_BYTES: u64 = RING_BYTES as u64 / 4;

/// See the module's head.
pub struct Records {
    pub arena: Arena,
    _lease: Lease,
    pub clock: TickClock,
    pub drain: Drain,
    pub sink: RecordSink,
    /// What the kernel reports, with waits.
    pub kernel: Option<Kernel>,
    pub duty_cycle: DutyCycle,
    /// Pause until the next drain.
    pub period: Duration,
    /// The system can be asked whether threads live, by the numbers that they have in rings.
    pub knows_threads: bool,
}

impl Records {
    /// The shared memory, the recording, and what the kernel reports: before the target starts, which inherits what is
    /// watched. `warnings`: what the system forbids.
    ///
    /// # Errors
    /// The system has no memory to give, or the recording cannot be written.
    pub fn new(
        settings: &Settings,
        observer: &dyn Observer,
        warnings: &mut Vec<Warning>,
    ) -> Result<Records, Error> {
        let arena = Arena::create().map_err(Error::Arena)?;
        let clock = TickClock::start();
        let lease = Lease::keep(&arena, &clock).map_err(Error::Arena)?;
        arena.control().mode.store(Mode::Record as u32, Release);
        arena.control().waits.store(settings.waits.into(), Release);
        let writer = settings.recording.as_deref();
        let writer = writer.map(Writer::create).transpose()?;
        let whom = match &settings.subject {
            Subject::Command(_) => Watched::Children,
            Subject::Process(_) => Watched::Everybody,
        };
        let kernel = settings.waits.then(|| Kernel::watch(whom, warnings));
        Ok(Records {
            arena,
            _lease: lease,
            clock,
            drain: Drain::default(),
            sink: RecordSink::new(settings, clock.started().unix_ns, writer, observer),
            kernel: kernel.flatten(),
            duty_cycle: DutyCycle::new(
                settings.limits.overhead_max,
                settings.sampling,
                settings.waits,
            ),
            period: DRAIN_PERIODS[0],
            knows_threads: true,
        })
    }

    /// Takes in everything that there is.
    pub fn pass(&mut self, check_alive: bool) {
        let check_alive = check_alive && self.knows_threads;
        let (drain, arena, sink) = (&mut self.drain, &self.arena, &mut self.sink);
        let unused = self.duty_cycle.measure(|| {
            let unused = drain.run(arena, sink, check_alive);
            if let Some(kernel) = &mut self.kernel {
                kernel.run(drain, sink);
            }
            sink.pass_ended();
            unused
        });
        self.arena.provide_rings(unused);
    }

    /// Fits how often is drained, and how much there is to drain, to what the last drains found.
    pub fn adapt(&mut self) {
        let fullest = self.drain.fullest_bytes;
        if fullest > FILL_HIGH_BYTES {
            self.period /= 2;
        } else if fullest < FILL_HIGH_BYTES / 8 {
            self.period = self.period * 5 / 4;
        }
        self.period = self.period.clamp(DRAIN_PERIODS[0], DRAIN_PERIODS[1]);
        let analysis = self.sink.analysis.as_ref();
        let work = Work {
            records: self.drain.read + self.drain.given_back,
            probe_ns: self.probe_cost().ticks() / self.clock.ticks_per_ns(),
            kernel_ns: self.kernel.as_ref().map_or(0.0, Kernel::cost_ns),
            in_flight: analysis.map_or(0, Analysis::in_flight),
            lost: self.drain.dropped + self.drain.missed,
        };
        let by_class = analysis.map_or(&[][..], Analysis::latencies);
        let records = self.duty_cycle.turn(&self.arena, work, by_class);
        if let Some(kernel) = &mut self.kernel {
            kernel.watch_while(records);
        }
    }

    /// Records fewer intervals of `mean_ns` where probes cost the target more than the user allows. The warning, if so.
    pub fn limit_by_cost(&mut self, cost: Cost, mean_ns: f64) -> Option<Warning> {
        let recorded = self.duty_cycle.limit_by_slowdown(Slowdown {
            recorded: cost.spent,
            passed: cost.passed,
            mean_ticks: mean_ns * self.clock.ticks_per_ns(),
        });
        (recorded < 1.0).then_some(Warning::RecordedLess {
            measured: cost.is_measured,
            fraction: cost.spent,
            recorded,
        })
    }

    /// The calibrated cost of a probe where nothing is recorded, nanoseconds.
    pub fn passed_ns(&self) -> f64 {
        let passed_256 = self.arena.control().probe_passed_ticks_256.load(Relaxed);
        passed_256 as f64 / 256.0 / self.clock.ticks_per_ns()
    }

    /// The calibrated cost of a probe.
    pub fn probe_cost(&self) -> ProbeCost {
        let control = self.arena.control();
        ProbeCost {
            outer_256: control.probe_outer_ticks_256.load(Acquire) as u32,
            inner_256: control.probe_inner_ticks_256.load(Acquire) as u32,
        }
    }

    /// Makes the analysis: the cost of a probe is known.
    pub fn begin_analysis(&mut self, settings: &Settings) {
        let mut analysis = Analysis::new(self.probe_cost());
        analysis.keep_recent();
        analysis.keep_slowest(settings.slowest);
        if settings.waits {
            analysis.follow_waits();
        }
        self.sink.begin(analysis);
    }

    /// Intervals seen so far.
    pub fn intervals(&self) -> u64 {
        let analysis = self.sink.analysis.as_ref();
        analysis.map_or(0, Analysis::intervals_seen)
    }

    /// Intervals that were not recorded.
    pub fn counts(&self) -> RunFacts {
        RunFacts {
            missed: self.drain.missed,
            sampled_out: self.drain.skipped,
            unplanned: self.drain.unplanned,
            ..RunFacts::default()
        }
    }

    /// Warnings about records that were lost, or never written.
    pub fn warnings(&self) -> Vec<Warning> {
        let threads = self.arena.control().threads_without_ring.load(Relaxed);
        let (records, intervals) = (self.drain.dropped, self.drain.missed);
        let lost = self.kernel.as_ref().map_or(0, Kernel::lost);
        let all = [
            (threads > 0).then(|| Warning::ThreadsWithoutRing {
                threads: threads.into(),
                refused: self.arena.rings_refused(),
            }),
            (records + intervals > 0).then_some(Warning::NotDrained { records, intervals }),
            (lost > 0).then_some(Warning::KernelEventsLost(lost)),
        ];
        all.into_iter().flatten().collect()
    }

    /// Asks all processes to take their hooks out; each does at its next interval.
    pub fn detach(&self) {
        let mode = &self.arena.control().mode;
        mode.store(Mode::Detach as u32, Release);
    }
}
