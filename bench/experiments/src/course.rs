//! Experiments one after another. Each result is appended to a file as it comes, so that a stopped run can go on.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Error;
use crate::catalogue::all;
use crate::experiment::{Context, Effort, Experiment};
use crate::result::Outcome;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Course<'a> {
    /// Names of experiments; none: all.
    pub names: &'a [String],
    /// How much is done for each.
    pub effort: Effort,
    /// Where results are kept, a line each.
    pub file: &'a Path,
    /// Results that are there already are kept, and not measured again.
    pub resume: bool,
    /// Threads of a simulation.
    pub threads: usize,
    /// This program, for experiments that are made of its other commands.
    pub evenkeel: &'a Path,
}

/// Where a course is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position<'a> {
    /// The experiment that goes on.
    pub id: &'a str,
    /// Experiments done, those of an earlier run among them.
    pub done: usize,
    /// All.
    pub total: usize,
    /// How far it is, 0 to 1.
    pub part: f64,
    /// Time left, from what those before took; none before the first.
    pub left: Option<Duration>,
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

/// Runs a course and returns the results of its experiments, in the order of the list. `interrupted` ends it: behind the
/// experiment that goes on, or at once where that is made of other commands.
///
/// # Errors
/// A name is not known, the file cannot be read or written, or an experiment failed.
pub fn run(
    course: &Course<'_>,
    interrupted: &AtomicBool,
    progress: &(dyn Fn(Position<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let experiments = chosen(course.names)?;
    let mut outcomes = if course.resume {
        read(course.file)?
    } else {
        Vec::new()
    };
    // Another effort is another experiment.
    outcomes.retain(|outcome| outcome.effort == course.effort);
    let mut file = rewritten(course.file, &outcomes)?;
    let (begun, mut measured) = (Instant::now(), 0);
    for (at, experiment) in experiments.iter().enumerate() {
        if outcomes.iter().any(|outcome| outcome.id == experiment.id) {
            continue;
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let left = experiments.len() - at;
        let each = (measured > 0).then(|| begun.elapsed() / measured);
        let show = |part: f64| {
            progress(Position {
                id: experiment.id,
                done: at,
                total: experiments.len(),
                part,
                left: each.map(|each| each.mul_f64((left as f64 - part).max(0.0))),
            });
        };
        show(0.0);
        let outcome = match measure(experiment, course, &outcomes, interrupted, &show) {
            Err(Error::Stopped) => break,
            measured => measured?,
        };
        append(&mut file, course.file, &outcome)?;
        outcomes.push(outcome);
        measured += 1;
    }
    let place = |outcome: &Outcome| experiments.iter().position(|one| one.id == outcome.id);
    outcomes.retain(|outcome| place(outcome).is_some());
    outcomes.sort_by_key(place);
    Ok(outcomes)
}

fn measure(
    experiment: &Experiment,
    course: &Course<'_>,
    earlier: &[Outcome],
    interrupted: &AtomicBool,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Outcome, Error> {
    let begun = Instant::now();
    let finding = (experiment.run)(&Context {
        effort: course.effort,
        threads: course.threads,
        evenkeel: course.evenkeel,
        interrupted,
        earlier,
        progress,
    })?;
    let took_s = begun.elapsed().as_secs_f64();
    Ok(Outcome::new(experiment, course.effort, finding, took_s))
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
