//! Experiments one after another. Each result is appended to a file as it comes, so that a stopped run can go on.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Error;
use crate::catalogue::all;
use crate::experiment::{Context, Effort, Experiment, Finding};
use crate::result::Outcome;

/// Weight of the known durations of experiments before any was measured, s.
const PRIOR_S: f64 = 60.0;

/// The experiments to run.
#[derive(Clone, Debug)]
pub struct Course<'a> {
    /// Names of experiments; none: all.
    pub names: &'a [String],
    /// The effort for each.
    pub effort: Effort,
    /// Where results are kept, a line each.
    pub file: &'a Path,
    /// Results of these experiments that are there already are kept, and not measured again. Those of others are kept in any case.
    pub resume: bool,
    /// Threads of a simulation.
    pub threads: usize,
    /// This program, for experiments that are made of its other commands.
    pub evenkeel: &'a Path,
}

/// Where a course is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position<'a> {
    /// The running experiment.
    pub id: &'a str,
    /// Experiments done, those of an earlier run among them.
    pub done: usize,
    /// All.
    pub total: usize,
    /// Progress, 0 to 1.
    pub part: f64,
    /// Time left, from what each is known to take, and from how fast this machine was with those before.
    pub left: Duration,
}

/// The experiments of these names, in the order of the list.
///
/// # Errors
/// [`Error::Unknown`].
pub fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, Error> {
    if let Some(unknown) = names.iter().find(|name| all().all(|one| one.id != **name)) {
        return Err(Error::Unknown(unknown.clone()));
    }
    let wanted = |one: &&Experiment| names.is_empty() || names.iter().any(|name| name == one.id);
    Ok(all().filter(wanted).collect())
}

/// Runs a course and returns all results of its effort, in the order of the list: those of its experiments, and of
/// others that were measured earlier. An experiment that fails is a result, with its reason. `interrupted` ends the
/// course after the running experiment, or at once if that consists of other commands.
///
/// # Errors
/// A name is not known, or the file cannot be read or written.
pub fn run(
    course: &Course<'_>,
    interrupted: &AtomicBool,
    progress: &(dyn Fn(Position<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let experiments = chosen(course.names)?;
    let mut outcomes = match read(course.file) {
        // What cannot be read is overwritten by a run that begins anew.
        Err(Error::Line { .. }) if !course.resume => Vec::new(),
        read => read?,
    };
    let is_chosen = |outcome: &Outcome| experiments.iter().any(|one| one.id == outcome.id);
    // Another effort is another experiment.
    let is_own = |outcome: &Outcome| outcome.effort == course.effort;
    outcomes.retain(|outcome| {
        let done = course.resume && !outcome.finding.failed;
        !is_own(outcome) || !is_chosen(outcome) || done
    });
    let mut file = rewritten(course.file, &outcomes)?;
    outcomes.retain(is_own);
    let mut own = outcomes;
    let takes = |one: &Experiment| (one.takes)(course.effort).as_secs_f64();
    let (mut took_s, mut expected_s) = (0.0, 0.0);
    for (at, experiment) in experiments.iter().enumerate() {
        let is_done = |id: &str| own.iter().any(|outcome| outcome.id == id);
        if is_done(experiment.id) {
            continue;
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let behind = experiments[at + 1..].iter().filter(|one| !is_done(one.id));
        let behind_s: f64 = behind.map(|one| takes(one)).sum();
        let slowness = (took_s + PRIOR_S) / (expected_s + PRIOR_S);
        let show = |part: f64| {
            let left_s = takes(experiment) * (1.0 - part).max(0.0) + behind_s;
            progress(Position {
                id: experiment.id,
                done: at,
                total: experiments.len(),
                part,
                left: Duration::from_secs_f64(slowness * left_s),
            });
        };
        show(0.0);
        let Some(outcome) = measure(experiment, course, &own, interrupted, &show) else {
            break;
        };
        append(&mut file, course.file, &outcome)?;
        took_s += outcome.took_s;
        expected_s += takes(experiment);
        own.push(outcome);
    }
    let place = |outcome: &Outcome| all().position(|one| one.id == outcome.id);
    // Of an experiment that there is no more.
    own.retain(|outcome| place(outcome).is_some());
    own.sort_by_key(place);
    Ok(own)
}

/// The result of an experiment, which may be that it failed; none where the user stopped it.
fn measure(
    experiment: &Experiment,
    course: &Course<'_>,
    earlier: &[Outcome],
    interrupted: &AtomicBool,
    progress: &(dyn Fn(f64) + Sync),
) -> Option<Outcome> {
    let begun = Instant::now();
    let found = (experiment.run)(&Context {
        effort: course.effort,
        threads: course.threads,
        evenkeel: course.evenkeel,
        interrupted,
        earlier,
        progress,
    });
    let finding = match found {
        Ok(finding) => finding,
        Err(Error::Stopped) => return None,
        Err(error) => Finding::failed(&format!("The experiment failed: {error}.")),
    };
    let took_s = begun.elapsed().as_secs_f64();
    Some(experiment.outcome(course.effort, finding, took_s))
}

/// The results of a file; none if there is no file.
///
/// # Errors
/// It cannot be read, or is not one of results.
pub fn read(path: &Path) -> Result<Vec<Outcome>, Error> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|source| Error::File {
            action: "read",
            path: path.to_owned(),
            source,
        })?,
    };
    let mut outcomes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // Without a newline it is what a run that was killed had begun to write.
        if !text.ends_with('\n') && at + 1 == text.lines().count() {
            break;
        }
        let outcome = serde_json::from_str(line).map_err(|error| Error::Line {
            path: path.to_owned(),
            line: at + 1,
            reason: error.to_string(),
        })?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn rewritten(path: &Path, outcomes: &[Outcome]) -> Result<File, Error> {
    let failed = |source| Error::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(failed)?;
    for outcome in outcomes {
        append(&mut file, path, outcome)?;
    }
    Ok(file)
}

fn append(file: &mut File, path: &Path, outcome: &Outcome) -> Result<(), Error> {
    let line = serde_json::to_string(outcome).expect("plain structures serialise") + "\n";
    let written = file.write_all(line.as_bytes()).and_then(|()| file.flush());
    written.map_err(|source| Error::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}
