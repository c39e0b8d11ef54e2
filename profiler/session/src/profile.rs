//! The loop of a session: start, judge, drain, refine, report.
//!
//! ```text
//! run         names, times and warnings of the run
//! records     out of the rings, into the analysis and the recording
//! target      its processes, and what is observed of them
//! refiner     what is timed: the plan, what is known, the search
//! stacks      stacks of threads, of intervals that are slow among them
//! ```
//!
//! Steps of the loop that need several of these: `judge`, `refining`, `diagnosis` (why nothing was profiled, or not
//! all), `facts`, `warnings`, `ending`.

mod diagnosis;
mod ending;
pub(crate) mod facts;
pub(crate) mod records;
pub(crate) mod refiner;
mod refining;
pub(crate) mod run;
mod settings;
mod stacks;
mod target;
mod verdicts;
pub(crate) mod warnings;

pub use run::host;
pub use settings::{Event, IntervalSelector, Observer, Outcome, Planting, Settings, Subject};

use std::sync::Arc as Shared;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_wire::ModuleState;

use crate::attached::Attached;
use crate::error::Error;
use crate::launch::{self, find_program};
use crate::modules::Modules;
use records::Records;
use refiner::Refiner;
use run::Run;
use stacks::Stacks;
use target::{Origin, Target};

/// Runs a session. `interrupted` is raised by whoever handles Ctrl-C.
///
/// # Errors
/// Everything in [`Error`] that concerns starting, the interval, or a session without any interval.
pub fn profile(
    settings: &Settings,
    interrupted: &Shared<AtomicBool>,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let mut session = start(settings, observer)?;
    if let Err(error) = session.run(interrupted, observer) {
        session.records.detach();
        session.target.leave(&mut session.records);
        session.target.stop(settings.stop_signal, || {});
        return Err(error);
    }
    session.finish(interrupted.load(Relaxed))
}

/// Starts the target, or finds it, with all that a session needs.
fn start<'a>(settings: &'a Settings, observer: &mut dyn Observer) -> Result<Session<'a>, Error> {
    let to_process = |pid| Attached::to(pid, settings.limits.overhead_max);
    // Before anything is written: a mistyped command must not replace an old recording.
    let attached = match &settings.subject {
        Subject::Command(command) => {
            find_program(&command.words[0].to_string_lossy())?;
            None
        }
        Subject::Process(pid) => Some(to_process(*pid)?),
    };
    let mut warnings = Vec::new();
    let records = Records::new(settings, observer, &mut warnings)?;
    let origin = match (&settings.subject, attached) {
        (Subject::Command(command), _) => {
            let target = launch::Target::start(&records.arena, command)?;
            observer.event(&Event::Started { pid: target.pid() });
            Origin::Launched(target)
        }
        (Subject::Process(pid), attached) => {
            Origin::Attached(Box::new(attached.map_or_else(|| to_process(*pid), Ok)?))
        }
    };
    Ok(Session {
        settings,
        run: Run::new(settings, warnings),
        records,
        target: Target::new(origin),
        modules: Modules::default(),
        refiner: Refiner::new(settings.planting, settings.limits),
        stacks: Stacks::of(settings.selector.is_keyed()),
    })
}

/// A running session.
struct Session<'a> {
    settings: &'a Settings,
    run: Run,
    records: Records,
    target: Target,
    modules: Modules,
    /// What is timed.
    refiner: Refiner,
    stacks: Stacks,
}

