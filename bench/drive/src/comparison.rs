//! Configurations measured in turn, or at the same time, round after round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::Error;
use crate::accounts::Accounts;
use crate::benchmark::{Watcher, set};
use crate::compare::Compared;
use crate::progress::Progress;
use crate::report::{Consistency, Report};
use crate::run::Observer;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::stage::Stage;

/// Configurations that are compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What distinguishes each, as the user wrote it, and the configuration; the first is the baseline. At least two.
    pub configurations: Vec<(String, Settings)>,
    /// Rounds, in each of which every configuration is measured once.
    pub rounds: u32,
    /// Measure the configurations of a round at the same time.
    pub together: bool,
}

/// A configuration on its stage.
struct Contestant {
    name: String,
    settings: Settings,
    stage: Stage,
    rounds: Vec<Report>,
}

/// Measures all configurations in each round, and returns what they gave in the rounds that all of them have. `interrupted`
/// ends it after the rounds that are whole.
///
/// # Errors
/// There are fewer than two configurations, they do not go together, or a benchmark of one failed.
pub fn compare(
    comparison: Comparison,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Vec<Compared>, Error> {
    check(&comparison)?;
    let mut contestants = Vec::with_capacity(comparison.configurations.len());
    for (name, settings) in comparison.configurations {
        progress.heading(&format!("{name}: "));
        let stage = set(&settings, progress, interrupted)?;
        contestants.push(Contestant {
            name,
            settings,
            stage,
            rounds: Vec::new(),
        });
    }
    for round in 0..comparison.rounds {
        let head = format!("round {} of {}, ", round + 1, comparison.rounds);
        if comparison.together {
            progress.heading(&head);
            progress.step("all at the same time");
            at_once(&mut contestants, round, interrupted)?;
        } else {
            in_turn(&mut contestants, round, &head, progress, interrupted)?;
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    finished(contestants, progress)
}

fn check(comparison: &Comparison) -> Result<(), Error> {
    if comparison.configurations.len() < 2 {
        return Err(Error::Setting(
            "a comparison needs two configurations: give --with twice or more".to_owned(),
        ));
    }
    let mut settings = comparison.configurations.iter().map(|(_, own)| own);
    if comparison.together && settings.any(|own| own.load().is_some()) {
        return Err(Error::Setting(
            "--load is a part of what the baseline does alone on the machine: with --together, give a --rate".to_owned(),
        ));
    }
    Ok(())
}

/// A round in which one configuration is measured after the other. It begins with another one than the round before.
fn in_turn(
    contestants: &mut [Contestant],
    round: u32,
    head: &str,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    let mut watcher = Watcher::new(progress);
    progress.heading(&format!("{head}{}: ", contestants[0].name));
    let saturation_per_s = match saturation(contestants, &mut watcher, interrupted) {
        // The rounds before are whole.
        Err(_) if round > 0 && interrupted.load(Ordering::Relaxed) => return Ok(()),
        saturation => saturation?,
    };
    for turn in 0..contestants.len() {
        let at = (round as usize + turn) % contestants.len();
        progress.heading(&format!("{head}{}: ", contestants[at].name));
        contestants[at].measure(round, saturation_per_s, &mut watcher, interrupted)?;
    }
    Ok(())
}

/// A round in which all configurations are measured at the same time.
fn at_once(
    contestants: &mut [Contestant],
    round: u32,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    thread::scope(|scope| {
        let measuring: Vec<_> = contestants
            .iter_mut()
            .map(|own| scope.spawn(move || own.measure(round, None, &mut Unseen, interrupted)))
            .collect();
        let all = measuring.into_iter().map(|one| {
            one.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        all.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Of runs at the same time no course is shown.
struct Unseen;

impl Observer for Unseen {
    fn samples(&mut self, _: &[Sample]) -> Result<(), Error> {
        Ok(())
    }

    fn slice(&mut self, _: &Accounts) {}
}

/// The baseline's saturation, if a load is a part of it. A machine is not always equally fast, so each round has its own.
fn saturation(
    contestants: &mut [Contestant],
    watcher: &mut Watcher<'_>,
    interrupted: &AtomicBool,
) -> Result<Option<f64>, Error> {
    if contestants
        .iter()
        .all(|contestant| contestant.settings.load().is_none())
    {
        return Ok(None);
    }
    let baseline = &mut contestants[0];
    let saturation =
        watcher.saturation_per_s(&mut baseline.stage, &baseline.settings, interrupted)?;
    Ok(Some(saturation))
}

impl Contestant {
    /// One run; all configurations of a round have the same arrivals.
    fn measure(
        &mut self,
        round: u32,
        saturation_per_s: Option<f64>,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<(), Error> {
        let mut plan = self.settings.plan(saturation_per_s);
        plan.seed = plan.seed.wrapping_add(round.into());
        let measured = self.stage.run(&plan, interrupted, observer)?;
        let workload = self.stage.workload();
        let types: Vec<&str> = workload
            .transactions()
            .iter()
            .map(|kind| kind.name)
            .collect();
        let config = self.settings.config(workload, &plan, saturation_per_s);
        let target = self.stage.target();
        self.rounds.push(Report::new(
            workload.name(),
            target,
            config,
            &types,
            &measured,
            Consistency::Unchecked,
        ));
        Ok(())
    }
}

/// Checks the data of each configuration, and leaves out rounds that not all have: those the user stopped.
fn finished(contestants: Vec<Contestant>, progress: &dyn Progress) -> Result<Vec<Compared>, Error> {
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
            last.consistency = contestant.stage.check()?;
        }
        Ok(Compared {
            name: contestant.name,
            rounds: contestant.rounds,
        })
    });
    compared.collect()
}
