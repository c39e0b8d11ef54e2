//! `evenkeel export --format parquet`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evenkeel_analysis::findings::factors::described::described;
use evenkeel_export::columns::{Columns, Error, Run, hash};
use evenkeel_recording::{Minute, Observation, Recorded, Replayed};
use evenkeel_report::messages;

use crate::output::Failure;
use crate::progress::Reading;
use crate::report::{self, Ranking};

/// Period of sums, unless `--summary=DURATION` says otherwise.
const MINUTE_NS: u64 = 60_000_000_000;

/// Writes the recordings as tables below a directory.
pub fn run(recordings: &[PathBuf], directory: &Path) -> Result<ExitCode, Failure> {
    let reading = Reading::of(recordings);
    let observation = Observation::open_counted(recordings, &reading.progress())?;
    let recorded = observation.recordings();
    if recorded.iter().any(|one| one.meta.started.is_none()) {
        reading.say(
            "evenkeel: a recording does not say when it was made (an earlier version wrote it): its intervals begin in 1970"
        );
    }
    let runs = recorded.iter().enumerate().map(|(at, one)| as_run(at, one));
    let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    let count = runs.len();
    let ticks_per_ns = observation.ticks_per_ns();
    let mut columns = Columns::begin(directory, runs, ticks_per_ns).map_err(Failure::Columns)?;
    let replayed = match observation.is_of_sums() {
        true => add_minutes(&observation, &recorded, &mut columns, &reading)?,
        false => add_intervals(&observation, &mut columns)?,
    };
    reading.then("putting the profile together");
    let analysis = &replayed.analysis;
    // What is not known to be a function's own time, the finished profile says.
    let profile = report::profile_of(&replayed, recordings, &Ranking::default())?;
    drop(reading);
    for warning in &profile.warnings {
        tell!("evenkeel: {}", messages::warning(warning));
    }
    let nodes = analysis.with_tree(&replayed.sites, &profile.unpatched, described);
    let nodes = nodes.unwrap_or_default();
    let written = columns.finish(&nodes).map_err(Failure::Columns)?;
    tell!(
        "evenkeel: {} intervals of {count} {} are in {} ({} rows in {} files)",
        written.intervals,
        if count == 1 {
            "recording"
        } else {
            "recordings"
        },
        directory.display(),
        written.rows,
        written.files
    );
    Ok(ExitCode::SUCCESS)
}

fn add_intervals(observation: &Observation, columns: &mut Columns) -> Result<Replayed, Failure> {
    let replayed = observation.replay(&mut |interval| {
        let (of, paths) = (interval.recording, interval.paths);
        columns
            .add(
                of,
                &interval.observed,
                paths,
                interval.sites,
                interval.classes,
            )
            .map_err(as_recording)
    });
    Ok(replayed?)
}

fn add_minutes(
    observation: &Observation,
    recorded: &[Recorded],
    columns: &mut Columns,
    reading: &Reading,
) -> Result<Replayed, Failure> {
    let mut undated = 0;
    let replayed = observation.replay_sums(&mut |minute| {
        let of = minute.recording;
        let began = minute.observed.began_unix_ns.unwrap_or_else(|| {
            undated += 1;
            let started = recorded[of].meta.started;
            started.map_or(0, |started| started.unix_ns) + minute.observed.number * MINUTE_NS
        });
        let Minute {
            observed,
            paths,
            sites,
            classes,
            ..
        } = minute;
        columns
            .add_minute(of, began, &observed, paths, sites, classes)
            .map_err(as_recording)
    })?;
    if undated > 0 {
        reading.say(&format!(
            "evenkeel: {undated} minutes of sums do not say when they began (an earlier version wrote them): they count as minutes one after \
             the other from the beginning of their recording"
        ));
    }
    reading.say(
        "evenkeel: recordings made with --summary have no single intervals: the tables intervals and times get no rows of them, moments of their \
         classes no squares but those of the latency",
    );
    Ok(replayed)
}

fn as_recording(error: Error) -> evenkeel_recording::Error {
    match error {
        Error::Io { path, source } => evenkeel_recording::Error::File { path, source },
        error => evenkeel_recording::Error::File {
            path: PathBuf::new(),
            source: std::io::Error::other(error),
        },
    }
}

/// A recording is known by its beginning; one that does not have it, by all that is in its file.
fn as_run(at: usize, recorded: &Recorded) -> Result<Run, Failure> {
    let meta = &recorded.meta;
    let begun = match meta.started {
        Some(started) => format!("{}", started.unix_ns),
        None => {
            let bytes = std::fs::read(&recorded.path).map_err(|source| {
                evenkeel_recording::Error::File {
                    path: recorded.path.clone(),
                    source,
                }
            })?;
            format!("{:x} {at}", hash(&bytes))
        }
    };
    let words = [
        &meta.host,
        &meta.build,
        &meta.target,
        &meta.interval,
        &begun,
    ];
    Ok(Run {
        identity: words.map(String::as_str).join("\n"),
        host: meta.host.clone(),
        build: meta.build.clone(),
        program: meta.program().to_owned(),
        interval: meta.root.clone(),
        started: meta.started.map(|started| (started.ticks, started.unix_ns)),
    })
}
