//! One benchmark, from the target's start to the check of its data.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::Error;
use crate::accounts::{Accounts, Window};
use crate::progress::Progress;
use crate::raw::RawFile;
use crate::report::{Consistency, Report};
use crate::run::Observer;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::stage::Stage;
use crate::target::address::Address;

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
    let mut stage = set(settings, progress, interrupted)?;
    let mut watcher = Watcher::new(progress);
    let saturation_per_s = match settings.load() {
        Some(_) => Some(watcher.saturation_per_s(&mut stage, settings, interrupted)?),
        None => None,
    };
    let plan = settings.plan(saturation_per_s);
    watcher.raw = raw.map(|file| (file, Window::after(plan.warmup, plan.length)));
    let grants = recorded.grants.then(|| stage.observe_grants()).flatten();
    let measured = stage.run(&plan, interrupted, &mut watcher)?;
    watcher.raw.map_or(Ok(()), |(file, _)| file.finish())?;
    let consistency = if settings.check {
        progress.step("checking the data");
        stage.check()?
    } else {
        Consistency::Unchecked
    };
    let config = settings.config(stage.workload(), &plan, saturation_per_s);
    let mut report = Report::new(
        stage.workload().name(),
        stage.target(),
        config,
        &types,
        &measured,
        consistency,
    );
    report.grants = grants.map(|grants| grants.report(&types));
    Ok(report)
}

/// A stage as the settings ask for it.
pub(crate) fn set(
    settings: &Settings,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Stage, Error> {
    let workload = settings.workload()?;
    progress.step("starting");
    let target = settings.open_target()?;
    let partitions = workload.partitions();
    progress.loading(partitions.iter().map(|partition| partition.rows).sum());
    Stage::set(target, workload, &settings.setting(), interrupted, progress)
}

/// Reports the course of a run and keeps raw latencies, if they are wanted.
pub(crate) struct Watcher<'a> {
    progress: &'a dyn Progress,
    saturating: bool,
    /// The file for raw latencies and the window they are related to.
    raw: Option<(RawFile, Window)>,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(progress: &'a dyn Progress) -> Watcher<'a> {
        Watcher {
            progress,
            saturating: false,
            raw: None,
        }
    }

    /// The saturation of a stage.
    pub(crate) fn saturation_per_s(
        &mut self,
        stage: &mut Stage,
        settings: &Settings,
        interrupted: &AtomicBool,
    ) -> Result<f64, Error> {
        self.saturating = true;
        let saturation = stage.saturation_per_s(&settings.plan(None), interrupted, self);
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

    fn slice(&mut self, accounts: &Accounts) {
        if let Some(slice) = accounts.slices.last() {
            self.progress
                .running(slice, accounts.window(), self.saturating);
        }
    }
}
