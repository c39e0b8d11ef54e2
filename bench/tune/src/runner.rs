//! Where runs are made: a target with its settings, under its load.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evenkeel_analysis::profile::Profile;
use evenkeel_drive::progress::Progress;
use evenkeel_drive::settings::BenchmarkSettings;
use evenkeel_drive::target::Target;
use evenkeel_drive::testbed::{NotSet, Testbed};
use evenkeel_drive::{RoundLoad, Watcher, measure, set};

use crate::command;
use crate::error::{During, Error};
use crate::knobs::{Needs, TargetKind};
use crate::objective::Run;
use crate::profiled::{Probing, Watched, pid_of, run_of};
use crate::race::{Arm, NameAndValue, Outcome, Runner};
use crate::server::{Failure, Server};

/// The source of the load.
#[derive(Clone, Debug)]
pub enum LoadSource {
    /// A workload of the load driver's; the settings say the rest.
    Workload,
    /// A command in a shell, with the variables by which it finds the server, and the interval whose latency counts.
    Command {
        /// The load.
        run: String,
        /// Run once before, to make its data.
        prepare: Option<String>,
    },
}

/// The way of changing settings.
pub enum Changed {
    /// A server.
    Server(Box<Server>),
    /// The embedded store, which is opened with them; each layout has its data.
    Store {
        /// Directories by layout, made on demand.
        data: BTreeMap<String, tempfile::TempDir>,
    },
}

enum Setup {
    Empty,
    Bare(Target),
    Set(Testbed),
}

impl Setup {
    fn target(&mut self) -> Option<&mut Target> {
        match self {
            Setup::Bare(target) => Some(target),
            Setup::Set(testbed) => Some(testbed.on()),
            Setup::Empty => None,
        }
    }
}

/// A target under its load.
pub struct TargetRunner<'a> {
    settings: &'a BenchmarkSettings,
    load: &'a LoadSource,
    /// The interval; of servers only.
    interval: Option<&'a str>,
    pid: Option<i32>,
    kind: TargetKind,
    setup: Setup,
    changed: Changed,
    /// Every run of this round begins with a fresh start of the server, since some must.
    restarts: bool,
    saturation_per_s: Option<f64>,
    heading: String,
    /// When the budget ends, and what a run costs.
    deadline: Option<Instant>,
    run_cost: Duration,
    progress: &'a dyn Progress,
    interrupted: &'a AtomicBool,
    /// Irregularities that are no errors.
    pub notes: Vec<String>,
}

/// Runs that are made until one completes anything.
const ATTEMPTS: usize = 10;
/// Cost of a change of settings, and first guess of a run's overhead.
const CHANGE_COST: Duration = Duration::from_secs(1);
const NOT_OPEN: &str = "the target is not open";

impl<'a> TargetRunner<'a> {
    /// An opened target.
    pub fn new(
        (settings, load): (&'a BenchmarkSettings, &'a LoadSource),
        (kind, interval, pid): (TargetKind, Option<&'a str>, Option<i32>),
        (target, changed): (Option<Target>, Changed),
        progress: &'a dyn Progress,
        interrupted: &'a AtomicBool,
    ) -> TargetRunner<'a> {
        let run = settings.length + settings.warmup.unwrap_or(settings.length / 5);
        TargetRunner {
            settings,
            load,
            interval,
            pid,
            kind,
            setup: target.map_or(Setup::Empty, Setup::Bare),
            changed,
            restarts: false,
            saturation_per_s: None,
            heading: String::new(),
            deadline: None,
            run_cost: run + CHANGE_COST,
            progress,
            interrupted,
            notes: Vec::new(),
        }
    }

