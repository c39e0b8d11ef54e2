//! A run of the tuner: surveys the server, profiles it, races, confirms, and puts it back.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_drive::progress::Progress;
use evenkeel_drive::settings::BenchmarkSettings;
use evenkeel_drive::target::Target;
use evenkeel_servers::Process;

use crate::error::Error;
use crate::journal::{self, Header, Journal, Private};
use crate::knobs::{Class, Knob, Needs, TargetKind, is_url, kind_of, same_value};
use crate::machine::Machine;
use crate::objective::Objective;
use crate::profiled::{Blamed, ordered};
use crate::race::{Candidate, NameAndValue, Race, race, runs_needed};
use crate::restore::stop_left;
use crate::runner::{Changed, LoadSource, TargetRunner};
use crate::server::{Failure, Server};

/// Part of the budget that the profiles may take.
const PROFILING_PART: u32 = 4;
/// A profile of a workload takes so long, or as long as a run: processes are hooked in it, and functions opened.
const PROFILING: Duration = Duration::from_secs(15);

/// Settings of a tuning run.
#[derive(Clone, Debug)]
pub struct TuneSettings {
    /// The target and its load; of a load that is a command, only the target.
    pub bench: BenchmarkSettings,
    /// The source of the load.
    pub load: LoadSource,
    /// The interval that is profiled.
    pub interval: Option<String>,
    /// The server's process, where it does not report it.
    pub pid: Option<i32>,
    /// The quantity to minimise.
    pub objective: Objective,
    /// Knobs to try, by name; all without any.
    pub knobs: Vec<String>,
    /// Time for runs; loading the data comes before.
    pub budget: Duration,
    /// Whether settings that give up durability may be tried.
    pub durability: bool,
    /// Restarts a server that is not ours, if it may be restarted.
    pub restart_command: Option<String>,
    /// Leave a confirmed winner's settings set.
    pub apply: bool,
    /// Whether to profile.
    pub profile: bool,
}

/// A knob that was not tried, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// The name of the knob.
    pub knob: String,
    /// Why it was not tried.
    pub why: String,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Which server's knobs.
    pub kind: TargetKind,
    /// The target's name.
    pub target: String,
    /// The load's.
    pub load: String,
    /// The minimised quantity.
    pub objective: Objective,
    /// The race.
    pub race: Race,
    /// The earlier values of the candidates' settings.
    pub before: Vec<NameAndValue>,
    /// Knobs that were not tried.
    pub skipped: Vec<Skipped>,
    /// Findings of the first profile.
    pub findings: Option<Blamed>,
    /// Findings of the confirmed winner's profile.
    pub findings_after: Option<Blamed>,
    /// Whether the winner's settings were left set.
    pub applied: bool,
    /// Violations in the data.
    pub inconsistent: Vec<String>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// Tunes. `interrupted` ends it with what was measured until then, and what was changed put back.
