//! Experiments on the simulator: deterministic, so an interval is over seeds.

pub mod delay_factor;
pub mod exclusive;
pub mod hybrid;
pub mod latency;
pub mod size_error;
pub mod skew;
pub mod throughput;
pub mod waiters;

use std::num::NonZeroU32;

use evenkeel_locks::ScheduleKind;
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::estimate::Ratio;
use evenkeel_simulate::matched::at_throughput_of;
use evenkeel_simulate::sweep::Progress;
use evenkeel_simulate::workload::LockOrder;
use evenkeel_simulate::{Arrivals, Case, Config, Effort, Outcome, Replicated, cases, sweep};

use crate::Error;
use crate::experiment::{Context, Figure, Series};
use crate::verdict::Claim;

/// Milliseconds of virtual time.
const MS: f64 = 1e6;

/// The simulations: each schedule at each point of the axis, with all seeds.
pub(crate) struct Simulated {
    seeds: usize,
    cases: Vec<Case>,
    outcomes: Vec<Outcome>,
}

/// The microbenchmark of section 4.6.1 with its five records in random order, so that deadlocks are possible, or in one order for all.
pub(crate) fn micro(order: LockOrder) -> Config {
    let mut config = Config::micro();
    if let Ok(drawn) = config.drawn_mut() {
        drawn.order = order;
    }
    config
}

impl Simulated {
    /// Every schedule with the `config` of each point.
    pub(crate) fn each(
        context: &Context,
        config: &Config,
        schedules: &[ScheduleKind],
        axis: &str,
    ) -> Result<Simulated, Error> {
        let (config, axis, effort) = prepared(context, config, axis)?;
        let share = progress(context);
        let cases = cases(&config, schedules, Some(&axis), effort, &share)?;
        let outcomes = sweep(&cases, effort.threads, &share)?;
        Ok(Simulated {
            seeds: effort.seeds.get() as usize,
            cases,
            outcomes,
        })
    }

    /// FIFO in a closed loop, the others at its throughput.
    pub(crate) fn at_fifos_throughput(
        context: &Context,
        config: &Config,
        schedules: &[ScheduleKind],
        axis: &str,
    ) -> Result<Simulated, Error> {
        let (config, axis, effort) = prepared(context, config, axis)?;
        let share = progress(context);
        let (cases, outcomes) = at_throughput_of(
            ScheduleKind::Fifo,
            &config,
            schedules,
            Some(&axis),
            effort,
            &share,
        )?;
        Ok(Simulated {
            seeds: effort.seeds.get() as usize,
            cases,
            outcomes,
        })
    }

    /// Some schedules in a closed loop, with each point's number of clients. The others run in an open loop, at the
    /// largest mean throughput that any of `rated`, which are among the former, has there.
    pub(crate) fn at_greatest_throughput(
        context: &Context,
        config: &Config,
        [closed, rated, open]: [&[ScheduleKind]; 3],
        axis: &str,
    ) -> Result<Simulated, Error> {
        let mut simulated = Simulated::each(context, config, closed, axis)?;
        let seeds = simulated.seeds;
        let mut cases: Vec<Case> = Vec::new();
        let points: Vec<f64> = simulated
            .rows()
            .iter()
            .filter(|row| Some(&row.schedule()) == closed.first())
            .filter_map(|row| row.case.point.map(|(_, at)| at))
            .collect();
        for at in points {
            let mut rate: f64 = 0.0;
            for &schedule in rated {
                rate = rate.max(simulated.row(schedule, at)?.estimate(throughput).mean);
            }
            let first = simulated.cases.iter().position(|case| {
                Some(&case.schedule) == closed.first()
                    && case.point.is_some_and(|(_, value)| value == at)
            });
            let own = first.map(|first| &simulated.cases[first..first + seeds]);
            for &schedule in open {
                let case = |case: &Case| Case {
                    config: Config {
                        arrivals: Arrivals::Poisson { rate },
                        ..case.config.clone()
                    },
                    schedule,
                    point: case.point,
                };
                cases.extend(own.iter().copied().flatten().map(case));
            }
        }
        let outcomes = sweep(&cases, context.threads, &progress(context))?;
        simulated.cases.extend(cases);
        simulated.outcomes.extend(outcomes);
        Ok(simulated)
    }

    fn rows(&self) -> Vec<Replicated<'_>> {
        Replicated::group(&self.cases, &self.outcomes, self.seeds)
    }

    /// The results of a schedule at a value of the axis.
    pub(crate) fn row(&self, schedule: ScheduleKind, at: f64) -> Result<Replicated<'_>, Error> {
        let rows = self.rows();
        let found = rows.into_iter().find(|row| {
            row.schedule() == schedule && row.case.point.is_some_and(|(_, value)| value == at)
        });
        found.ok_or_else(|| Error::Missing(format!("{} at {at}", schedule.name())))
    }

    /// By how much `of` is greater under the first schedule than under the second, paired by seed, beside what the paper says.
    pub(crate) fn factor(
        &self,
        (what, paper): (&str, f64),
        [over, under]: [ScheduleKind; 2],
        at: f64,
        of: fn(&Outcome) -> f64,
    ) -> Result<Claim, Error> {
        let (over, under) = (self.row(over, at)?, self.row(under, at)?);
        let pairs = over.outcomes.iter().zip(under.outcomes);
        let ratio = Ratio::of(pairs.map(|(over, under)| (of(over), of(under))));
        let ratio = ratio.ok_or_else(|| Error::Missing(what.to_owned()))?;
        Ok(Claim::factor(
            what,
            paper,
            ratio.ratio,
            [ratio.low, ratio.high],
        ))
    }

    /// A line a schedule.
    pub(crate) fn figure(&self, x: &str, y: &str, of: fn(&Outcome) -> f64) -> Figure {
        let mut lines: Vec<Series> = Vec::new();
        for row in self.rows() {
            let name = evenkeel_simulate::outcome::schedule_name(row.schedule());
            let (at, estimate) = (row.case.point.map_or(0.0, |(_, at)| at), row.estimate(of));
            let point = (at, estimate.mean, estimate.half_width);
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Series {
                    name,
                    papers: false,
                    points: vec![point],
                }),
            }
        }
        Figure {
            x: x.to_owned(),
            y: y.to_owned(),
            logarithmic: true,
            lines,
        }
    }
}

/// As many transactions and seeds as the effort allows.
fn prepared(
    context: &Context,
    config: &Config,
    axis: &str,
) -> Result<(Config, Axis, Effort), Error> {
    let mut config = config.clone();
    config.transactions = context.pick(10_000, 20_000);
    config.warmup = config.transactions / 10;
    let seeds =
        NonZeroU32::new(context.pick(5, 10)).ok_or_else(|| Error::Missing(axis.to_owned()))?;
    let effort = Effort {
        seeds,
        threads: context.threads,
    };
    Ok((config, axis.parse().map_err(Error::Missing)?, effort))
}

/// Progress of the simulations; the search for a saturation has no known end.
fn progress<'a>(context: &'a Context) -> impl Fn(Progress) + Sync + 'a {
    move |progress| {
        if let Progress::Simulating { done, total } = progress {
            (context.progress)(done as f64 / total.max(1) as f64);
        }
    }
}

pub(crate) fn throughput(outcome: &Outcome) -> f64 {
    outcome.window.throughput
}

pub(crate) fn mean_ms(outcome: &Outcome) -> f64 {
    outcome.latency.mean / MS
}

pub(crate) fn p99_ms(outcome: &Outcome) -> f64 {
    outcome.latency.p99 as f64 / MS
}
