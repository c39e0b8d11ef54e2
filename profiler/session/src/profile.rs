//! The loop of a session: start, judge, drain, refine, report.

mod steps;
mod windows;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc as Shared;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::Kind;
use evenkeel_analysis::{Analysis, Options, ProbeCost};
use evenkeel_wire::{Mode, ModuleState, Record};

use crate::arena::Arena;
use crate::clock::TickClock;
use crate::drain::{Drain, Sink};
use crate::error::Error;
use crate::interval::{self, Interval};
use crate::launch::{CommandLine, Ending, Target};
use crate::modules::Modules;
use crate::plan::{Function, Plan};
use crate::presets::{KnownInterval, Preset};
use crate::recording::{Meta, Writer};
use crate::refine::{Candidate, Limits};
use crate::spec::IntervalSpec;
use windows::Windows;

/// Pause between two drains.
const DRAIN_PERIOD: Duration = Duration::from_millis(2);
/// How long to wait for a process with the interval's functions before giving up, when a program without them was seen.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which interval to profile.
#[derive(Clone, Debug)]
pub enum Wish {
    /// As the user typed it.
    Spec(IntervalSpec),
    /// One that a preset knows.
    Known(&'static Preset, &'static KnownInterval),
}

/// Which probes to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planting {
    /// What refinement finds.
    Refine,
    /// What a person chooses at each step.
    Manual,
    /// The first so many call sites, breadth first from the interval's functions; for measuring overhead.
    First(usize),
    /// Every call site of the program; for testing that nothing breaks.
    Every,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to run.
    pub command: CommandLine,
    /// The interval.
    pub wish: Wish,
    /// How long to profile, from the moment the first process is hooked; `None`: until it ends.
    pub duration: Option<Duration>,
    /// Leave the command running afterwards.
    pub keep: bool,
    /// Signal that asks the command to stop.
    pub stop_signal: i32,
    /// Which probes.
    pub planting: Planting,
    /// Limits of refinement.
    pub limits: Limits,
    /// Factors reported.
    pub k: usize,
    /// Where to record.
    pub recording: Option<PathBuf>,
}

/// What happens on the way.
#[derive(Debug)]
pub enum Event<'a> {
    /// The command runs.
    Started {
        /// Its process id.
        pid: i32,
    },
    /// The first process is hooked.
    Hooked {
        /// Seconds since the start.
        seconds: f64,
    },
    /// A program without the interval's functions runs; its children may have them.
    Passing(&'a Error),
    /// A round is complete: what is known now.
    Ranking {
        /// The profile so far.
        profile: &'a Profile,
        /// Steps that the next round takes, or that a person may choose from.
        next: &'a [Candidate],
        /// Seconds since the first interval.
        seconds: f64,
    },
    /// A moment has passed.
    Tick {
        /// Intervals seen.
        intervals: u64,
        /// Records read.
        records: u64,
        /// Probes planted.
        probes: usize,
        /// Seconds since the first process was hooked.
        seconds: f64,
    },
}

/// Sees what happens, and chooses where a person is asked.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);

    /// In [`Planting::Manual`]: which of the candidates of the last ranking to take, by index. `None` while the person
    /// thinks; the target is drained meanwhile.
    fn choice(&mut self) -> Option<Vec<usize>> {
        None
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct Outcome {
    /// The result.
    pub profile: Profile,
    /// How the command ended.
    pub ending: Ending,
}

/// Runs a session. `interrupted` is raised by whoever handles Ctrl-C.
///
/// # Errors
/// Everything in [`Error`] that concerns starting, the interval, or a session without any interval.
pub fn profile(settings: &Settings, interrupted: &Shared<AtomicBool>, observer: &mut dyn Observer) -> Result<Outcome, Error> {
    let arena = Arena::create().map_err(Error::Arena)?;
    let clock = TickClock::start();
    clock.renew_lease(&arena);
    arena.control().mode.store(Mode::Record as u32, Release);
    let writer = settings.recording.as_deref().map(Writer::create).transpose()?;
    let target = Target::start(&arena, &settings.command)?;
    observer.event(&Event::Started { pid: target.pid() });
    let mut session = Session {
        settings,
        arena,
        clock,
        target,
        modules: Modules::default(),
        plan: Plan::new("", 0),
        drain: Drain::default(),
        store: Store { analysis: None, early_rounds: Vec::new(), writer, sites_written: 0 },
        windows: Windows::new(),
        steps: steps::Steps::default(),
        judged: 0,
        not_found: None,
        interval: None,
        started: Instant::now(),
        hooked: None,
        warnings: Vec::new(),
    };
    let result = session.run(interrupted, observer);
    if result.is_err() {
        session.detach();
        session.target.stop(settings.stop_signal, || {});
        return Err(result.expect_err("just seen"));
    }
    session.finish()
}

/// Where records go: the analysis, and the recording if there is one.
struct Store {
    /// Made when the first process has calibrated its probes, which is before its first record.
    analysis: Option<Analysis>,
    /// Rounds that began before that.
    early_rounds: Vec<(u32, u32)>,
    writer: Option<Writer>,
    sites_written: usize,
}

impl Sink for Store {
    fn records(&mut self, thread: u64, records: &[Record]) {
        if let Some(analysis) = &mut self.analysis {
            analysis.push(thread, records);
        }
        if let Some(writer) = &mut self.writer {
            writer.records(thread, records);
        }
    }

    fn ended(&mut self, thread: u64) {
        if let Some(analysis) = &mut self.analysis {
            analysis.thread_ended(thread);
        }
        if let Some(writer) = &mut self.writer {
            writer.ended(thread);
        }
    }
}

/// A running session.
struct Session<'a> {
    settings: &'a Settings,
    arena: Arena,
    clock: TickClock,
    target: Target,
    modules: Modules,
    plan: Plan,
    drain: Drain,
    store: Store,
    windows: Windows,
    steps: steps::Steps,
    /// Entries of the module table that have their verdict.
    judged: usize,
    not_found: Option<Error>,
    interval: Option<(String, Vec<Function>)>,
    started: Instant,
    hooked: Option<Instant>,
    warnings: Vec<String>,
}

