//! Many simulations, on all processors, with results in the order asked for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use evenkeel_locks::ScheduleKind;

use crate::axis::{Axis, Parameter};
use crate::saturation::saturation;
use crate::{Arrivals, Config, Error, Outcome, Simulation};

/// One simulation to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is simulated.
    pub config: Config,
    /// Under which schedule.
    pub schedule: ScheduleKind,
    /// The parameter that varies and its value here.
    pub point: Option<(Parameter, f64)>,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// So many probes of FIFO's saturation are done.
    Saturating {
        /// Done; how many there will be is not known before.
        probes: u64,
    },
    /// So many transactions of all are simulated.
    Simulating {
        /// Done.
        done: u64,
        /// All.
        total: u64,
    },
}

/// Told how far things are, from any thread.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

/// The cases of a sweep: for each value every schedule, on the same draws.
///
/// # Errors
/// A value makes no sense, or FIFO's saturation, which loads are relative to, cannot be found.
pub fn cases(
    config: &Config,
    schedules: &[ScheduleKind],
    axis: Option<&Axis>,
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
        let probes = AtomicU64::new(0);
        let step = || {
            let probes = probes.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress::Saturating { probes });
        };
        let rate = saturation(config, ScheduleKind::Fifo, &step)?;
        found.set(Some(rate));
        Ok(rate)
    };
    let mut cases = Vec::with_capacity(points.len() * schedules.len());
    for point in points {
        let mut config = config.clone();
        if let Some((parameter, value)) = point {
            parameter.set(&mut config, value, &fifo_saturation)?;
        }
        config.check()?;
        cases.extend(schedules.iter().map(|&schedule| Case {
            config: config.clone(),
            schedule,
            point,
        }));
    }
    Ok(cases)
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
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let outcomes: Mutex<Vec<Option<Result<Outcome, Error>>>> =
        Mutex::new(cases.iter().map(|_| None).collect());
    let work = || {
        while let Some((at, case)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            cases.get(at).map(|case| (at, case))
        } {
            let outcome = simulate(case, &|commits| {
                let done = done.fetch_add(commits, Ordering::Relaxed) + commits;
                progress(Progress::Simulating {
                    done: done.min(total),
                    total,
                });
            });
            outcomes.lock().expect("no panic with the lock held")[at] = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, cases.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let outcomes = outcomes.into_inner().expect("no panic with the lock held");
    outcomes
        .into_iter()
        .map(|outcome| outcome.expect("every case was simulated"))
        .collect()
}

fn simulate(case: &Case, advanced: &dyn Fn(u64)) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(&case.config, case.schedule)?;
    let mut told = 0;
    simulation.run(&mut |commits| {
        advanced(commits - told);
        told = commits;
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