///
/// # Errors
/// See [`Error`]; settings are put back before, or the error says which are not.
pub fn tune(
    settings: &TuneSettings,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Tuned, Error> {
    let kind = kind_of(&settings.bench.target)?;
    let chosen = kind.knobs().chosen(&settings.knobs)?;
    check(settings, kind)?;
    progress.step("starting");
    let notes = stop_left();
    let target = match kind {
        TargetKind::Store => None,
        _ => Some(settings.bench.open_target()?),
    };
    let name = target
        .as_ref()
        .map_or("embedded store".to_owned(), |target| {
            target.name().to_owned()
        });
    let (changed, target) = match target {
        None => (
            Changed::Store {
                data: std::collections::BTreeMap::new(),
            },
            None,
        ),
        Some(mut target) => {
            let server = surveyed(settings, kind, &chosen, &mut target)?;
            (Changed::Server(Box::new(server)), Some(target))
        }
    };
    let mut runner = TargetRunner::new(
        (&settings.bench, &settings.load),
        (kind, settings.interval.as_deref(), settings.pid),
        (target, changed),
        progress,
        interrupted,
    );
    runner.notes = notes;
    let tuned = on_runner(settings, kind, &chosen, name, &mut runner);
    // Whatever happened.
    let restored = match &tuned {
        Ok(tuned) if tuned.applied => runner.server().map_or(Ok(()), Server::leave),
        _ => runner.restore(),
    };
    match (tuned, restored) {
        (Ok(tuned), restored) => restored.map(|()| tuned),
        (Err(error), Ok(())) => Err(error),
        (
            Err(error),
            Err(Error::NotRestored {
                left,
                journal,
                target,
                ..
            }),
        ) => Err(Error::NotRestored {
            reason: error.to_string(),
            left,
            journal,
            target,
        }),
        (Err(error), Err(_)) => Err(error),
    }
}

fn check(settings: &TuneSettings, kind: TargetKind) -> Result<(), Error> {
    let wrong = |text: &str| Err(Error::Setting(text.to_owned()));
    if settings.apply && !is_url(&settings.bench.target) {
        return wrong("--apply is for a server that stays: give the URL of one as --target");
    }
    if kind == TargetKind::Store && matches!(settings.load, LoadSource::Command { .. }) {
        return wrong("the embedded store is put under load by a WORKLOAD, not by a --command");
    }
    Ok(())
}

/// The server, asked for what is to be changed, with a journal.
fn surveyed(
    settings: &TuneSettings,
    kind: TargetKind,
    chosen: &[&Knob],
    target: &mut Target,
) -> Result<Server, Error> {
    let names: Vec<&str> = chosen.iter().map(|knob| knob.name.as_str()).collect();
    let private = target.server().map(|server| Private {
        folder: server.folder().to_owned(),
    });
    let (name, password) = journal::without_password(&settings.bench.target.to_string());
    let tuner = Process::this();
    let header = Header {
        target: name,
        password,
        tuner: (tuner.pid, tuner.start_ticks),
        private,
    };
    let is_private = header.private.is_some();
    // Before the survey: what an earlier run left would be taken for the server's own.
    let journal = Journal::begin(&journal::directory()?, header)?;
    let restart = settings.restart_command.clone();
    let server = Server::new(kind, target, is_private, &names, restart);
    match server {
        Ok(mut server) => {
            server.keep(journal);
            Ok(server)
        }
        Err(error) => {
            journal.end()?;
            Err(error)
        }
    }
}

fn on_runner(
    settings: &TuneSettings,
    kind: TargetKind,
    chosen: &[&Knob],
    name: String,
    runner: &mut TargetRunner<'_>,
) -> Result<Tuned, Error> {
    runner.prepare()?;
    runner.begin(settings.budget);
    let mut notes = Vec::new();
    let findings = profiled(settings, runner, &mut notes);
    let points_at = findings
        .as_ref()
        .map_or(&[][..], |blamed| &blamed.points_at);
    let (candidates, skipped) = candidates(settings, &ordered_knobs(chosen, points_at), runner);
    check_worth(settings, &candidates, &skipped, runner)?;
    let before = before(settings, &candidates, runner);
    let raced = race(candidates, settings.objective, settings.bench.seed, runner)?;
    let winner = raced.confirmation.as_ref().filter(|one| one.confirmed);
    let winner = winner.map(|one| raced.entries[one.entry].candidate.clone());
    let is_set = match &winner {
        Some(winner) if !raced.interrupted => set_again(winner, runner, &mut notes)?,
        _ => false,
    };
    let findings_after = match is_set && findings.is_some() {
        true => profiled(settings, runner, &mut notes),
        false => None,
    };
    let inconsistent = runner.check()?;
    notes.append(&mut runner.notes);
    Ok(Tuned {
        kind,
        target: name,
        load: match &settings.load {
            LoadSource::Workload => settings.bench.workload.clone(),
            LoadSource::Command { run, .. } => run.clone(),
        },
        objective: settings.objective,
        race: raced,
        before,
        skipped,
        findings,
        findings_after,
        applied: is_set && settings.apply,
        inconsistent,
        notes,
    })
}

/// Whether there is something to try, and the time for it.
fn check_worth(
    settings: &TuneSettings,
    candidates: &[Candidate],
    skipped: &[Skipped],
    runner: &TargetRunner<'_>,
) -> Result<(), Error> {
    if candidates.is_empty() {
        let why: Vec<String> = skipped
            .iter()
            .map(|one| format!("{}: {}", one.knob, one.why))
            .collect();
        return Err(Error::Setting(format!(
            "there is nothing to try: {}",
            why.join("; ")
        )));
    }
    let runs = crate::race::Runner::runs_left(runner);
    if runs < runs_needed() {
        let shorter = match settings.load {
            LoadSource::Workload => "a shorter --for",
            LoadSource::Command { .. } => "a --command that ends earlier",
        };
        return Err(Error::Setting(format!(
            "the budget has time for about {runs} runs, and nothing can be confirmed with fewer than {}: give a longer --budget, or {shorter}",
            runs_needed()
        )));
    }
    Ok(())
}

/// Sets the winner once more, which is on the server no longer; whether it took it.
fn set_again(
    winner: &Candidate,
    runner: &mut TargetRunner<'_>,
    notes: &mut Vec<String>,
) -> Result<bool, Error> {
    match runner.apply(&winner.settings) {
        Ok(()) => Ok(true),
        Err(Failure::Refused(why)) => {
            notes.push(format!(
                "the winner was refused when it was set again: {why}"
            ));
            Ok(false)
        }
        Err(Failure::Broken(error)) => Err(error),
    }
}

/// A profile, where one is possible: else a note says why not.
fn profiled(
    settings: &TuneSettings,
    runner: &mut TargetRunner<'_>,
    notes: &mut Vec<String>,
) -> Option<Blamed> {
    let run = settings.bench.length + settings.bench.warmup.unwrap_or(settings.bench.length / 5);
    if !settings.profile || run > settings.budget / PROFILING_PART {
        if settings.profile {
            notes.push("not profiled: a run is too large a part of the --budget".to_owned());
        }
        return None;
    }
    let length = PROFILING.min(settings.budget / (2 * PROFILING_PART));
    match runner.profile(length) {
        Ok(profile) => profile.map(Blamed::of),
        Err(error) => {
            notes.push(format!("not profiled: {error}"));
            None
        }
    }
}

fn ordered_knobs<'k>(chosen: &[&'k Knob], points_at: &[String]) -> Vec<&'k Knob> {
    let names: Vec<&str> = chosen.iter().map(|knob| knob.name.as_str()).collect();
    let knob = |name: &str| chosen.iter().copied().find(|knob| knob.name == name);
    ordered(&names, points_at)
        .into_iter()
        .filter_map(knob)
        .collect()
}

