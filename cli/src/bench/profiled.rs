//! A profile of the server under load, of the time in which the load is measured.

use std::path::{Path, PathBuf};

use clap::Args;
use evenkeel_analysis::profile::Profile;
use evenkeel_drive::target::Target;
use evenkeel_drive::{BenchmarkSettings, Beside, Error};
use evenkeel_report::{advice, json};
use evenkeel_tune::kind_of;
use evenkeel_tune::knobs::TargetKind;
use evenkeel_tune::profiled::{Probing, Watched, pid_of};

use crate::output::{self, Failure};

/// Options of profiling during a benchmark.
#[derive(Args, Clone, Debug)]
pub struct ProfileOptions {
    /// Attach the profiler to the server during the measurement, but not while data is loaded or during the warm-up,
    /// and write the profile as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    profile: Option<PathBuf>,
    /// The interval that is profiled: one of the server's preset, or as `evenkeel attach` takes it [default: the preset's first]
    #[arg(
        long,
        value_name = "SPEC",
        requires = "profile",
        help_heading = "Output"
    )]
    interval: Option<String>,
}

impl ProfileOptions {
    /// Starts the profiler, if a profile was asked for.
    ///
    /// # Errors
    /// The target cannot be attached to, or the interval does not exist.
    pub fn beside(self, settings: &BenchmarkSettings) -> Result<Option<Profiled>, Failure> {
        let Some(path) = self.profile else {
            return Ok(None);
        };
        output::check(&path)?;
        let watched = watched(settings, self.interval, "--profile")?;
        watched.selector()?;
        Ok(Some(Profiled {
            path,
            watched,
            probing: Probing::Refined,
            profile: None,
        }))
    }
}

/// The server of these settings; its process is known once it is up.
fn watched(
    settings: &BenchmarkSettings,
    interval: Option<String>,
    option: &str,
) -> Result<Watched, Failure> {
    match kind_of(&settings.target) {
        Ok(kind @ (TargetKind::Postgres | TargetKind::MariaDb)) => Ok(Watched {
            pid: 0,
            interval,
            kind,
        }),
        Ok(TargetKind::Store) | Err(_) => Err(Failure::Usage(format!(
            "{option} attaches to a server, and {} is a part of this program; see it with: evenkeel profile --interval \
             evenkeel_bench_transaction -- evenkeel bench ..",
            settings.target
        ))),
    }
}

/// A profile of the server that is made during its load.
pub struct Profiled {
    path: PathBuf,
    /// The server's process, known once the server runs.
    watched: Watched,
    probing: Probing,
    profile: Option<Result<Profile, evenkeel_tune::Error>>,
}

impl Profiled {
    /// Writes the profile.
    ///
    /// # Errors
    /// No profile was made, or the file cannot be written.
    pub fn write(self) -> Result<(), Failure> {
        let Some(profile) = self.profile else {
            return Err(Failure::Usage(
                "the load did not run, so nothing was profiled".to_owned(),
            ));
        };
        let mut profile = profile?;
        advice::add(&mut profile);
        output::write(Path::new(&self.path), &json::profile(&profile))
    }
}

/// Call sites that are timed while a configuration of a comparison is measured. Their times are not kept.
pub struct Planted(Profiled);

impl Planted {
    /// On the server of these settings.
    ///
    /// # Errors
    /// It cannot be attached to.
    pub fn new(settings: &BenchmarkSettings, sites: usize) -> Result<Planted, Failure> {
        Ok(Planted(Profiled {
            path: PathBuf::new(),
            watched: watched(settings, None, "--plant")?,
            probing: Probing::Planted(sites),
            profile: None,
        }))
    }
}

impl Beside for Planted {
    fn prepare(&mut self, target: &mut Target) -> Result<(), Error> {
        // A configuration that was not profiled says nothing of what profiling costs.
        if let Some(Err(error)) = self.0.profile.take() {
            return Err(Error::Setting(error.to_string()));
        }
        self.0.prepare(target)
    }

    fn during(&mut self, load: &mut dyn FnMut()) {
        self.0.during(load);
    }
}

impl Beside for Profiled {
    fn prepare(&mut self, target: &mut Target) -> Result<(), Error> {
        let pid = pid_of(target, self.watched.kind);
        self.watched.pid = pid.map_err(|why| {
            Error::Setting(format!(
                "{why}: what is profiled is on this machine, best a private server (--target postgres or mariadb)"
            ))
        })?;
        Ok(())
    }

    fn during(&mut self, load: &mut dyn FnMut()) {
        let profiled = self.watched.during(self.probing, || {
            load();
            Ok(())
        });
        self.profile = Some(profiled.map(|((), profile)| profile));
    }
}
