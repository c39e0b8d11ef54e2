//! The loop of a session: start, judge, drain, refine, report.

mod attach;
mod continuity;
mod diagnosis;
pub(crate) mod duty_cycle;
mod ending;
mod filters;
mod judge;
mod kernel;
mod left_out;
mod numbers;
pub(crate) mod refiner;
mod refining;
mod settings;
pub(crate) mod sink;
mod slow;
mod stacks;
pub(crate) mod thread_names;
mod unnamed;
mod unopened;

pub use settings::{Event, IntervalSelector, Observer, Outcome, Planting, Settings, Subject};

use std::sync::Arc as Shared;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant, SystemTime};

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::{Machine, SamplingRule};
use evenkeel_analysis::{Analysis, Options, ProbeCost, RunFacts};
use evenkeel_kernel::Watched;
use evenkeel_wire::Mode;

use crate::arena::Arena;
use crate::attached::Attached;
use crate::clock::{TickClock, unix_ns};
use crate::drain::Drain;
use crate::error::Error;
use crate::launch::{self, find_program};
use crate::lease::Lease;
use crate::listening::ListenQueues;
use crate::modules::Modules;
use crate::processes::Processes;
use crate::slow::SlowIntervals;
use crate::target::Target;
use continuity::Continuity;
use duty_cycle::{DutyCycle, Work};
use evenkeel_recording::{Meta, Writer};
use kernel::Kernel;
use refiner::Refiner;
use sink::RecordSink;

/// Pause between two drains: each wakes a processor that the target may be using. The shorter while rings fill quickly.
const DRAIN_PERIODS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// It is halved when a ring was this full, and grows while all are emptier by a factor of eight.
const FILL_HIGH_BYTES: u64 = evenkeel_wire::ring::RING_BYTES as u64 / 4;
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
        session.detach();
        session.leave();
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
    let arena = Arena::create().map_err(Error::Arena)?;
    let clock = TickClock::start();
    let lease = Lease::keep(&arena, &clock).map_err(Error::Arena)?;
    arena.control().mode.store(Mode::Record as u32, Release);
    arena.control().waits.store(settings.waits.into(), Release);
    let writer = settings.recording.as_deref();
    let writer = writer.map(Writer::create).transpose()?;
    // Before the target, which inherits what is watched.
    let mut warnings = Vec::new();
    let whom = match &settings.subject {
        Subject::Command(_) => Watched::Children,
        Subject::Process(_) => Watched::Everybody,
    };
    let kernel = settings
        .waits
        .then(|| Kernel::watch(whom, &mut warnings))
        .flatten();
    let target = match (&settings.subject, attached) {
        (Subject::Command(command), _) => {
            let target = launch::Target::start(&arena, command)?;
            observer.event(&Event::Started { pid: target.pid() });
            Target::Launched(target)
        }
        (Subject::Process(pid), attached) => {
            Target::Attached(attached.map_or_else(|| Attached::to(*pid), Ok)?)
        }
    };
    Ok(Session {
        settings,
        target_name: settings.subject.to_string(),
        arena,
        _lease: lease,
        clock,
        target,
        modules: Modules::default(),
        refiner: Refiner::new(settings.planting, settings.limits),
        drain: Drain::default(),
        sink: RecordSink::new(settings, clock.started().unix_ns, writer, observer),
        kernel,
        duty_cycle: DutyCycle::new(
            settings.limits.overhead_max,
            settings.sampling,
            settings.waits,
        ),
        period: DRAIN_PERIODS[0],
        continuity: Continuity::default(),
        watch: diagnosis::Watch::default(),
        filters: filters::Filters::default(),
        stacks: stacks::CopiedStacks::default(),
        processes: Processes::default(),
        slow: SlowIntervals::default(),
        slow_from: None,
        judged: 0,
        passed: diagnosis::Passed::default(),
        interval: None,
        outside: "",
        server: None,
        summed: None,
        started: Instant::now(),
        hooked: None,
        warnings,
        injected: 0,
        left_out: left_out::LeftOut::default(),
        listening: ListenQueues::default(),
        slowdown: None,
    })
}

