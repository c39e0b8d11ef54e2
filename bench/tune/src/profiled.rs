//! The profiler on a server while its load runs: the findings before and after, and, if the load is a user's command,
//! the latency of intervals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Instant;

use evenkeel_analysis::profile::{Profile, SamplingRule};
use evenkeel_drive::target::Target;
use evenkeel_intervals::presets::Preset;
use evenkeel_report::advice;
use evenkeel_session::profile::{IntervalSelector, Planting};
use evenkeel_session::refine::Limits;
use evenkeel_session::{Event, Observer, Settings, Subject};
use serde::Serialize;

use crate::error::Error;
use crate::knobs::TargetKind;
use crate::objective::{Run, third_norm};

/// Findings that a result shows.
const SHOWN: usize = 5;

/// A finding, as far as a result shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Blame {
    /// `LWLockAcquireOrWait called by XLogFlush`.
    pub headline: String,
    /// Cov(x, L) / Var(L), x being its time.
    pub share: f64,
    /// Standard error of the share.
    pub se: f64,
    /// Mean time an interval.
    pub mean_ns: f64,
    /// Its name in the server's terms, where that is known.
    pub means: Option<String>,
}

/// Findings of a profile.
#[derive(Clone, Debug, Serialize)]
pub struct Blamed {
    /// The interval that was profiled.
    pub interval: String,
    /// Number of intervals.
    pub intervals: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their standard deviation.
    pub sd_ns: f64,
    /// Findings, the largest first.
    pub findings: Vec<Blame>,
    /// Settings that the findings point at, those of the largest first.
    pub points_at: Vec<String>,
}

impl Blamed {
    /// The findings of this profile.
    pub fn of(mut profile: Profile) -> Blamed {
        let points_at = advice::knobs(&profile)
            .into_iter()
            .map(str::to_owned)
            .collect();
        advice::add(&mut profile);
        let findings = profile.findings.iter().take(SHOWN).map(|finding| Blame {
            headline: finding.headline.clone(),
            share: finding.share,
            se: finding.se,
            mean_ns: finding.mean_ns,
            means: finding.means.clone(),
        });
        Blamed {
            interval: profile.interval.clone(),
            intervals: profile.intervals,
            mean_ns: profile.mean_ns,
            sd_ns: profile.sd_ns,
            findings: findings.collect(),
            points_at,
        }
    }
}

/// The way of finding intervals.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The server's process, the first where it has several.
    pub pid: i32,
    /// An interval of the server's preset, or one as `evenkeel attach` takes it; the preset's first without it.
    pub interval: Option<String>,
    /// The server.
    pub kind: TargetKind,
}

/// The parts of intervals to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probing {
    /// They alone.
    Intervals,
    /// Functions are opened until the variance is explained, within a budget.
    Refined,
    /// This many call sites below them, to measure their cost.
    Planted(usize),
}

impl Watched {
    /// The interval.
    ///
    /// # Errors
    /// [`Error::Setting`] if it cannot be read.
    pub fn selector(&self) -> Result<IntervalSelector, Error> {
        let wrong = |error: evenkeel_intervals::Error| Error::Setting(error.to_string());
        let preset = match self.kind {
            TargetKind::Postgres => "postgres",
            _ => "mariadb",
        };
        let preset = Preset::named(preset).map_err(wrong)?;
        match (
            preset.interval(self.interval.as_deref()),
            self.interval.as_deref(),
        ) {
            (None, Some(text)) => Ok(IntervalSelector::Spec(text.parse().map_err(wrong)?)),
            (known, _) => {
                let known = known.unwrap_or(&preset.intervals[0]);
                Ok(IntervalSelector::Preset(preset, known))
            }
        }
    }

    /// Profiles while `load` runs, which begins when all processes that the server has are attached to.
    ///
    /// # Errors
    /// That of `load`, or [`Error::Profile`].
    pub fn during<T>(
        &self,
        probing: Probing,
        load: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Profile), Error> {
        let selector = self.selector()?;
        let settings = Settings {
            subject: Subject::Process(self.pid),
            waits: selector.is_keyed(),
            selector,
            duration: None,
            keep: true,
            stop_signal: 15,
            pause_max: None,
            planting: match probing {
                Probing::Intervals => Planting::First(0),
                Probing::Refined => Planting::Refine,
                Probing::Planted(sites) => Planting::First(sites),
            },
            limits: Limits {
                probes_max: 200,
                overhead_max: match probing {
                    Probing::Intervals | Probing::Refined => 0.03,
                    Probing::Planted(_) => 1.0,
                },
                threshold: 0.01,
                specificity: 2,
                opened_at_once: 5,
            },
            sampling: SamplingRule::Latency,
            slowest: 0,
            named: Vec::new(),
            k: 10,
            recording: None,
            options: String::new(),
            summary: None,
        };
        let done = Arc::new(AtomicBool::new(false));
        let (attached, is_attached) = mpsc::channel();
        std::thread::scope(|scope| {
            let profiling = {
                let (done, settings) = (done.clone(), &settings);
                let mut observer = Attaching(Some(attached));
                scope.spawn(move || evenkeel_session::profile(settings, &done, &mut observer))
            };
            // It fails if the session has ended, which says why.
            let _ = is_attached.recv();
            let loaded = load();
            done.store(true, Ordering::Relaxed);
            let profiled = profiling
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let loaded = loaded?;
            let outcome = profiled.map_err(|error| Error::Profile(error.to_string()))?;
            Ok((loaded, outcome.profile))
        })
    }
}