/// Settings to try, and those not to, with the reason. Every knob's first value comes before any knob's second.
fn candidates(
    settings: &TuneSettings,
    knobs: &[&Knob],
    runner: &mut TargetRunner<'_>,
) -> (Vec<Candidate>, Vec<Skipped>) {
    let machine = Machine::this();
    let (mut by_knob, mut skipped) = (Vec::new(), Vec::new());
    for knob in knobs {
        let mut skip = |why: &str| {
            skipped.push(Skipped {
                knob: knob.name.clone(),
                why: why.to_owned(),
            });
        };
        if knob.class == Class::Durability && !settings.durability {
            skip("gives up durability: --allow durability tries it");
            continue;
        }
        let current = match runner.server() {
            None => given(settings, &knob.name),
            Some(server) => match server.state(&knob.name) {
                None => {
                    skip("this server has no such setting");
                    continue;
                }
                Some(state) => match &state.fixed {
                    Some(why) => {
                        skip(why);
                        continue;
                    }
                    None => Some(state.value.clone()),
                },
            },
        };
        let values = knob.values(machine).into_iter();
        let is_new = |value: &String| {
            !current
                .as_ref()
                .is_some_and(|current| same_value(current, value))
        };
        let values: Vec<Candidate> = values
            .filter(is_new)
            .map(|value| Candidate {
                settings: vec![(knob.name.clone(), value)],
            })
            .collect();
        if values.is_empty() {
            skip("has the only value that would be tried");
        }
        by_knob.push(values);
    }
    let most = by_knob.iter().map(Vec::len).max().unwrap_or(0);
    let interleaved = (0..most).flat_map(|at| {
        by_knob
            .iter()
            .filter_map(move |values| values.get(at).cloned())
    });
    (interleaved.collect(), skipped)
}

/// The store's setting that the user gave.
fn given(settings: &TuneSettings, name: &str) -> Option<String> {
    if name == "schedule" {
        return settings.bench.schedule.clone();
    }
    let mut set = settings.bench.target_settings.iter().rev();
    let same = |own: &str| own.replace('_', "-") == name;
    set.find(|(own, _)| same(own))
        .map(|(_, value)| value.clone())
}

/// The present values of these candidates' settings.
fn before(
    settings: &TuneSettings,
    candidates: &[Candidate],
    runner: &mut TargetRunner<'_>,
) -> Vec<NameAndValue> {
    let mut before: Vec<NameAndValue> = Vec::new();
    for (name, _) in candidates.iter().flat_map(|candidate| &candidate.settings) {
        if before.iter().any(|(known, _)| known == name) {
            continue;
        }
        let value = match runner.server() {
            Some(server) => server.state(name).map(|state| state.value.clone()),
            None => given(settings, name),
        };
        before.push((name.clone(), value.unwrap_or_else(|| "default".to_owned())));
    }
    before
}

/// The knobs of a server as `--list-knobs` prints them.
pub fn list(kind: TargetKind) -> String {
    let (knobs, machine) = (kind.knobs(), Machine::this());
    let mut text = format!("{} (values for this machine)\n", knobs.server);
    for knob in &knobs.knobs {
        text += &format!(
            "\n  {}\n    {}\n    tries {}; needs a {}; {}\n",
            knob.name,
            knob.what,
            knob.values(machine).join(", "),
            match knob.needs {
                Needs::Reload => "reload",
                other => other.name(),
            },
            knob.class.name()
        );
    }
    for (name, why) in &knobs.never {
        text += &format!("\n  {name}\n    never tried: {why}\n");
    }
    text
}
