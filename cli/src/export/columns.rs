//! `evenkeel export --format parquet`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evenkeel_analysis::findings::factors::described::described;
use evenkeel_export::columns::{Columns, Error, Run};
use evenkeel_recording::{Minute, Observation, Recorded, Replayed};
use evenkeel_report::messages;

use crate::output::Failure;
use crate::progress::Reading;
use crate::report::{self, Ranking};

/// Writes the recordings as tables below a directory.
pub fn run(recordings: &[PathBuf], directory: &Path) -> Result<ExitCode, Failure> {
    let reading = Reading::of(recordings);
    let observation = Observation::open_counted(recordings, &reading.progress())?;
    let recorded = observation.recordings();
    let runs: Vec<Run> = recorded.iter().map(as_run).collect();
    let count = runs.len();
    let ticks_per_ns = observation.ticks_per_ns();
    let mut columns = Columns::begin(directory, runs, ticks_per_ns).map_err(Failure::Columns)?;
    let replayed = match observation.is_of_sums() {
        true => add_minutes(&observation, &mut columns, &reading)?,
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
    columns: &mut Columns,
    reading: &Reading,
) -> Result<Replayed, Failure> {
    let replayed = observation.replay_sums(&mut |minute| {
        let of = minute.recording;
        let Minute {
            observed,
            paths,
            sites,
            classes,
            ..
        } = minute;
        columns
            .add_minute(of, &observed, paths, sites, classes)
            .map_err(as_recording)
    })?;
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

/// A recording is known by its beginning.
fn as_run(recorded: &Recorded) -> Run {
    let meta = &recorded.meta;
    let begun = meta.started.unix_ns.to_string();
    let words = [
        &meta.host,
        &meta.build,
        &meta.target,
        &meta.interval,
        &begun,
    ];
    Run {
        identity: words.map(String::as_str).join("\n"),
        host: meta.host.clone(),
        build: meta.build.clone(),
        program: meta.program().to_owned(),
        interval: meta.root.clone(),
        started: (meta.started.ticks, meta.started.unix_ns),
    }
}
