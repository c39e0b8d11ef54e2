//! Configurations measured in turn, or at the same time, round after round.
//!
//! The baseline is measured twice in each round, on two stores, as if it were two configurations. Differences between
//! the two come from the machine. The order within a round is drawn, so that no configuration always follows the same
//! one. The saturation is measured on a further store that is not compared, by each configuration in turn. So neither
//! the load nor the state of a store favours one of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_locks::rng::Rng;

use crate::Error;
use crate::benchmark::{Beside, Watcher, run_beside, set};
use crate::compare::{Compared, Comparisons};
use crate::metrics::Metrics;
use crate::progress::Progress;
use crate::report::{Consistency, Report};
use crate::run::Observer;
use crate::sample::Sample;
use crate::settings::{BenchmarkSettings, Pace};
use crate::testbed::Testbed;

/// The baseline and its repetition stand first.
const BASELINES: usize = 2;
/// Suffix of the repetition's name.
const AGAIN: &str = " (again)";
/// Shortest and longest round that a number of transactions makes, in seconds.
const LENGTH_MIN_S: f64 = 1.0;
const LENGTH_MAX_S: f64 = 3600.0;

/// Configurations that are compared.
pub struct Comparison {
    /// The configurations, each with its difference as the user wrote it; the first is the baseline. At least two.
    pub configurations: Vec<(String, BenchmarkSettings)>,
    /// The activity during the measured load of each configuration, by its place among them; the baseline has none.
    pub besides: BTreeMap<usize, Box<dyn Beside + Send>>,
    /// Rounds; each measures every configuration once.
    pub rounds: u32,
    /// Measure the configurations of a round at the same time.
    pub together: bool,
    /// Transactions that the slowest configuration does in a round; this sets the length of rounds instead of the
    /// configurations' lengths.
    pub transactions: Option<u64>,
    /// The papers' method: the baseline in a closed loop, the others in an open loop at its throughput in the same round.
    pub at_baselines_throughput: bool,
}

/// A configuration on its testbed.
struct Contestant {
    name: String,
    /// The baseline, measured again.
    aa: bool,
    settings: BenchmarkSettings,
    testbed: Testbed,
    beside: Option<Box<dyn Beside + Send>>,
    rounds: Vec<Report>,
}