impl Session<'_> {
    fn run(&mut self, interrupted: &AtomicBool, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut last_slow = Instant::now();
        let mut last_flush = Instant::now();
        self.attach(observer)?;
        loop {
            evenkeel_attach::let_go();
            self.give_verdicts(observer)?;
            let slow = last_slow.elapsed() >= Duration::from_millis(100);
            self.await_calibration();
            self.refiner.grant_traps(&self.records.arena);
            if self.records.sink.analysis.is_some() {
                self.records.pass(slow);
                self.records.adapt();
                self.look_at_slow(slow);
            }
            if slow {
                last_slow = Instant::now();
                let probes = self.refiner.plan.planted().count();
                self.run.tick(&self.records, probes, observer);
                self.run.listening.look(self.target.pid());
                self.look_at_settings();
                self.watch_processes(observer);
                self.target.filters.watch(&self.records.arena);
                let is_over = self.run.is_over(self.settings.duration);
                if !self.target.is_running() || interrupted.load(Relaxed) || is_over {
                    return Ok(());
                }
                self.attach(observer)?;
                if self.run.has_waited()
                    && let Some(error) = self.explain_not_found()
                {
                    return Err(error);
                }
                if self.run.hooked.is_some() {
                    self.note_stacks();
                    self.refine(observer);
                    self.show(observer);
                }
            }
            if last_flush.elapsed() >= Duration::from_secs(1) {
                last_flush = Instant::now();
                self.checkpoint();
                self.show_minute(observer);
            }
            self.pause();
        }
    }

    /// Until the rings are drained again. Intervals that are slow already are looked at more often.
    fn pause(&mut self) {
        let until = Instant::now() + self.records.period;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            let pause = match self.records.sink.analysis.is_some() {
                true => self.stacks.slow.pause(),
                false => rest,
            };
            std::thread::sleep(rest.min(pause));
            if pause >= rest {
                return;
            }
            self.look_at_slow(false);
        }
    }

    fn look_at_slow(&mut self, is_time: bool) {
        let (records, modules) = (&mut self.records, &mut self.modules);
        self.stacks
            .look_at_slow(is_time, records, modules, &mut self.refiner);
    }

    /// Attaches to what is there and was not looked at yet: the process that was named, and what descends from it.
    /// Those without the interval's functions are left alone.
    fn attach(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while let Some(pid) = self.next_process() {
            let attached = match self.target.announce(pid, &mut self.records.arena) {
                Ok(Some(program)) => {
                    self.give_verdicts(observer)?;
                    let arena = &self.records.arena;
                    let state = arena.modules()[program].state.load(Acquire);
                    match state == ModuleState::Wanted as u32 {
                        true => self.target.attach(pid, arena, observer),
                        false => Ok(()),
                    }
                }
                Ok(None) => Ok(()),
                Err(why) => Err(why),
            };
            if let Err(why) = attached {
                self.target.not_attached(pid, why, observer)?;
            }
        }
        Ok(())
    }

    fn next_process(&mut self) -> Option<i32> {
        let drained = self.records.duty_cycle.drained();
        self.target.next(&self.records.arena, drained)
    }

    /// Makes the analysis once the cost of a probe is known. A process applies the plan after it has calibrated, or
    /// after another has begun to.
    fn await_calibration(&mut self) {
        let waited = |hooked: Instant| hooked.elapsed() > Duration::from_millis(100);
        let is_calibrated =
            self.records.probe_cost().outer_256 != 0 || self.run.hooked.is_some_and(waited);
        let applications = &self.records.arena.control().applications;
        if self.records.sink.analysis.is_none() && is_calibrated && applications.load(Acquire) > 0 {
            self.records.begin_analysis(self.settings);
            self.checkpoint();
        }
    }

    /// Makes the recording good up to now; one of sums now and then.
    fn checkpoint(&mut self) {
        if self.records.sink.is_checkpoint_due() {
            let is_recorded = self.records.sink.writer.is_some();
            let meta = is_recorded.then(|| self.meta());
            self.records.sink.checkpoint(meta.as_ref());
        }
    }

    /// Shows the present profile to an observer that wants it.
    fn show(&mut self, observer: &mut dyn Observer) {
        if self.records.intervals() == 0 || !observer.wants_profile() {
            return;
        }
        let (options, facts) = (self.options(), self.facts());
        if let Some(analysis) = &self.records.sink.analysis {
            let profile = analysis.finished(&self.refiner.plan.sites, &options, &facts);
            observer.event(&Event::Now { profile: &profile });
        }
    }

    /// The profile of the minute that has ended, if one has.
    fn show_minute(&mut self, observer: &mut dyn Observer) {
        if self.records.sink.minute_alone.is_some() {
            let (options, facts) = (self.options(), self.facts());
            let (sites, sink) = (&self.refiner.plan.sites, &mut self.records.sink);
            sink.show_minute(sites, &options, &facts, observer);
        }
    }
}
