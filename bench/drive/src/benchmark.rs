//! One benchmark, from the target's start to the check of its data.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::Error;
use crate::metrics::{Metrics, Window};
use crate::progress::Progress;
use crate::raw::RawFile;
use crate::report::{Consistency, Report};
use crate::run::Observer;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::target::address::Address;
use crate::testbed::Testbed;

/// What is recorded beside the statistics.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Age and remaining time of transactions at each lock that they waited for; embedded store only.
    pub grants: bool,
    /// Every latency, in this CSV file.
    pub raw: Option<PathBuf>,
}

/// Makes a benchmark. `interrupted` ends it with what was measured until then.
///
/// # Errors
/// Settings make no sense, the target cannot be used or is lost, or the file of latencies cannot be written.
pub fn benchmark(
    settings: &Settings,
    recorded: &Recorded,
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
    watcher.raw = raw.map(|file| (file, Window::after(plan.warmup, plan.length)));
    let grants = recorded.grants.then(|| testbed.observe_grants()).flatten();
    let measured = testbed.run(&plan, interrupted, &mut watcher)?;
    watcher.raw.map_or(Ok(()), |(file, _)| file.finish())?;
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

/// A testbed as the settings ask for it.
///
/// # Errors
/// Settings make no sense, or the target cannot be used.
pub fn set(
    settings: &Settings,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Testbed, Error> {
    let workload = settings.workload()?;
    progress.step("starting");
    let target = settings.open_target()?;
    let partitions = workload.partitions();
    progress.loading(partitions.iter().map(|partition| partition.rows).sum());
    Testbed::set(target, workload, &settings.setting(), interrupted, progress)
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
    #[must_use]
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
        settings: &Settings,
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
