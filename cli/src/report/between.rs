//! `--since` and `--until`: the minutes of a recording of sums that are reported.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use evenkeel_recording::{Meta, first_meta};
use evenkeel_session::clock::unix_ns;

use crate::moments;
use crate::output::Failure;

/// Two moments.
#[derive(Args, Default)]
pub struct Between {
    /// Of recordings made with --summary: report the minutes from then on. 14:00 (the last time that it was so late), '2026-11-26 14:00', or
    /// 30m (ago)
    #[arg(long, value_name = "TIME", value_parser = moments::moment, conflicts_with = "timeline")]
    since: Option<SystemTime>,
    /// The same: report the minutes until then
    #[arg(long, value_name = "TIME", value_parser = moments::moment, conflicts_with = "timeline")]
    until: Option<SystemTime>,
}

impl Between {
    /// The moments, nanoseconds since 1970; nothing where the user gave none.
    pub fn moments(&self) -> Result<Option<[u64; 2]>, Failure> {
        if self.since.is_none() && self.until.is_none() {
            return Ok(None);
        }
        let since = self.since.unwrap_or(UNIX_EPOCH);
        let until = self.until.unwrap_or_else(SystemTime::now);
        if since >= until {
            return Err(Failure::Usage(format!(
                "--since ({}) is not before --until ({}); give the day as well: --since '2026-11-26 14:00'",
                moments::shown(since),
                moments::shown(until)
            )));
        }
        Ok(Some([unix_ns(since), unix_ns(until)]))
    }

    /// The files that are named, and of each directory the recordings in it: those that may have something between the moments.
    pub fn files(&self, named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let moments = self.moments()?;
        let mut files = Vec::new();
        for path in named {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            let all = recordings(path)?;
            let wanted = all.iter().filter(|file| match moments {
                Some(moments) => may_have(file, moments),
                None => true,
            });
            let wanted: Vec<PathBuf> = wanted.cloned().collect();
            if wanted.is_empty() {
                return Err(Failure::Usage(none_in(path, &all)));
            }
            files.extend(wanted);
        }
        Ok(files)
    }
}

/// The recordings in a directory, in order of their names.
fn recordings(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(directory).map_err(|error| {
        Failure::Usage(format!("{} cannot be read: {error}", directory.display()))
    })?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "keel"))
        .collect();
    files.sort();
    Ok(files)
}

/// When a recording began, and when something was last written to it, nanoseconds since 1970.
fn times(file: &Path) -> Option<Range<u64>> {
    let began = first_meta(file).ok()??.started.unix_ns;
    let written = fs::metadata(file).ok()?.modified().ok()?;
    Some(began..unix_ns(written))
}

/// Whether a recording may have intervals of this time. A file without times may: the reader decides.
fn may_have(file: &Path, [since, until]: [u64; 2]) -> bool {
    times(file).is_none_or(|times| times.start < until && times.end > since)
}

fn none_in(directory: &Path, all: &[PathBuf]) -> String {
    let directory = directory.display();
    let times = all.iter().filter_map(|file| times(file));
    match times.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) {
        Some(times) => format!(
            "no recording in {directory} has that time; those there are of {}",
            shown(&times)
        ),
        None => format!("{directory} has no recordings (*.keel)"),
    }
}

/// Why no minute of what was read counts.
pub fn nothing(meta: &Meta, name: &str) -> Failure {
    Failure::Usage(match meta.summary {
        true => format!("{name} has no minute of that time: it was not being profiled then"),
        false => format!(
            "{name} has single intervals and no sums by minute: --since and --until need a recording made with --summary"
        ),
    })
}

/// Says which minutes are reported.
pub fn say(covered: &Range<u64>) {
    tell!("evenkeel: what follows is of {}", shown(covered));
}

fn shown(times: &Range<u64>) -> String {
    let at = |ns: u64| moments::shown(UNIX_EPOCH + Duration::from_nanos(ns));
    format!("{} to {}", at(times.start), at(times.end))
}
