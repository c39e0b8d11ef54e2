//! The loop of a session: start, judge, drain, refine, report.

mod continuity;
mod diagnosis;
mod ending;
mod judge;
pub(crate) mod records;
pub(crate) mod refiner;
mod refining;
mod settings;
mod stacks;
mod target;
mod unnamed;
mod unopened;

pub use settings::{Event, IntervalSelector, Observer, Outcome, Planting, Settings, Subject};

use std::sync::Arc as Shared;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant, SystemTime};

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::{Machine, SamplingRule};
use evenkeel_analysis::{Options, RunFacts};
use evenkeel_wire::ModuleState;

use crate::attached::{self, Attached};
use crate::clock::unix_ns;
use crate::error::Error;
use crate::launch::{self, find_program};
use crate::modules::Modules;
use continuity::Continuity;
use evenkeel_recording::Meta;
use records::{DRAIN_PERIODS, Records};
use refiner::Refiner;
use stacks::Stacks;
use target::{Origin, Target};

/// How long to wait for a process with the interval's functions before giving up, when a program without them was seen.
const PATIENCE: Duration = Duration::from_secs(5);

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
    // Before anything is written: a mistyped command must not replace an old recording.
    let attached = match &settings.subject {
        Subject::Command(command) => {
            find_program(&command.words[0].to_string_lossy())?;
            None
        }
        Subject::Process(pid) => Some(Attached::to(*pid)?),
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
            Origin::Attached(attached.map_or_else(|| Attached::to(*pid), Ok)?)
        }
    };
    Ok(Session {
        settings,
        target_name: settings.subject.to_string(),
        records,
        target: Target::new(origin),
        modules: Modules::default(),
        refiner: Refiner::new(settings.planting, settings.limits),
        continuity: Continuity::default(),
        stacks: Stacks::default(),
        interval: None,
        outside: "",
        server: None,
        started: Instant::now(),
        hooked: None,
        warnings,
        slowdown: None,
    })
}

/// A running session.
struct Session<'a> {
    settings: &'a Settings,
    /// As reports name it: asked for while it runs.
    target_name: String,
    records: Records,
    target: Target,
    modules: Modules,
    /// What is timed.
    refiner: Refiner,
    continuity: Continuity,
    stacks: Stacks,
    /// Name of the interval, once a file has its functions.
    interval: Option<String>,
    /// What a client may wait for that is in no interval.
    outside: &'static str,
    /// Version of the server, once it was looked for.
    server: Option<String>,
    started: Instant,
    hooked: Option<Instant>,
    warnings: Vec<Warning>,
    /// Recorded intervals take longer than the user allows.
    slowdown: Option<Warning>,
}