    /// Loads the data, and measures the saturation where the load is a part of it.
    ///
    /// # Errors
    /// What the target or the command says.
    pub fn prepare(&mut self) -> Result<(), Error> {
        match self.load {
            LoadSource::Workload => {
                if let Err(Failure::Refused(why)) = self.apply(&[]) {
                    return Err(Error::Setting(why));
                }
                self.connect()?;
                if let (Setup::Set(testbed), Some(_)) = (&mut self.setup, self.settings.load()) {
                    let mut watcher = Watcher::new(self.progress);
                    let found =
                        watcher.saturation_per_s(testbed, self.settings, self.interrupted)?;
                    self.saturation_per_s = Some(found);
                }
                Ok(())
            }
            LoadSource::Command { prepare, run } => {
                let variables = self.target()?.environment();
                if let Some(prepare) = prepare {
                    self.progress.step("preparing");
                    command::run(prepare, &variables, self.interrupted)?;
                }
                // Nothing else says how long it takes, and what comes first is slower than the rest.
                self.progress.step("warming up");
                let begun = Instant::now();
                command::run(run, &variables, self.interrupted)?;
                self.run_cost = begun.elapsed() + CHANGE_COST;
                Ok(())
            }
        }
    }

    /// From now on the budget runs.
    pub fn begin(&mut self, budget: Duration) {
        self.deadline = Some(Instant::now() + budget);
    }

    /// The target, on whatever setup.
    ///
    /// # Errors
    /// It could not be opened again.
    pub fn target(&mut self) -> Result<&mut Target, Error> {
        let target = self.setup.target();
        target.ok_or_else(|| Error::Setting(NOT_OPEN.to_owned()))
    }

    /// The server; none where the target is the store.
    pub fn server(&mut self) -> Option<&mut Server> {
        match &mut self.changed {
            Changed::Server(server) => Some(server),
            Changed::Store { .. } => None,
        }
    }