/// Measures all configurations in each round, and returns what they gave in the rounds that all of them have. `interrupted`
/// ends it after the rounds that are whole.
///
/// # Errors
/// There are fewer than two configurations, they do not go together, or a benchmark of one failed.
pub fn compare(
    mut comparison: Comparison,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Comparisons, Error> {
    check(&comparison)?;
    let mut contestants = entered(&mut comparison, progress, interrupted)?;
    if let Some(transactions) = comparison.transactions {
        let length = length(&mut contestants, transactions, progress, interrupted)?;
        contestants
            .iter_mut()
            .for_each(|contestant| contestant.settings.length = length);
    }
    for round in 0..comparison.rounds {
        let head = format!("round {} of {}, ", round + 1, comparison.rounds);
        if comparison.together {
            progress.heading(&head);
            progress.step("all at the same time");
            at_once(&mut contestants, round, interrupted)?;
        } else {
            in_turn(
                &mut contestants,
                &comparison,
                round,
                &head,
                progress,
                interrupted,
            )?;
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    finished(contestants, progress)
}

/// Every configuration on a testbed, the baseline on two.
fn entered(
    comparison: &mut Comparison,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Vec<Contestant>, Error> {
    let (baseline, others) = comparison
        .configurations
        .split_first()
        .expect("checked before");
    let entries = [(baseline, false), (baseline, true)]
        .into_iter()
        .chain(others.iter().map(|other| (other, false)));
    let mut contestants: Vec<Contestant> = Vec::new();
    for ((name, settings), aa) in entries {
        // The baseline is there twice.
        let place = contestants.len().saturating_sub(1);
        let again = if aa { AGAIN } else { "" };
        progress.heading(&format!("{name}{again}: "));
        contestants.push(Contestant {
            name: format!("{name}{again}"),
            aa,
            testbed: set(settings, progress, interrupted)?,
            beside: comparison.besides.remove(&place),
            settings: settings.clone(),
            rounds: Vec::new(),
        });
    }
    Ok(contestants)
}

/// The length in which the slowest configuration, in a closed loop or at the arrivals' rate, does this many
/// transactions.
fn length(
    contestants: &mut [Contestant],
    transactions: u64,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Duration, Error> {
    let mut slowest_per_s = f64::INFINITY;
    for contestant in contestants {
        progress.heading(&format!("how fast is {}: ", contestant.name));
        let closed = Watcher::new(progress).saturation_per_s(
            &mut contestant.testbed,
            &contestant.settings,
            interrupted,
        )?;
        let offered = match contestant.settings.pace {
            Pace::Rate(rate_per_s) => rate_per_s,
            Pace::Load(load) => load * closed,
            Pace::Closed { .. } => closed,
        };
        slowest_per_s = slowest_per_s.min(offered.min(closed));
    }
    let length_s = transactions as f64 / slowest_per_s;
    Ok(Duration::from_secs_f64(
        length_s.clamp(LENGTH_MIN_S, LENGTH_MAX_S),
    ))
}

fn check(comparison: &Comparison) -> Result<(), Error> {
    if comparison.configurations.len() < 2 {
        return Err(Error::Setting(
            "a comparison needs two configurations: give --with twice or more".to_owned(),
        ));
    }
    if comparison.besides.contains_key(&0) {
        return Err(Error::Setting(
            "nothing goes on beside the baseline (the first --with): it is what the others are compared with".to_owned(),
        ));
    }
    let mut settings = comparison.configurations.iter().map(|(_, own)| own);
    if comparison.together && settings.any(|own| own.load().is_some()) {
        return Err(Error::Setting(
            "--load is a part of what the baseline does alone on the machine: with --together, give a --rate".to_owned(),
        ));
    }
    if comparison.at_baselines_throughput {
        let paced = |own: &BenchmarkSettings| !matches!(own.pace, Pace::Closed { thinking: false });
        if comparison.together || comparison.configurations.iter().any(|(_, own)| paced(own)) {
            return Err(Error::Setting(
                "--at-throughput-of sets the load: leave out --rate, --load, --think and --together".to_owned(),
            ));
        }
    }
    Ok(())
}

/// A round in which one configuration is measured after the other, in an order that is drawn.
fn in_turn(
    contestants: &mut [Contestant],
    comparison: &Comparison,
    round: u32,
    head: &str,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    let mut watcher = Watcher::new(progress);
    let saturation = saturation(
        &comparison.configurations,
        round,
        head,
        progress,
        interrupted,
    );
    let saturation_per_s = match saturation {
        // The rounds before are whole.
        Err(_) if round > 0 && interrupted.load(Ordering::Relaxed) => return Ok(()),
        saturation => saturation?,
    };
    let (baselines, others) = contestants.split_at_mut(BASELINES);
    let parts: Vec<&mut [Contestant]> = if comparison.at_baselines_throughput {
        vec![baselines, others]
    } else {
        vec![contestants]
    };
    let mut open_rate_per_s = None;
    for part in parts {
        for at in drawn_order(part.len(), comparison.configurations[0].1.seed, round) {
            let contestant = &mut part[at];
            progress.heading(&format!("{head}{}: ", contestant.name));
            let load = RoundLoad {
                saturation_per_s,
                open_rate_per_s,
            };
            contestant.measure(round, load, &mut watcher, interrupted)?;
        }
        if comparison.at_baselines_throughput {
            let last = part[0].rounds.last();
            open_rate_per_s = last.map(|report| report.throughput_per_s);
        }
    }
    Ok(())
}

/// A random order of `0..count` (Fisher and Yates).
pub fn drawn_order(count: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut rng = Rng::new(seed ^ u64::from(round).rotate_left(32));
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    order
}

/// The rate that the load of a round is relative to.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundLoad {
    /// The saturation, where the load is a part of one.
    pub saturation_per_s: Option<f64>,
    /// Arrivals at this rate, instead of the configuration's.
    pub open_rate_per_s: Option<f64>,
}

/// A round in which all configurations are measured at the same time.
fn at_once(
    contestants: &mut [Contestant],
    round: u32,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    let alone = RoundLoad {
        saturation_per_s: None,
        open_rate_per_s: None,
    };
    thread::scope(|scope| {
        let measuring: Vec<_> = contestants
            .iter_mut()
            .map(|own| scope.spawn(move || own.measure(round, alone, &mut Unseen, interrupted)))
            .collect();
        let all = measuring.into_iter().map(|one| {
            one.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        all.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Hides the progress of runs at the same time.
struct Unseen;

impl Observer for Unseen {
    fn samples(&mut self, _: &[Sample]) -> Result<(), Error> {
        Ok(())
    }

    fn slice(&mut self, _: &Metrics) {}
}

/// The saturation of one configuration after the other, on a separate testbed, if a load is a part of it. A machine
/// is not always equally fast, so each round has its own.
fn saturation(
    configurations: &[(String, BenchmarkSettings)],
    round: u32,
    head: &str,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Option<f64>, Error> {
    if configurations.iter().all(|(_, own)| own.load().is_none()) {
        return Ok(None);
    }
    let (name, settings) = &configurations[round as usize % configurations.len()];
    progress.heading(&format!("{head}saturation of {name}: "));
    let mut testbed = set(settings, progress, interrupted)?;
    let mut watcher = Watcher::new(progress);
    let saturation = watcher.saturation_per_s(&mut testbed, settings, interrupted)?;
    Ok(Some(saturation))
}

impl Contestant {
    /// One run; all configurations of a round have the same arrivals.
    fn measure(
        &mut self,
        round: u32,
        load: RoundLoad,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<(), Error> {
        let mut run = |testbed: &mut Testbed| {
            measure(&self.settings, testbed, round, load, observer, interrupted)
        };
        let report = match &mut self.beside {
            Some(beside) => {
                beside.prepare(self.testbed.on())?;
                run_beside(beside.as_mut(), || run(&mut self.testbed))?
            }
            None => run(&mut self.testbed)?,
        };
        self.rounds.push(report);
        Ok(())
    }
}

/// One run of `settings` on a testbed; runs of the same round have the same arrivals.
///
/// # Errors
/// See [`Testbed::run`].
pub fn measure(
    settings: &BenchmarkSettings,
    testbed: &mut Testbed,
    round: u32,
    load: RoundLoad,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<Report, Error> {
    let mut plan = settings.plan(load.saturation_per_s);
    if let Some(rate_per_s) = load.open_rate_per_s {
        plan.load = settings.open_loop(rate_per_s);
    }
    plan.seed = plan.seed.wrapping_add(round.into());
    let measured = testbed.run(&plan, interrupted, observer)?;
    let workload = testbed.workload();
    let types: Vec<&str> = workload
        .transactions()
        .iter()
        .map(|kind| kind.name)
        .collect();
    let config = settings.config(workload, &plan, load.saturation_per_s);
    Ok(Report::new(
        workload.name(),
        testbed.target(),
        config,
        &types,
        &measured,
        Consistency::Unchecked,
    ))
}

/// Checks the data of each configuration, and leaves out rounds that not all have: those the user stopped.
fn finished(contestants: Vec<Contestant>, progress: &dyn Progress) -> Result<Comparisons, Error> {
    let whole = |contestant: &Contestant| {
        contestant
            .rounds
            .iter()
            .take_while(|round| !round.interrupted)
            .count()
    };
    let rounds = contestants.iter().map(whole).min().unwrap_or(0);
    if rounds == 0 {
        return Err(Error::Setting(
            "stopped before the first round was complete".to_owned(),
        ));
    }
    let compared = contestants.into_iter().map(|mut contestant| {
        contestant.rounds.truncate(rounds);
        if contestant.settings.check {
            progress.heading(&format!("{}: ", contestant.name));
            progress.step("checking the data");
            let last = contestant
                .rounds
                .last_mut()
                .expect("there is a whole round");
            last.consistency = contestant.testbed.check()?;
        }
        Ok(Compared {
            name: contestant.name,
            aa: contestant.aa,
            rounds: contestant.rounds,
        })
    });
    let compared: Result<_, Error> = compared.collect();
    compared.map(Comparisons::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_one_of_all_and_changes_from_round_to_round() {
        let orders: Vec<Vec<usize>> = (0..40).map(|round| drawn_order(4, 1, round)).collect();
        let firsts = |first: usize| orders.iter().filter(|order| order[0] == first).count();
        // Each comes first in a quarter of the rounds; never in 40 rounds in one case of 100 000.
        assert!((0..4).all(|first| firsts(first) > 0), "{orders:?}");
        for mut order in orders {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
    }
}