impl Session<'_> {
    fn run(&mut self, interrupted: &AtomicBool, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut last_slow = Instant::now();
        let mut last_flush = Instant::now();
        self.attach(observer)?;
        loop {
            self.judge(observer)?;
            let slow = last_slow.elapsed() >= Duration::from_millis(100);
            self.await_calibration();
            self.refiner.grant_traps(&self.records.arena);
            if self.records.sink.analysis.is_some() {
                self.records.pass(slow);
                self.records.adapt();
                self.stacks.look_at_slow(
                    slow,
                    &mut self.records,
                    &mut self.modules,
                    &mut self.refiner,
                );
            }
            if slow {
                last_slow = Instant::now();
                self.tick(observer);
                self.watch_processes(observer);
                self.target.filters.watch(&self.records.arena);
                if !self.target.is_running() || interrupted.load(Relaxed) || self.time_is_up() {
                    return Ok(());
                }
                self.attach(observer)?;
                self.give_up_waiting()?;
                if self.hooked.is_some() {
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
            std::thread::sleep(match self.stacks.slow.is_sampling() {
                true => DRAIN_PERIODS[0],
                false => self.records.period,
            });
        }
    }

    /// Attaches to what is there and was not looked at yet: the process that was named, and what descends from it. Those without
    /// the interval's functions are left alone.
    fn attach(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while let Some(pid) = self.target.next(&self.records.arena) {
            let attached = match attached::announce(&mut self.records.arena, pid) {
                Ok(Some(program)) => {
                    self.judge(observer)?;
                    let arena = &self.records.arena;
                    match arena.modules()[program].state.load(Acquire) {
                        wanted if wanted == ModuleState::Wanted as u32 => {
                            self.target.attach(pid, arena, observer)
                        }
                        _ => Ok(()),
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

    fn time_is_up(&self) -> bool {
        match (self.settings.duration, self.hooked) {
            (Some(limit), Some(hooked)) => hooked.elapsed() >= limit,
            // Nothing to profile for so long is as much as the user asked for.
            (Some(limit), None) => self.started.elapsed() >= limit.max(PATIENCE),
            (None, _) => false,
        }
    }

    fn give_up_waiting(&mut self) -> Result<(), Error> {
        if self.hooked.is_none()
            && self.started.elapsed() > PATIENCE
            && let Some(error) = self.explain_not_found()
        {
            return Err(error);
        }
        Ok(())
    }

    /// Lets agents see the plan if it changed, and begins the round that it makes.
    fn publish(&mut self) {
        let Some(generation) = self.refiner.plan.publish(&self.records.arena) else {
            return;
        };
        let sink = &mut self.records.sink;
        sink.write_sites(&self.refiner.plan.sites);
        let was_called = |since, probe| sink.was_called(since, probe);
        let change = self
            .continuity
            .change(generation, &self.refiner.plan, was_called);
        sink.plan_changed(change);
        self.refiner.search.look_from(self.records.intervals());
    }

    /// Makes the analysis once the cost of a probe is known. A process applies the plan after it has calibrated, or after
    /// another has begun to.
    fn await_calibration(&mut self) {
        let waited = |hooked: Instant| hooked.elapsed() > Duration::from_millis(100);
        let is_calibrated =
            self.records.probe_cost().outer_256 != 0 || self.hooked.is_some_and(waited);
        let applications = &self.records.arena.control().applications;
        if self.records.sink.analysis.is_none() && is_calibrated && applications.load(Acquire) > 0 {
            self.records.begin_analysis(self.settings);
            self.checkpoint();
        }
    }

    fn options(&self) -> Options {
        Options {
            k: self.settings.k,
            threshold: self.settings.limits.threshold,
            specificity: self.settings.limits.specificity,
            ticks_per_ns: self.records.clock.ticks_per_ns(),
            started: Some(self.records.clock.started()),
            target: self.target_name.clone(),
            interval: self.interval.clone().unwrap_or_default(),
            ..Options::default()
        }
    }

    /// Build id of the file that has the interval's functions, in hexadecimal.
    fn build(&mut self) -> String {
        let module = self.refiner.scope.first().map(|location| location.module);
        let module = module.and_then(|index| self.modules.get(&self.records.arena, index).ok());
        let id = module.iter().flat_map(|module| module.build_id());
        id.map(|byte| format!("{byte:02x}")).collect()
    }

    /// Version of the server, where a preset knows how to find it: looked for once.
    fn server(&mut self) -> String {
        let IntervalSelector::Preset(preset, _) = &self.settings.selector else {
            return String::new();
        };
        if self.interval.is_none() {
            return String::new();
        }
        let (arena, locations) = (&self.records.arena, &self.refiner.scope);
        let version = self.server.get_or_insert_with(|| {
            let module = locations.first().map(|location| location.module);
            let path = module.map(|index| Modules::path(arena, index));
            let version = path.and_then(|path| preset.version_of(&path));
            version.unwrap_or_default()
        });
        version.clone()
    }

    fn meta(&mut self, complete: bool) -> Meta {
        let (options, cost) = (self.options(), self.records.probe_cost());
        Meta {
            target: options.target,
            interval: options.interval,
            root: self.refiner.plan.sites.root.clone(),
            root_height: self.refiner.plan.sites.root_height,
            ticks_per_ns: options.ticks_per_ns,
            outer_256: cost.outer_256,
            inner_256: cost.inner_256,
            waits: self.settings.waits,
            summary: self.settings.summary.is_some(),
            facts: RunFacts {
                // Long, and the same each time: a recording of sums has it at its end.
                unpatched: match self.settings.summary.is_some() {
                    true => Vec::new(),
                    false => self.refiner.plan.unpatched(&self.records.arena),
                },
                ..self.counts()
            },
            complete,
            options: self.settings.options.clone(),
            host: host(),
            build: self.build(),
            server: self.server(),
            started: Some(self.records.clock.started()),
        }
    }

    /// What is known of the run beside its records.
    fn facts(&mut self) -> RunFacts {
        RunFacts {
            unpatched: self.refiner.plan.unpatched(&self.records.arena),
            unopened: Some(self.unopened()),
            names: self.names_elsewhere(),
            ..self.counts()
        }
    }

    /// Of that what is counted, and what the user should know.
    fn counts(&self) -> RunFacts {
        RunFacts {
            missed: self.records.drain.missed,
            sampled_out: self.records.drain.skipped,
            sampling: Some(match self.settings.sampling {
                SamplingRule::All => SamplingRule::All,
                _ if self.settings.waits => SamplingRule::Windows,
                rule => rule,
            }),
            unplanned: self.records.drain.unplanned,
            traps: self.records.arena.control().traps.load(Relaxed),
            outside: self.outside.to_owned(),
            failed: self.failed(),
            machine: Some(self.machine()),
            warnings: self.all_warnings(),
            ..RunFacts::default()
        }
    }

    /// The machine, and how long the run has taken.
    fn machine(&self) -> Machine {
        let now = unix_ns(SystemTime::now());
        let ns = now.saturating_sub(self.records.clock.started().unix_ns);
        // SAFETY: asks for a number.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Machine {
            processors: u32::try_from(processors).unwrap_or(0),
            seconds: ns as f64 / 1e9,
        }
    }

    /// Makes the recording good up to now; one of sums now and then.
    fn checkpoint(&mut self) {
        if self.records.sink.is_checkpoint_due() {
            let is_recorded = self.records.sink.writer.is_some();
            let meta = is_recorded.then(|| self.meta(false));
            self.records.sink.checkpoint(meta.as_ref());
        }
    }

    fn tick(&mut self, observer: &mut dyn Observer) {
        let seconds = self
            .hooked
            .map_or(0.0, |hooked| hooked.elapsed().as_secs_f64());
        observer.event(&Event::Tick {
            intervals: self.records.intervals(),
            records: self.records.drain.read,
            probes: self.refiner.plan.planted().count(),
            seconds,
        });
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
            let sites = &self.refiner.plan.sites;
            self.records
                .sink
                .show_minute(sites, &options, &facts, observer);
        }
    }
}

/// Name of this machine; empty where it is not known.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}