/// A running session.
struct Session<'a> {
    settings: &'a Settings,
    /// As reports name it: asked for while it runs.
    target_name: String,
    arena: Arena,
    _lease: Lease,
    clock: TickClock,
    target: Target,
    modules: Modules,
    /// What is timed.
    refiner: Refiner,
    drain: Drain,
    sink: RecordSink,
    /// What the kernel reports, with waits.
    kernel: Option<Kernel>,
    duty_cycle: DutyCycle,
    period: Duration,
    continuity: Continuity,
    /// The target's processes.
    watch: diagnosis::Watch,
    filters: filters::Filters,
    stacks: stacks::CopiedStacks,
    /// The code of the target's processes.
    processes: Processes,
    slow: SlowIntervals,
    /// How long an interval has lasted from which on it is slow, ticks, once enough have ended.
    slow_from: Option<u64>,
    /// Entries of the module table that have their verdict.
    judged: usize,
    passed: diagnosis::Passed,
    /// Name of the interval, once a file has its functions.
    interval: Option<String>,
    /// What a client may wait for that is in no interval.
    outside: &'static str,
    /// When sums were last recorded, where they are.
    summed: Option<Instant>,
    /// Version of the server, once it was looked for.
    server: Option<String>,
    started: Instant,
    hooked: Option<Instant>,
    warnings: Vec<Warning>,
    /// Running processes that the agent was brought into.
    injected: u64,
    left_out: left_out::LeftOut,
    listening: ListenQueues,
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
            self.refiner.grant_traps(&self.arena);
            if self.sink.analysis.is_some() {
                self.pass(slow);
                self.adapt();
                self.look_at_slow(slow);
            }
            if slow {
                last_slow = Instant::now();
                self.tick(observer);
                self.watch_processes(observer);
                self.filters.watch(&self.arena);
                self.listening.look(self.target.pid());
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
            std::thread::sleep(match self.slow.is_sampling() {
                true => DRAIN_PERIODS[0],
                false => self.period,
            });
        }
    }

    /// Takes in everything that there is.
    fn pass(&mut self, check_alive: bool) {
        let (drain, arena, sink, kernel) = (
            &mut self.drain,
            &self.arena,
            &mut self.sink,
            &mut self.kernel,
        );
        let unused = self.duty_cycle.measure(|| {
            let unused = drain.run(arena, sink, check_alive);
            if let Some(kernel) = kernel {
                kernel.run(drain, sink);
            }
            sink.pass_ended();
            unused
        });
        self.arena.provide_rings(unused);
    }

    /// Fits how often is drained, and how much there is to drain, to what the last drains found.
    fn adapt(&mut self) {
        let fullest = self.drain.fullest_bytes;
        if fullest > FILL_HIGH_BYTES {
            self.period /= 2;
        } else if fullest < FILL_HIGH_BYTES / 8 {
            self.period = self.period * 5 / 4;
        }
        self.period = self.period.clamp(DRAIN_PERIODS[0], DRAIN_PERIODS[1]);
        let probe_ns = self.probe_cost().ticks() / self.clock.ticks_per_ns();
        let in_flight = self.sink.analysis.as_ref().map_or(0, Analysis::in_flight);
        let work = Work {
            records: self.drain.read + self.drain.given_back,
            probe_ns,
            kernel_ns: self.kernel.as_ref().map_or(0.0, Kernel::cost_ns),
            in_flight,
        };
        let analysis = self.sink.analysis.as_ref();
        let by_class = analysis.map_or(&[][..], Analysis::latencies);
        let records = self.duty_cycle.turn(&self.arena, work, by_class);
        if let Some(kernel) = &mut self.kernel {
            kernel.watch_while(records);
        }
    }

    /// The calibrated cost of a probe where nothing is recorded, nanoseconds.
    fn passed_ns(&self) -> f64 {
        let passed_256 = self.arena.control().probe_passed_ticks_256.load(Relaxed);
        passed_256 as f64 / 256.0 / self.clock.ticks_per_ns()
    }

    /// The calibrated cost of a probe.
    fn probe_cost(&self) -> ProbeCost {
        let control = self.arena.control();
        ProbeCost {
            outer_256: control.probe_outer_ticks_256.load(Acquire) as u32,
            inner_256: control.probe_inner_ticks_256.load(Acquire) as u32,
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
        let Some(generation) = self.refiner.plan.publish(&self.arena) else {
            return;
        };
        if let Some(writer) = &mut self.sink.writer {
            for id in self.sink.sites_written..self.refiner.plan.sites.sites.len() {
                writer.site(id as u32, &self.refiner.plan.sites.sites[id]);
            }
            self.sink.sites_written = self.refiner.plan.sites.sites.len();
        }
        let change = self
            .continuity
            .change(generation, &self.refiner.plan, |since, probe| {
                let analysis = self.sink.analysis.as_ref();
                analysis.is_some_and(|analysis| analysis.was_called(since, probe))
            });
        self.sink.plan_changed(&change);
        match &mut self.sink.analysis {
            Some(analysis) => analysis.plan_changed(change),
            None => self.sink.early_changes.push(change),
        }
        let analysis = self.sink.analysis.as_ref();
        self.refiner
            .search
            .look_from(analysis.map_or(0, Analysis::intervals_seen));
    }

    /// Makes the analysis once the cost of a probe is known. A process applies the plan after it has calibrated, or after
    /// another has begun to.
    fn await_calibration(&mut self) {
        let control = self.arena.control();
        let cost = self.probe_cost();
        let waited = self
            .hooked
            .is_some_and(|hooked| hooked.elapsed() > Duration::from_millis(100));
        if self.sink.analysis.is_some()
            || (cost.outer_256 == 0 && !waited)
            || control.applications.load(Acquire) == 0
        {
            return;
        }
        let mut analysis = Analysis::new(cost);
        analysis.keep_recent();
        analysis.keep_slowest(self.settings.slowest);
        if self.settings.waits {
            analysis.follow_waits();
        }
        for change in self.sink.early_changes.drain(..) {
            analysis.plan_changed(change);
        }
        self.sink.analysis = Some(analysis);
        self.checkpoint();
    }

    fn options(&self) -> Options {
        Options {
            k: self.settings.k,
            threshold: self.settings.limits.threshold,
            specificity: self.settings.limits.specificity,
            ticks_per_ns: self.clock.ticks_per_ns(),
            started: Some(self.clock.started()),
            target: self.target_name.clone(),
            interval: self.interval.clone().unwrap_or_default(),
            ..Options::default()
        }
    }

    /// Build id of the file that has the interval's functions, in hexadecimal.
    fn build(&mut self) -> String {
        let module = self.refiner.scope.first().map(|location| location.module);
        let module = module.and_then(|index| self.modules.get(&self.arena, index).ok());
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
        let (arena, locations) = (&self.arena, &self.refiner.scope);
        let version = self.server.get_or_insert_with(|| {
            let module = locations.first().map(|location| location.module);
            let path = module.map(|index| Modules::path(arena, index));
            let version = path.and_then(|path| preset.version_of(&path));
            version.unwrap_or_default()
        });
        version.clone()
    }

    fn meta(&mut self, complete: bool) -> Meta {
        let (options, cost) = (self.options(), self.probe_cost());
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
                    false => self.refiner.plan.unpatched(&self.arena),
                },
                ..self.counts()
            },
            complete,
            options: self.settings.options.clone(),
            host: host(),
            build: self.build(),
            server: self.server(),
            started: Some(self.clock.started()),
        }
    }

    /// What is known of the run beside its records.
    fn facts(&mut self) -> RunFacts {
        RunFacts {
            unpatched: self.refiner.plan.unpatched(&self.arena),
            unopened: Some(self.unopened()),
            names: self.names_elsewhere(),
            ..self.counts()
        }
    }

    /// Of that what is counted, and what the user should know.
    fn counts(&self) -> RunFacts {
        RunFacts {
            missed: self.drain.missed,
            sampled_out: self.drain.skipped,
            sampling: Some(match self.settings.sampling {
                SamplingRule::All => SamplingRule::All,
                _ if self.settings.waits => SamplingRule::Windows,
                rule => rule,
            }),
            unplanned: self.drain.unplanned,
            traps: self.arena.control().traps.load(Relaxed),
            outside: self.outside.to_owned(),
            listen_queues: self.listening.seen(),
            failed: self.failed(),
            machine: Some(self.machine()),
            warnings: self.all_warnings(),
            ..RunFacts::default()
        }
    }

    /// The machine, and how long the run has taken.
    fn machine(&self) -> Machine {
        let now = unix_ns(SystemTime::now());
        let ns = now.saturating_sub(self.clock.started().unix_ns);
        // SAFETY: asks for a number.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Machine {
            processors: u32::try_from(processors).unwrap_or(0),
            seconds: ns as f64 / 1e9,
        }
    }

    /// Makes the recording good up to now; one of sums now and then.
    fn checkpoint(&mut self) {
        if let Some(period) = self.settings.summary {
            if self.summed.is_some_and(|at| at.elapsed() < period) {
                return;
            }
            self.summed = Some(Instant::now());
        }
        let meta = self.sink.writer.is_some().then(|| self.meta(false));
        if let (Some(writer), Some(meta)) = (&mut self.sink.writer, meta) {
            writer.meta(&meta);
        }
        // Behind what explains them: the cost of a probe is read there.
        if self.sink.sums_only {
            self.sink.keep_sums();
        }
        if let Some(writer) = &mut self.sink.writer {
            writer.flush();
        }
    }

    fn tick(&mut self, observer: &mut dyn Observer) {
        let seconds = self
            .hooked
            .map_or(0.0, |hooked| hooked.elapsed().as_secs_f64());
        observer.event(&Event::Tick {
            intervals: self
                .sink
                .analysis
                .as_ref()
                .map_or(0, Analysis::intervals_seen),
            records: self.drain.read,
            probes: self.refiner.plan.planted().count(),
            seconds,
        });
    }

    /// Shows the present profile to an observer that wants it.
    fn show(&mut self, observer: &mut dyn Observer) {
        let has_intervals = |analysis: &Analysis| analysis.intervals_seen() > 0;
        if !self.sink.analysis.as_ref().is_some_and(has_intervals) || !observer.wants_profile() {
            return;
        }
        let (options, facts) = (self.options(), self.facts());
        if let Some(analysis) = &self.sink.analysis {
            let profile = analysis.finished(&self.refiner.plan.sites, &options, &facts);
            observer.event(&Event::Now { profile: &profile });
        }
    }

    /// The profile of the minute that has ended, if one has.
    fn show_minute(&mut self, observer: &mut dyn Observer) {
        if self.sink.minute_alone.is_some() {
            let (options, facts) = (self.options(), self.facts());
            let sites = &self.refiner.plan.sites;
            self.sink.show_minute(sites, &options, &facts, observer);
        }
    }

    /// Asks all processes to take their hooks out; each does at its next interval.
    fn detach(&mut self) {
        self.arena
            .control()
            .mode
            .store(Mode::Detach as u32, Release);
    }
}

/// Name of this machine; empty where it is not known.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}
