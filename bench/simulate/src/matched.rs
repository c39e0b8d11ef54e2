//! The papers' own comparison: a baseline with N clients in a closed loop, the others in an open loop at its throughput.
//!
//! Dissertation sections 4.6.3, 4.6.4 and 4.6.6: "First, we ran FIFO using 300 clients, and then ran both VATS and
//! bLDSF at the same throughput as FIFO." A baseline that collapses under its N waiting clients has a latency of N /
//! throughput (Little's law). A schedule that carries that throughput without a queue has the latency of an idle
//! system. So ratios by this method can be as large as N. They say by how many more clients a schedule avoids the
//! collapse, not how it orders a given queue.

use evenkeel_locks::ScheduleKind;

use crate::axis::{Axis, Parameter};
use crate::sweep::OnProgress;
use crate::{Arrivals, Case, Config, Effort, Error, Outcome, cases, sweep};

/// Simulates `schedules` at each point of `axis`, which varies anything but the rate: `baseline` as `config` says, in a closed loop, the
/// others in an open loop at the baseline's mean throughput over the seeds. Results in the order of [`cases`].
///
/// # Errors
/// The loop is not closed, a rate varies, or a setting makes no sense.
pub fn at_throughput_of(
    baseline: ScheduleKind,
    config: &Config,
    schedules: &[ScheduleKind],
    axis: Option<&Axis>,
    effort: Effort,
    progress: OnProgress<'_>,
) -> Result<(Vec<Case>, Vec<Outcome>), Error> {
    let opens = |axis: &Axis| matches!(axis.parameter, Parameter::Rate | Parameter::Load);
    if axis.is_some_and(opens) || !matches!(config.arrivals, Arrivals::Closed { .. }) {
        return Err(Error::setting(
            "the rate is the baseline's throughput in a closed loop: give --clients or sweep clients, and no rate or load",
        ));
    }
    let seeds = effort.seeds.get() as usize;
    let closed = cases(config, &[baseline], axis, effort, progress)?;
    let found = sweep(&closed, effort.threads, progress)?;
    let mut open = Vec::new();
    for (own, outcomes) in closed.chunks(seeds).zip(found.chunks(seeds)) {
        let throughputs = outcomes.iter().map(|outcome| outcome.window.throughput);
        let rate = throughputs.sum::<f64>() / seeds as f64;
        let others = schedules.iter().filter(|&&schedule| schedule != baseline);
        open.extend(others.flat_map(|&schedule| {
            own.iter().map(move |case| Case {
                config: Config {
                    arrivals: Arrivals::Poisson { rate },
                    ..case.config.clone()
                },
                schedule,
                point: case.point,
            })
        }));
    }
    for case in &open {
        case.config.check()?;
    }
    let others = sweep(&open, effort.threads, progress)?;
    Ok(in_order(
        schedules,
        baseline,
        seeds,
        closed.into_iter().zip(found).collect(),
        open.into_iter().zip(others).collect(),
    ))
}

/// The baseline's results between the others', as `schedules` has them.
fn in_order(
    schedules: &[ScheduleKind],
    baseline: ScheduleKind,
    seeds: usize,
    baselines: Vec<(Case, Outcome)>,
    others: Vec<(Case, Outcome)>,
) -> (Vec<Case>, Vec<Outcome>) {
    let points = baselines.len() / seeds;
    let (mut baselines, mut others) = (baselines.into_iter(), others.into_iter());
    let mut all = Vec::new();
    for _ in 0..points {
        let mut own: Vec<_> = baselines.by_ref().take(seeds).collect();
        for &schedule in schedules {
            if schedule == baseline {
                all.append(&mut own);
            } else {
                all.extend(others.by_ref().take(seeds));
            }
        }
    }
    all.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const EFFORT: Effort = Effort {
        seeds: NonZeroU32::new(2).unwrap(),
        threads: 2,
    };

    fn small() -> Config {
        Config {
            transactions: 2_000,
            warmup: 200,
            ..Config::micro()
        }
    }

    #[test]
    fn others_arrive_at_the_rate_at_which_the_baseline_commits() {
        let schedules = [ScheduleKind::Ldsf, ScheduleKind::Fifo];
        let axis: Axis = "clients=10,100".parse().expect("an axis");
        let (cases, outcomes) = at_throughput_of(
            ScheduleKind::Fifo,
            &small(),
            &schedules,
            Some(&axis),
            EFFORT,
            &|_| {},
        )
        .expect("sound");
        assert_eq!((cases.len(), outcomes.len()), (8, 8));
        for (point, clients) in [(0, 10), (1, 100)] {
            let [ldsf, fifo] = [0, 2].map(|at| 4 * point + at);
            let committed = [fifo, fifo + 1].map(|at| outcomes[at].window.throughput);
            let rate = (committed[0] + committed[1]) / 2.0;
            for at in [ldsf, ldsf + 1] {
                assert_eq!(cases[at].config.arrivals, Arrivals::Poisson { rate });
                assert_eq!(outcomes[at].schedule, ScheduleKind::Ldsf);
            }
            for at in [fifo, fifo + 1] {
                assert_eq!(cases[at].config.arrivals, Arrivals::Closed { clients });
                assert_eq!(outcomes[at].schedule, ScheduleKind::Fifo);
                // Little's law: in a closed loop all clients are in the system.
                let in_system = outcomes[at].window.throughput * outcomes[at].latency.mean / 1e9;
                assert!(
                    (in_system / f64::from(clients) - 1.0).abs() < 0.25,
                    "{in_system}"
                );
            }
            assert_eq!(cases[ldsf].config.seed, cases[fifo].config.seed);
        }
    }

    #[test]
    fn a_rate_of_its_own_is_refused() {
        let axis: Axis = "rate=10,100".parse().expect("an axis");
        let open = Config {
            arrivals: Arrivals::Poisson { rate: 10.0 },
            ..small()
        };
        for (config, axis) in [(small(), Some(&axis)), (open, None)] {
            let refused = at_throughput_of(
                ScheduleKind::Fifo,
                &config,
                &[ScheduleKind::Ldsf],
                axis,
                EFFORT,
                &|_| {},
            );
            assert!(refused.is_err());
        }
    }
}
