//! `evenkeel merge`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use evenkeel_report::messages;

use crate::output::Failure;
use crate::progress::Reading;
use crate::report;

/// Merge several recordings into one, as if a single run had recorded all intervals
///
/// Recordings of one build of a program (by build id) are matched by call site, those of different builds by
/// function. A call that only some recordings timed becomes its caller's own time, with a warning. Clocks of
/// different speed are converted to the first one's.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel merge host1.keel host2.keel host3.keel -o fleet.keel
  evenkeel merge fleet.keel host4.keel -o larger.keel
  evenkeel report fleet.keel")]
pub struct Arguments {
    /// Recordings made by `evenkeel profile -o` or `evenkeel merge -o`
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// Where to write the merged recording
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { recordings, output } = arguments;
    if recordings.len() < 2 {
        return Err(Failure::Usage(
            "name at least two recordings to merge".to_owned(),
        ));
    }
    let reading = Reading::of(&recordings);
    let merged = evenkeel_recording::merge(&recordings, &output, &reading.progress())?;
    drop(reading);
    let seen = merged.analysis.intervals_seen();
    if merged.cut {
        tell!(
            "evenkeel: one of {} ends early (the profiler was killed, found no room for it, or is still at work): what was drained is merged",
            report::names(&recordings)
        );
    }
    for warning in &merged.meta.facts.warnings {
        tell!("evenkeel: {}", messages::warning(warning));
    }
    tell!(
        "evenkeel: {} recordings, {seen} intervals seen, are in {}",
        recordings.len(),
        output.display()
    );
    Ok(ExitCode::SUCCESS)
}