/// Says once that the session has attached to what there was. Nothing is shown: the load's course is.
struct Attaching(Option<Sender<()>>);

impl Observer for Attaching {
    fn event(&mut self, event: &Event<'_>) {
        // The first tick comes after the first look for processes.
        if let Event::Tick { .. } = event
            && let Some(attached) = self.0.take()
        {
            let _ = attached.send(());
        }
    }
}

/// The profile's values for a run that began at this time.
pub(crate) fn run_of(profile: &Profile, begun: Instant) -> Run {
    let percentile = |name: &str| profile.percentiles_ns.get(name).copied().unwrap_or(0.0);
    let middle = |from: f64, to: f64| {
        if to.is_finite() {
            (from * to).max(0.0).sqrt()
        } else {
            from
        }
    };
    let bins = profile.histogram.iter();
    Run {
        throughput_per_s: profile.intervals_seen as f64 / begun.elapsed().as_secs_f64().max(1e-9),
        mean_ns: profile.mean_ns,
        variance_ns2: profile.variance_ns2,
        p99_ns: percentile("p99"),
        p999_ns: percentile("p999"),
        l3_ns: third_norm(bins.map(|bin| (middle(bin.from_ns, bin.to_ns), bin.count))),
        unserved: 0.0,
        queue_grows: false,
    }
}

/// The first process of a server that runs on this machine, asked of the server itself and checked by its program's name.
///
/// # Errors
/// Why it cannot be known, in words.
pub fn pid_of(target: &mut Target, kind: TargetKind) -> Result<i32, String> {
    if let Some(server) = target.server() {
        let pid = server.pid().ok_or("the server does not run")?;
        return i32::try_from(pid).map_err(|error| error.to_string());
    }
    let (sql, programs): (_, &[&str]) = match kind {
        TargetKind::Postgres => (
            "SELECT split_part(pg_read_file(current_setting('data_directory') || '/postmaster.pid'), chr(10), 1)",
            &["postgres", "postmaster"],
        ),
        _ => (
            "SELECT LOAD_FILE(            pid_file)",
            &["mariadbd", "mysqld"],
        ),
    };
    let rows = target.rows(sql).map_err(|error| error.to_string())?;
    let text = rows
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .unwrap_or_default();
    let pid: i32 = text
        .trim()
        .parse()
        .map_err(|_| "the server does not report its process")?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if programs.contains(&name.trim()) {
        return Ok(pid);
    }
    Err(format!(
        "process {pid}, which the server says is its own, is no {} of this machine",
        programs[0]
    ))
}

/// Names of knobs in the order in which findings point at them, then the rest as they were.
pub fn ordered<'k>(names: &[&'k str], points_at: &[String]) -> Vec<&'k str> {
    let place: BTreeMap<&str, usize> = points_at
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), at))
        .collect();
    let mut ordered = names.to_vec();
    ordered.sort_by_key(|name| place.get(name).copied().unwrap_or(usize::MAX));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_that_findings_point_to_come_first() {
        let points_at = ["c".to_owned(), "x".to_owned(), "b".to_owned()];
        assert_eq!(
            ordered(&["a", "b", "c", "d"], &points_at),
            ["c", "b", "a", "d"]
        );
    }

    #[test]
    fn knobs_that_advice_points_to_can_be_tried() {
        for (server, kind) in [
            ("PostgreSQL", TargetKind::Postgres),
            ("MariaDB", TargetKind::MariaDb),
        ] {
            let known = advice::servers()
                .iter()
                .find(|known| known.server == server)
                .expect(server);
            let pointed: Vec<String> = known
                .patterns
                .iter()
                .flat_map(|pattern| pattern.knobs.clone())
                .collect();
            assert!(pointed.len() >= 8, "{server}");
            kind.knobs().chosen(&pointed).expect("every one is a knob");
        }
    }
}
