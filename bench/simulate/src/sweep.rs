//! Many simulations, on all processors, with results in the order asked for.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_locks::ScheduleKind;

use crate::axis::{Axis, Parameter};
use crate::saturation::saturation;
use crate::{Arrivals, Config, Error, Outcome, Simulation, parallel};

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its settings.
    pub config: Config,
    /// Under which schedule.
    pub schedule: ScheduleKind,
    /// The parameter that varies and its value here.
    pub point: Option<(Parameter, f64)>,
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Number of finished probes of FIFO's saturation.
    Saturating {
        /// Done; how many there will be is not known before.
        probes: u64,
    },
    /// Number of simulated transactions.
    Simulating {
        /// Done.
        done: u64,
        /// All.
        total: u64,
    },
}

/// Notified how far things are, from any thread.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

/// Number of simulations of a case, and of threads.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Replications: seeds from the configuration's on.
    pub seeds: NonZeroU32,
    /// Threads; results do not depend on their number.
    pub threads: usize,
}

/// The cases of a sweep: for each value every schedule, for each schedule every seed, on the same draws.
///
/// # Errors
/// A value makes no sense, or FIFO's saturation, which loads are relative to, cannot be found.
pub fn cases(
    config: &Config,
    schedules: &[ScheduleKind],
    axis: Option<&Axis>,
    effort: Effort,
    progress: OnProgress<'_>,
) -> Result<Vec<Case>, Error> {
    let points: Vec<Option<(Parameter, f64)>> = match axis {
        Some(axis) => axis
            .values
            .iter()
            .map(|&value| Some((axis.parameter, value)))
            .collect(),
        None => vec![None],
    };
    let found = std::cell::Cell::new(None);
    // Loads alone vary when loads vary: one search serves them all.
    let fifo_saturation = |config: &Config| {
        if let Some(rate) = found.get() {
            return Ok(rate);
        }
        let rate = mean_saturation(config, effort, progress)?;
        found.set(Some(rate));
        Ok(rate)
    };
    let mut cases = Vec::new();
    for point in points {
        let mut config = config.clone();
        if let Some((parameter, value)) = point {
            parameter.set(&mut config, value, &fifo_saturation)?;
        }
        config.check()?;
        for &schedule in schedules {
            cases.extend(seeded(&config, effort).map(|config| Case {
                config,
                schedule,
                point,
            }));
        }
    }
    Ok(cases)
}

/// The configuration with each seed.
fn seeded(config: &Config, effort: Effort) -> impl Iterator<Item = Config> + '_ {
    (0..u64::from(effort.seeds.get())).map(|at| Config {
        seed: config.seed.wrapping_add(at),
        ..config.clone()
    })
}

/// FIFO's saturation in the mean over the seeds: with one it is off by several per cent.
fn mean_saturation(
    config: &Config,
    effort: Effort,
    progress: OnProgress<'_>,
) -> Result<f64, Error> {
    let probes = AtomicU64::new(0);
    let step = || {
        let probes = probes.fetch_add(1, Ordering::Relaxed) + 1;
        progress(Progress::Saturating { probes });
    };
    let configs: Vec<Config> = seeded(config, effort).collect();
    let rates = parallel::map(&configs, effort.threads, |config| {
        saturation(config, ScheduleKind::Fifo, &step)
    });
    let rates: Vec<f64> = rates.into_iter().collect::<Result<_, _>>()?;
    Ok(rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Simulates `cases` on up to `threads` threads. The outcomes are in the order of the cases and do not depend on the
/// number of threads.
///
/// # Errors
/// A setting makes no sense.
pub fn sweep(
    cases: &[Case],
    threads: usize,
    progress: OnProgress<'_>,
) -> Result<Vec<Outcome>, Error> {
    let total: u64 = cases.iter().map(|case| transactions(&case.config)).sum();
    let done = AtomicU64::new(0);
    let outcomes = parallel::map(cases, threads, |case| {
        simulate(case, &|commits| {
            let done = done.fetch_add(commits, Ordering::Relaxed) + commits;
            progress(Progress::Simulating {
                done: done.min(total),
                total,
            });
        })
    });
    outcomes.into_iter().collect()
}

fn simulate(case: &Case, advanced: &dyn Fn(u64)) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(&case.config, case.schedule)?;
    let mut reported = 0;
    simulation.run(&mut |commits| {
        advanced(commits - reported);
        reported = commits;
    });
    Ok(simulation.finish())
}

/// Transactions a simulation is going to commit.
fn transactions(config: &Config) -> u64 {
    let around = if matches!(config.arrivals, Arrivals::Closed { .. }) {
        1
    } else {
        2
    };
    config.transactions + around * config.warmup
}
