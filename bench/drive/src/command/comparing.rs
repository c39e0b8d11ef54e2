//! `evenkeel bench compare`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::{Args as ClapArgs, Parser};

use super::args::Bench;
use super::output::Watcher;
use super::single::{print, set};
use super::{INCONSISTENT, interrupts};
use crate::Error;
use crate::accounts::Accounts;
use crate::compare::{Compared, json_lines, table};
use crate::report::{Consistency, Report};
use crate::run::Observer;
use crate::sample::Sample;
use crate::stage::Stage;
use crate::terminal::Line;

/// Measure configurations in turn, round after round, and print ratios with their spread
///
/// What all configurations have in common stands behind the workload, what distinguishes one behind --with. The first is
/// the baseline; --load is a part of its saturation, found anew for each round, for all of them.
#[derive(ClapArgs, Clone, Debug)]
#[command(after_help = "\
Examples:
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' tpcc --load 85% --for 20s
  evenkeel bench compare --rounds 7 --with '--target postgres' --with '--target mariadb' ycsb-a --clients 2
  evenkeel bench compare --with '' --with '--set synchronous_commit=off' tpcc --target postgres --rate 300
  evenkeel bench compare --together --rounds 40 --with '--schedule fifo' --with '--schedule ldsf' tatp --clients 1 --for 1s")]
pub(super) struct Comparison {
    /// Options of one configuration, separated by spaces; given once for each
    #[arg(
        long = "with",
        value_name = "OPTIONS",
        required = true,
        allow_hyphen_values = true
    )]
    with: Vec<String>,
    /// Rounds, in each of which every configuration is measured once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure the configurations of a round at the same time: they share the machine, and what else it does hits all alike
    #[arg(long)]
    together: bool,
    /// Print one JSON object a configuration
    #[arg(long)]
    json: bool,
    /// The workload, and the options that all configurations have in common
    #[arg(
        value_name = "WORKLOAD",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    common: Vec<String>,
}

/// The arguments of one configuration: what it has of its own overrides what all have in common.
#[derive(Parser, Debug)]
#[command(
    name = "evenkeel bench compare",
    args_override_self = true,
    no_binary_name = true
)]
struct Configuration {
    #[command(flatten)]
    bench: Bench,
}

/// A configuration on its stage.
struct Contestant {
    name: String,
    bench: Bench,
    stage: Stage,
    rounds: Vec<Report>,
}

pub(super) fn run(args: Comparison) -> Result<ExitCode, Error> {
    if args.with.len() < 2 {
        return Err(Error::Setting(
            "a comparison needs two configurations: give --with twice or more".to_owned(),
        ));
    }
    let configurations: Vec<(String, Bench)> = args
        .with
        .iter()
        .map(|own| configuration(&args.common, own))
        .collect::<Result<_, _>>()?;
    if args.together && configurations.iter().any(|(_, bench)| bench.load.is_some()) {
        return Err(Error::Setting(
            "--load is a part of what the baseline does alone on the machine: with --together, give a --rate".to_owned(),
        ));
    }
    let interrupted = interrupts()?;
    let line = Line::new();
    let compared = compare(configurations, &args, &line, &interrupted);
    line.clear();
    let compared = compared?;
    print(&if args.json {
        json_lines(&compared)
    } else {
        table(&compared)
    })?;
    let consistent = compared.iter().all(Compared::is_consistent);
    Ok(if consistent {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCONSISTENT)
    })
}

fn configuration(common: &[String], own: &str) -> Result<(String, Bench), Error> {
    let words = common
        .iter()
        .map(String::as_str)
        .chain(own.split_whitespace());
    let parsed = Configuration::try_parse_from(words)
        .map_err(|error| Error::Setting(error.render().to_string()))?;
    let name = if own.trim().is_empty() {
        "as it is"
    } else {
        own.trim()
    };
    Ok((name.to_owned(), parsed.bench))
}

fn compare(
    configurations: Vec<(String, Bench)>,
    args: &Comparison,
    line: &Line,
    interrupted: &AtomicBool,
) -> Result<Vec<Compared>, Error> {
    let mut contestants = Vec::with_capacity(configurations.len());
    for (name, bench) in configurations {
        line.head(&format!("{name}: "));
        let stage = set(&bench, line, interrupted)?;
        contestants.push(Contestant {
            name,
            bench,
            stage,
            rounds: Vec::new(),
        });
    }
    for round in 0..args.rounds {
        let head = format!("round {} of {}, ", round + 1, args.rounds);
        if args.together {
            line.head(&head);
            line.say("all at the same time");
            at_once(&mut contestants, round, interrupted)?;
        } else {
            in_turn(&mut contestants, round, &head, line, interrupted)?;
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    finished(contestants, line)
}

/// A round in which one configuration is measured after the other. It begins with another one than the round before.
fn in_turn(
    contestants: &mut [Contestant],
    round: u32,
    head: &str,
    line: &Line,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    let mut watcher = Watcher {
        line,
        what: "",
        raw: None,
    };
    line.head(&format!("{head}{}: ", contestants[0].name));
    let saturation_per_s = match saturation(contestants, &mut watcher, interrupted) {
        // The rounds before are whole.
        Err(_) if round > 0 && interrupted.load(Ordering::Relaxed) => return Ok(()),
        saturation => saturation?,
    };
    for turn in 0..contestants.len() {
        let at = (round as usize + turn) % contestants.len();
        line.head(&format!("{head}{}: ", contestants[at].name));
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
        .all(|contestant| contestant.bench.load.is_none())
    {
        return Ok(None);
    }
    let baseline = &mut contestants[0];
    watcher.what = "saturating: ";
    let saturation =
        baseline
            .stage
            .saturation_per_s(&baseline.bench.plan(None), interrupted, watcher)?;
    watcher.what = "";
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
        let rate_per_s = self
            .bench
            .load
            .zip(saturation_per_s)
            .map(|(load, saturation)| load * saturation);
        let mut plan = self.bench.plan(rate_per_s);
        plan.seed = plan.seed.wrapping_add(round.into());
        let measured = self.stage.run(&plan, interrupted, observer)?;
        let workload = self.stage.workload();
        let types: Vec<&str> = workload
            .transactions()
            .iter()
            .map(|kind| kind.name)
            .collect();
        let config = self.bench.config(workload, &plan, saturation_per_s);
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
fn finished(contestants: Vec<Contestant>, line: &Line) -> Result<Vec<Compared>, Error> {
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
        if !contestant.bench.no_check {
            line.head(&format!("{}: ", contestant.name));
            line.say("checking the data");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn own_options_override_common_ones_and_settings_add_up() {
        let common = words("tpcc --clients 4 --schedule fifo --set a=1");
        let (name, bench) =
            configuration(&common, " --schedule ldsf --set b=2 ").expect("arguments");
        assert_eq!(
            (name.as_str(), bench.schedule.as_deref()),
            ("--schedule ldsf --set b=2", Some("ldsf"))
        );
        assert_eq!((bench.clients, bench.settings.len()), (4, 2));
        let (name, bench) = configuration(&common, "").expect("arguments");
        assert_eq!(
            (name.as_str(), bench.schedule.as_deref()),
            ("as it is", Some("fifo"))
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let error = configuration(&words("tpcc"), "--colour red").expect_err("no such option");
        assert!(error.to_string().contains("--colour"), "{error}");
    }
}