    /// Sees to it that exactly these settings hold beyond what was found.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn apply(&mut self, settings: &[NameAndValue]) -> Result<(), Failure> {
        let fresh = self.restarts;
        match &mut self.changed {
            Changed::Store { data } => {
                // Closed before it is opened again.
                self.setup = Setup::Empty;
                let opened = opened(self.settings, settings, data)?;
                let set = set(&opened, self.progress, self.interrupted);
                let testbed = set.map_err(|error| match error {
                    evenkeel_drive::Error::Setting(why) | evenkeel_drive::Error::Store(why)
                        if !settings.is_empty() =>
                    {
                        Failure::Refused(why)
                    }
                    error => Failure::Broken(error.into()),
                })?;
                self.setup = Setup::Set(testbed);
                Ok(())
            }
            Changed::Server(server) => {
                if server.restarts(settings) || fresh {
                    self.setup = match std::mem::replace(&mut self.setup, Setup::Empty) {
                        Setup::Set(testbed) => Setup::Bare(testbed.into_target()),
                        other => other,
                    };
                }
                let target = self.setup.target();
                let target = target.ok_or_else(|| Error::Setting(NOT_OPEN.to_owned()))?;
                server.apply(target, settings, fresh, self.interrupted)
            }
        }
    }

    /// Puts back what was changed.
    ///
    /// # Errors
    /// See [`Server::restore`].
    pub fn restore(&mut self) -> Result<(), Error> {
        let Changed::Server(server) = &mut self.changed else {
            return Ok(());
        };
        self.progress.heading("");
        self.progress.step("putting settings back");
        match self.setup.target() {
            Some(target) => server.restore(target),
            None => Err(server.not_restored(NOT_OPEN.to_owned())),
        }
    }

    /// Checks the workload's data; what is wrong.
    ///
    /// # Errors
    /// What the target says.
    pub fn check(&mut self) -> Result<Vec<String>, Error> {
        match &mut self.setup {
            Setup::Set(testbed) if self.settings.check => {
                self.progress.step("checking the data");
                match testbed.check()? {
                    evenkeel_drive::report::Consistency::Checked(wrong) => Ok(wrong),
                    evenkeel_drive::report::Consistency::Unchecked => Ok(Vec::new()),
                }
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Connects the clients of a workload, if they are not connected.
    fn connect(&mut self) -> Result<(), Error> {
        let is_command = matches!(self.load, LoadSource::Command { .. });
        if is_command || !matches!(self.setup, Setup::Bare(_)) {
            return Ok(());
        }
        let workload = self.settings.workload()?;
        let options = self.settings.testbed();
        let (interrupted, progress) = (self.interrupted, self.progress);
        let mut connected = Ok(());
        self.setup = match std::mem::replace(&mut self.setup, Setup::Empty) {
            Setup::Bare(target) => {
                match Testbed::set(target, workload, &options, interrupted, progress) {
                    Ok(testbed) => Setup::Set(testbed),
                    Err(NotSet { target, error }) => {
                        connected = Err(error.into());
                        Setup::Bare(target)
                    }
                }
            }
            other => other,
        };
        connected
    }

    /// A run with the present settings; `None` where the user interrupted it.
    fn run_now(&mut self, round: u32) -> Result<Option<Run>, Error> {
        self.connect()?;
        if let LoadSource::Command { run, .. } = self.load {
            let variables = self.target()?.environment();
            let (watched, interrupted) = (self.watched()?, self.interrupted);
            let ((begun, whole), profile) = watched.during(Probing::Intervals, || {
                let begun = Instant::now();
                Ok((begun, command::run(run, &variables, interrupted)?))
            })?;
            return Ok(whole.then(|| run_of(&profile, begun)));
        }
        self.workload_run(self.settings, round)
    }

    /// A run of the workload. It is repeated if nothing was completed, as in a short run on a busy machine.
    fn workload_run(
        &mut self,
        settings: &BenchmarkSettings,
        round: u32,
    ) -> Result<Option<Run>, Error> {
        let Setup::Set(testbed) = &mut self.setup else {
            return Err(Error::Setting(NOT_OPEN.to_owned()));
        };
        let load = RoundLoad {
            saturation_per_s: self.saturation_per_s,
            open_rate_per_s: None,
        };
        for _ in 0..ATTEMPTS {
            let mut watcher = Watcher::new(self.progress);
            let report = measure(
                settings,
                testbed,
                round,
                load,
                &mut watcher,
                self.interrupted,
            )?;
            if report.interrupted || self.interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(run) = Run::of(&report) {
                return Ok(Some(run));
            }
        }
        Err(Error::Setting(format!(
            "no transaction was completed in {ATTEMPTS} runs; give a longer --for"
        )))
    }

    fn watched(&mut self) -> Result<Watched, Error> {
        let (kind, given) = (self.kind, self.pid);
        let pid = match given {
            Some(pid) => pid,
            None => pid_of(self.target()?, kind).map_err(|why| {
                Error::Profile(format!(
                    "{why}; give --pid where the server runs on this machine"
                ))
            })?,
        };
        Ok(Watched {
            pid,
            interval: self.interval.map(str::to_owned),
            kind,
        })
    }

    /// Profiles one run with what is set now, of a workload so long at least; none where the user interrupted it.
    ///
    /// # Errors
    /// [`Error::Profile`] where that is not possible here, or what the load says.
    pub fn profile(&mut self, length: Duration) -> Result<Option<Profile>, Error> {
        if self.kind == TargetKind::Store {
            return Err(Error::Profile(
                "the embedded store is a part of evenkeel itself; see it with: evenkeel profile --interval \
                 evenkeel_bench_transaction -- evenkeel bench .."
                    .to_owned(),
            ));
        }
        self.progress.heading("profiling: ");
        let watched = self.watched()?;
        self.connect()?;
        let (whole, profile) = match self.load {
            LoadSource::Command { run, .. } => {
                let variables = self.target()?.environment();
                let interrupted = self.interrupted;
                watched.during(Probing::Refined, || {
                    command::run(run, &variables, interrupted)
                })?
            }
            LoadSource::Workload => {
                let mut settings = self.settings.clone();
                settings.length = settings.length.max(length);
                let run = || self.workload_run(&settings, 0);
                let (run, profile) = watched.during(Probing::Refined, run)?;
                (run.is_some(), profile)
            }
        };
        Ok(whole.then_some(profile))
    }

    /// Time that the budget has left.
    fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(Duration::ZERO, left)
    }
}

/// The settings with which the store is opened, and where its data of that layout is.
fn opened(
    base: &BenchmarkSettings,
    settings: &[NameAndValue],
    data: &mut BTreeMap<String, tempfile::TempDir>,
) -> Result<BenchmarkSettings, Error> {
    let mut opened = base.clone();
    let is_layout = |name: &str| {
        let mut knobs = TargetKind::Store.knobs().knobs.iter();
        knobs.any(|knob| knob.name == name && knob.needs == Needs::NewData)
    };
    let layout = settings.iter().filter(|(name, _)| is_layout(name));
    let layout: Vec<String> = layout
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for (name, value) in settings {
        if name == "schedule" {
            opened.schedule = Some(value.clone());
        } else {
            opened.target_settings.push((name.clone(), value.clone()));
        }
    }
    if layout.is_empty() && base.data.is_some() {
        return Ok(opened);
    }
    let key = layout.join(" ");
    if !data.contains_key(&key) {
        let made = tempfile::Builder::new().prefix("evenkeel-tune-").tempdir();
        let made = made.during(|| "make a temporary directory".to_owned())?;
        data.insert(key.clone(), made);
    }
    opened.data = data
        .get(&key)
        .map(|made| -> PathBuf { made.path().join("store") });
    if let Some(path) = &opened.data {
        std::fs::create_dir_all(path).during(|| format!("make {}", path.display()))?;
    }
    Ok(opened)
}

impl Runner for TargetRunner<'_> {
    type Error = Error;

    fn runs_left(&self) -> usize {
        (self.left().as_secs_f64() / self.run_cost.as_secs_f64().max(1e-3)) as usize
    }

    fn round(&mut self, arms: &[Arm<'_>], of: &str) {
        let restarts = |arm: &Arm<'_>| match (arm, &self.changed) {
            (Arm::Of(candidate), Changed::Server(server)) => {
                !server.restarting(&candidate.settings).is_empty()
            }
            _ => false,
        };
        self.restarts = arms.iter().any(restarts);
        self.heading = of.to_owned();
    }

    fn run(&mut self, arm: Arm<'_>, round: u32) -> Result<Outcome, Error> {
        let (name, settings): (String, &[NameAndValue]) = match arm {
            Arm::Baseline => ("as it is".to_owned(), &[]),
            Arm::Again => ("as it is (again)".to_owned(), &[]),
            Arm::Of(candidate) => (candidate.name(), &candidate.settings),
        };
        let left_s = self.left().as_secs();
        self.progress.heading(&format!(
            "{}:{:02} left, {}, {name}: ",
            left_s / 60,
            left_s % 60,
            self.heading
        ));
        if self.interrupted.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        let begun = Instant::now();
        match self.apply(settings) {
            Ok(()) => {}
            // The server had these settings: there is nothing else to go back to.
            Err(Failure::Refused(why)) if settings.is_empty() => return Err(Error::Setting(why)),
            Err(Failure::Refused(why)) => return Ok(Outcome::Refused(why)),
            Err(Failure::Broken(_)) if self.interrupted.load(Ordering::Relaxed) => {
                return Ok(Outcome::Interrupted);
            }
            Err(Failure::Broken(error)) => return Err(error),
        }
        let run = match self.run_now(round) {
            Err(_) if self.interrupted.load(Ordering::Relaxed) => None,
            run => run?,
        };
        // Half of it the latest: a cost that changes is followed.
        self.run_cost = (self.run_cost + begun.elapsed()) / 2;
        Ok(run.map_or(Outcome::Interrupted, Outcome::Measured))
    }
}

#[cfg(test)]
mod tests;