impl Session<'_> {
    fn run(&mut self, interrupted: &AtomicBool, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut last_slow = Instant::now();
        let mut last_flush = Instant::now();
        loop {
            self.judge(observer)?;
            let slow = last_slow.elapsed() >= Duration::from_millis(100);
            self.await_calibration();
            if self.store.analysis.is_some() {
                let unused = self.drain.run(&self.arena, &mut self.store, slow);
                self.arena.provide_rings(unused);
            }
            if slow {
                last_slow = Instant::now();
                self.clock.renew_lease(&self.arena);
                self.tick(observer);
                if !self.target.is_running() || interrupted.load(Relaxed) || self.time_is_up() {
                    return Ok(());
                }
                self.give_up_waiting()?;
                if self.hooked.is_some() {
                    self.refine(observer);
                }
            }
            if last_flush.elapsed() >= Duration::from_secs(1) {
                last_flush = Instant::now();
                self.checkpoint();
            }
            self.windows.turn(&self.arena, self.store.analysis.is_some());
            std::thread::sleep(DRAIN_PERIOD);
        }
    }

    fn time_is_up(&self) -> bool {
        match (self.settings.duration, self.hooked) {
            (Some(limit), Some(hooked)) => hooked.elapsed() >= limit,
            // Nothing to profile for so long is as much as the user asked for.
            (Some(limit), None) => self.started.elapsed() >= limit.max(PATIENCE),
            (None, _) => false,
        }
    }

    fn give_up_waiting(&mut self) -> Result<(), Error> {
        if self.hooked.is_none() && self.started.elapsed() > PATIENCE
            && let Some(error) = self.not_found.take()
        {
            return Err(error);
        }
        Ok(())
    }

    /// Gives every newly announced module its verdict; a process waits for that of its executable.
    fn judge(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while self.judged < self.arena.modules().len() {
            let index = self.judged;
            self.judged += 1;
            let executable = self.arena.modules()[index].executable.load(Acquire) != 0;
            let wanted = match self.interval_in(index, executable) {
                Ok(Some(interval)) => {
                    self.begin(index, &interval)?;
                    true
                }
                Ok(None) => executable && self.library().is_some(),
                Err(error) if executable && passing(&error) => {
                    observer.event(&Event::Passing(&error));
                    self.not_found = Some(error);
                    false
                }
                Err(error) => return Err(error),
            };
            let verdict = if wanted { ModuleState::Wanted } else { ModuleState::Ignored };
            self.arena.modules()[index].state.store(verdict as u32, Release);
            if wanted && executable && self.hooked.is_none() {
                self.hooked = Some(Instant::now());
                observer.event(&Event::Hooked { seconds: self.started.elapsed().as_secs_f64() });
            }
        }
        Ok(())
    }

    /// The library that defines the interval, if it is not the executable.
    fn library(&self) -> Option<&str> {
        match &self.settings.wish {
            Wish::Spec(spec) => spec.library.as_deref(),
            Wish::Known(..) => None,
        }
    }

    /// The interval, if this module is one that may define it.
    fn interval_in(&mut self, index: usize, executable: bool) -> Result<Option<Interval>, Error> {
        let path = Modules::path(&self.arena, index);
        let concerned = match &self.settings.wish {
            Wish::Known(preset, _) => executable && preset.fits(&path),
            Wish::Spec(spec) => match &spec.library {
                None => executable,
                Some(library) => Modules::name(&self.arena, index).starts_with(library.as_str()),
            },
        };
        if !concerned {
            return Ok(None);
        }
        let module = match self.modules.get(&self.arena, index) {
            Ok(Some(module)) => module,
            Ok(None) => return Ok(None),
            Err(error) => return Err(Error::Launch(evenkeel_symbols::LaunchError::Load(error))),
        };
        let interval = match &self.settings.wish {
            Wish::Known(preset, known) => preset.resolve(known, &module)?,
            Wish::Spec(spec) => interval::resolve(spec, &module)?,
        };
        Ok(Some(interval))
    }

    /// Plants the interval's boundaries and its first probes.
    fn begin(&mut self, index: usize, interval: &Interval) -> Result<(), Error> {
        let Ok(Some(module)) = self.modules.get(&self.arena, index) else { return Ok(()) };
        let scope: Vec<Function> = interval.scope.iter().map(|&entry| (index, entry)).collect();
        if self.interval.is_none() {
            self.plan = Plan::new(&interval.name, interval.height);
            self.interval = Some((interval.name.clone(), Vec::new()));
        }
        for boundary in &interval.boundaries {
            if !self.plan.add_boundary(&mut self.arena, index, &module, boundary) {
                let reason = "the plan is full".to_owned();
                return Err(Error::BoundaryRefused { site: interval.name.clone(), reason });
            }
            if boundary.role == evenkeel_wire::Role::Gate {
                self.arena.control().gated.store(1, Release);
            }
        }
        for client in &interval.clients {
            if self.plan.add_site(&mut self.arena, index, &module, client).is_some() {
                self.plan.set_kind(index, client.address, Kind::Client);
            }
        }
        if let Some((_, all)) = &mut self.interval {
            all.extend(&scope);
        }
        self.plant_first(&scope, index);
        self.publish();
        Ok(())
    }

    /// Lets agents see the plan, and begins the round that it makes.
    fn publish(&mut self) {
        let Some(generation) = self.plan.publish(&self.arena) else { return };
        let probes = self.plan.planted().count() as u32;
        if let Some(writer) = &mut self.store.writer {
            for id in self.store.sites_written..self.plan.sites.sites.len() {
                writer.site(id as u32, &self.plan.sites.sites[id]);
            }
            self.store.sites_written = self.plan.sites.sites.len();
        }
        match &mut self.store.analysis {
            Some(analysis) => analysis.begin_round(generation, probes),
            None => self.store.early_rounds.push((generation, probes)),
        }
        if let Some(writer) = &mut self.store.writer {
            writer.round(generation, probes);
        }
        self.steps.round_began(self.store.analysis.as_ref().map_or(0, Analysis::intervals_seen));
    }

    /// Makes the analysis once the cost of a probe is known. A process applies the plan after it has calibrated, or after
    /// another has begun to.
    fn await_calibration(&mut self) {
        let control = self.arena.control();
        let calibrated = control.probe_outer_ticks_256.load(Acquire);
        let waited = self.hooked.is_some_and(|hooked| hooked.elapsed() > Duration::from_millis(100));
        if self.store.analysis.is_some() || (calibrated == 0 && !waited) || control.applications.load(Acquire) == 0 {
            return;
        }
        let mut analysis = Analysis::new(ProbeCost {
            outer_256: calibrated as u32,
            inner_256: control.probe_inner_ticks_256.load(Acquire) as u32,
        });
        for (generation, probes) in self.store.early_rounds.drain(..) {
            analysis.begin_round(generation, probes);
        }
        self.store.analysis = Some(analysis);
        self.checkpoint();
    }

    fn options(&self) -> Options {
        Options {
            k: self.settings.k,
            threshold: self.settings.limits.threshold,
            specificity: self.settings.limits.specificity,
            ticks_per_ns: self.clock.ticks_per_ns(),
            target: self.settings.command.to_string(),
            interval: self.interval.as_ref().map(|(name, _)| name.clone()).unwrap_or_default(),
        }
    }

    fn meta(&self, complete: bool) -> Meta {
        let control = self.arena.control();
        let options = self.options();
        Meta {
            target: options.target,
            interval: options.interval,
            root: self.plan.sites.root.clone(),
            root_height: self.plan.sites.root_height,
            ticks_per_ns: options.ticks_per_ns,
            outer_256: control.probe_outer_ticks_256.load(Relaxed) as u32,
            inner_256: control.probe_inner_ticks_256.load(Relaxed) as u32,
            missed: self.drain.missed,
            unpatched: self.plan.unpatched(&self.arena),
            warnings: self.warnings.clone(),
            complete,
        }
    }

    /// Makes the recording good up to now.
    fn checkpoint(&mut self) {
        let meta = self.meta(false);
        if let Some(writer) = &mut self.store.writer {
            writer.meta(&meta);
            writer.flush();
        }
    }

    fn tick(&mut self, observer: &mut dyn Observer) {
        let seconds = self.hooked.map_or(0.0, |hooked| hooked.elapsed().as_secs_f64());
        observer.event(&Event::Tick {
            intervals: self.store.analysis.as_ref().map_or(0, Analysis::intervals_seen),
            records: self.drain.read,
            probes: self.plan.planted().count(),
            seconds,
        });
    }

    /// Asks all processes to take their hooks out; each does at its next interval.
    fn detach(&mut self) {
        self.arena.control().mode.store(Mode::Detach as u32, Release);
    }

    fn finish(mut self) -> Result<Outcome, Error> {
        let ending = self.stop();
        self.collect_warnings();
        let meta = self.meta(true);
        if let Some(writer) = self.store.writer.take()
            && let Err(error) = writer.finish(&meta)
        {
            self.warnings.push(format!("the recording is incomplete: {error}"));
        }
        let analysis = self.store.analysis.take();
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled(ending));
        };
        let mut profile = analysis.profile(&self.plan.sites, &self.options());
        Meta { warnings: self.warnings, ..meta }.complete(&mut profile);
        Ok(Outcome { profile, ending })
    }

    fn stop(&mut self) -> Ending {
        self.await_calibration();
        self.detach();
        if let Some(ending) = self.target.ending().filter(|_| !self.target.is_running()) {
            self.drain.run(&self.arena, &mut self.store, true);
            return ending;
        }
        if self.settings.keep {
            std::thread::sleep(Duration::from_millis(50));
            self.drain.run(&self.arena, &mut self.store, true);
            return Ending::Kept;
        }
        let Session { target, drain, arena, store, clock, .. } = self;
        target.stop(self.settings.stop_signal, || {
            clock.renew_lease(arena);
            drain.run(arena, store, true);
        });
        drain.run(arena, store, true);
        Ending::Stopped
    }

    fn collect_warnings(&mut self) {
        let control = self.arena.control();
        let lost = control.threads_without_ring.load(Relaxed);
        if lost > 0 {
            let why = if self.arena.rings_exhausted() { "no shared memory was left" } else { "too many started at once" };
            self.warnings.push(format!("{lost} threads were not recorded: {why}; free memory or run fewer threads"));
        }
        if self.drain.dropped + self.drain.missed > 0 {
            self.warnings.push(format!(
                "the profiler did not keep up for a moment: {} records were dropped and {} intervals not recorded; they are left out. Lower --max-probes, or give the profiler more of a processor",
                self.drain.dropped, self.drain.missed
            ));
        }
        let deep = control.shadow_full.load(Relaxed);
        if deep > 0 {
            self.warnings.push(format!("{deep} calls were nested too deeply to be timed; their time is their callers'"));
        }
        let unread = control.labels_unread.load(Relaxed);
        if unread > 0 {
            self.warnings.push(format!("{unread} labels could not be read; check label= names a string argument"));
        }
        if control.probe_outer_ticks_256.load(Relaxed) == 0 {
            self.warnings.push("the cost of a probe could not be calibrated and is not subtracted".to_owned());
        }
    }

    fn nothing_profiled(&mut self, ending: Ending) -> Error {
        if let Some(error) = self.not_found.take() {
            return error;
        }
        let control = self.arena.control();
        let text = if control.processes.load(Relaxed) == 0 {
            "the agent was never loaded: the command ended first, is statically linked, or changed its rights (setuid); profile the server itself instead of a wrapper".to_owned()
        } else if let Some((name, _)) = &self.interval {
            format!("the interval {name} never ended while it was profiled: put the server under load, profile for longer (--for), or choose another --interval")
        } else {
            match &self.settings.wish {
                Wish::Known(preset, _) => format!(
                    "the command never ran {}; name another --preset, or the interval with --interval",
                    preset.programs.join(" or ")
                ),
                Wish::Spec(spec) => format!(
                    "no library {} was loaded; check its name with ldd or /proc/PID/maps",
                    spec.library.as_deref().unwrap_or_default()
                ),
            }
        };
        Error::NothingProfiled(match ending {
            Ending::Exited(code) if code != 0 => format!("the command failed with exit code {code}; {text}"),
            Ending::Killed(signal) => format!("the command was killed by signal {signal}; {text}"),
            _ => text,
        })
    }
}

/// Errors that only say that this program is not the one: a child may be.
fn passing(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { source: evenkeel_symbols::FindError::NoSuchFunction { .. }, .. } | Error::Launch(_)
    )
}

/// Functions by what is known of them; kept beside the steps that use it.
type Functions = HashSet<Function>;
