//! One benchmark, from the target's start to the check of its data.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Error;
use crate::metrics::Metrics;
use crate::progress::Progress;
use crate::raw::RawFile;
use crate::report::{Consistency, Report};
use crate::run::{Measured, Observer, Plan};
use crate::sample::Sample;
use crate::settings::BenchmarkSettings;
use crate::target::Target;
use crate::target::address::Address;
use crate::testbed::Testbed;
use crate::window::Window;

/// Recordings in addition to the statistics.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Age and remaining time of transactions at each lock that they waited for; embedded store only.
    pub grants: bool,
    /// Every latency, in this CSV file.
    pub raw: Option<PathBuf>,
}

/// An activity during the measured load, such as a profile of the server. It runs neither while data is loaded nor in
/// the warm-up.
pub trait Beside {
    /// The target is up, with its data, and its clients are connected.
    ///
    /// # Errors
    /// It cannot run on this target.
    fn prepare(&mut self, target: &mut Target) -> Result<(), Error>;
    /// Begins, has the load run to its end once, and ends.
    fn during(&mut self, load: &mut dyn FnMut());
}

/// Runs `load` together with `beside`; returns the result of `load`.
pub(crate) fn run_beside<T>(beside: &mut dyn Beside, load: impl FnOnce() -> T) -> T {
    let (mut load, mut result) = (Some(load), None);
    beside.during(&mut || result = load.take().map(|load| load()));
    result.expect("the load is run once")
}

/// Makes a benchmark. `interrupted` ends it with what was measured until then.
///
/// # Errors
/// Settings make no sense, the target cannot be used or is lost, or the file of latencies cannot be written.
pub fn benchmark(
    settings: &BenchmarkSettings,
    recorded: &Recorded,
    beside: Option<&mut dyn Beside>,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Report, Error> {
    let workload = settings.workload()?;
    let types: Vec<&'static str> = workload
        .transactions()
        .iter()
        .map(|kind| kind.name)
        .collect();
    if recorded.grants && settings.target != Address::Embedded {
        return Err(Error::Setting(
            "--grants is for --target embedded: a server does not say when it grants a lock"
                .to_owned(),
        ));
    }
    // Better known before the run than after it.
    let raw = recorded
        .raw
        .as_deref()
        .map(|path| RawFile::create(path, &types))
        .transpose()?;
    let mut testbed = set(settings, progress, interrupted)?;
    let mut watcher = Watcher::new(progress);
    let saturation_per_s = match settings.load() {
        Some(_) => Some(watcher.saturation_per_s(&mut testbed, settings, interrupted)?),
        None => None,
    };
    let plan = settings.plan(saturation_per_s);
    let grants = recorded.grants.then(|| testbed.observe_grants()).flatten();
    let measured = measured(&mut testbed, &plan, beside, raw, interrupted, &mut watcher)?;
    let consistency = if settings.check {
        progress.step("checking the data");
        testbed.check()?
    } else {
        Consistency::Unchecked
    };
    let config = settings.config(testbed.workload(), &plan, saturation_per_s);
    let mut report = Report::new(
        testbed.workload().name(),
        testbed.target(),
        config,
        &types,
        &measured,
        consistency,
    );
    report.grants = grants.map(|grants| grants.report(&types));
    Ok(report)
}

/// Makes the run of a plan, with the activity `beside` it, and writes its latencies to `raw`.
fn measured(
    testbed: &mut Testbed,
    plan: &Plan,
    beside: Option<&mut dyn Beside>,
    raw: Option<RawFile>,
    interrupted: &AtomicBool,
    watcher: &mut Watcher<'_>,
) -> Result<Measured, Error> {
    let measured = match beside {
        // It would see the warm-up as well, so that is a separate run.
        Some(beside) => {
            let plan_after = Plan {
                warmup: Duration::ZERO,
                ..*plan
            };
            let window = Window::after(plan_after.warmup, plan.length);
            beside.prepare(testbed.on())?;
            warm_up(testbed, plan, interrupted, watcher)?;
            watcher.raw = raw.map(|file| (file, window));
            run_beside(beside, || testbed.run(&plan_after, interrupted, watcher))?
        }
        None => {
            let window = Window::after(plan.warmup, plan.length);
            watcher.raw = raw.map(|file| (file, window));
            testbed.run(plan, interrupted, watcher)?
        }
    };
    let raw = watcher.raw.take();
    raw.map_or(Ok(()), |(file, _)| file.finish())?;
    Ok(measured)
}

/// The warm-up of a plan as a separate run, whose results are dropped.
fn warm_up(
    testbed: &mut Testbed,
    plan: &Plan,
    interrupted: &AtomicBool,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    if plan.warmup.is_zero() {
        return Ok(());
    }
    let warming = Plan {
        warmup: Duration::ZERO,
        length: plan.warmup,
        ..*plan
    };
    testbed.run(&warming, interrupted, watcher).map(drop)
}

/// A testbed as the settings ask for it.
///
/// # Errors
/// Settings make no sense, or the target cannot be used.
pub fn set(
    settings: &BenchmarkSettings,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Testbed, Error> {
    let workload = settings.workload()?;
    progress.step("starting");
    let target = settings.open_target()?;
    let partitions = workload.partitions();
    progress.loading(partitions.iter().map(|partition| partition.rows).sum());
    Ok(Testbed::set(
        target,
        workload,
        &settings.testbed(),
        interrupted,
        progress,
    )?)
}

/// Reports the course of a run and keeps raw latencies, if they are wanted.
pub struct Watcher<'a> {
    progress: &'a dyn Progress,
    saturating: bool,
    /// The file for raw latencies and the window they are related to.
    raw: Option<(RawFile, Window)>,
}

impl<'a> Watcher<'a> {
    /// Which keeps nothing.
    pub fn new(progress: &'a dyn Progress) -> Watcher<'a> {
        Watcher {
            progress,
            saturating: false,
            raw: None,
        }
    }

    /// The saturation of a testbed.
    ///
    /// # Errors
    /// See [`Testbed::saturation_per_s`].
    pub fn saturation_per_s(
        &mut self,
        testbed: &mut Testbed,
        settings: &BenchmarkSettings,
        interrupted: &AtomicBool,
    ) -> Result<f64, Error> {
        self.saturating = true;
        let saturation = testbed.saturation_per_s(&settings.plan(None), interrupted, self);
        self.saturating = false;
        saturation
    }
}

impl Observer for Watcher<'_> {
    fn samples(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.raw
            .as_mut()
            .map_or(Ok(()), |(file, window)| file.write(*window, samples))
    }

    fn slice(&mut self, metrics: &Metrics) {
        if let Some(slice) = metrics.slices.last() {
            self.progress
                .running(slice, metrics.window(), self.saturating);
        }
    }
}
