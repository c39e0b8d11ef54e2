//! `evenkeel compare`.

mod changes;
mod differing;
mod groups;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use evenkeel_analysis::comparison::bounds::Bound;

use crate::output::{Failure, Json};
use crate::report::Ranking;
use groups::By;

/// Show what surely differs between recordings before and after a change, or between hosts or builds
///
/// Every figure has an interval and a verdict: better, worse, no difference told, or cannot be compared, with the
/// reason. Several recordings a side show how much equal runs differ; a single one cannot. With --by, recordings are
/// grouped by an attribute, and each group is compared with the others. The verdicts are corrected for the number of
/// comparisons.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel compare before.keel after.keel --html change.html
  evenkeel compare before1.keel before2.keel before3.keel -- after1.keel after2.keel after3.keel
  evenkeel compare before.keel after.keel --fail-if 'p99 > +10%' --fail-if 'finding XLogFlush > +5%'
  evenkeel compare --by host web1.keel web2.keel web3.keel
  evenkeel compare --by build --canary 3f2a fleet.keel
With --fail-if the exit code is 3 where a change is surely beyond its bound, and with --strict 4 where that is not told.")]
pub struct Arguments {
    /// The recording before the change and the one after it; with `--`, all before it are recordings before the
    /// change; with --by, any number; merged recordings too
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// Recordings after the change
    #[arg(last = true, value_name = "AFTER", conflicts_with = "by")]
    after: Vec<PathBuf>,
    /// Fail where a change is surely beyond a bound: 'p99 > +10%', 'mean > 5%', 'rate < -5%' or 'finding NAME > +5%'
    /// (its time in the mean interval); may be repeated
    #[arg(long, value_name = "BOUND", conflicts_with = "by")]
    fail_if: Vec<Bound>,
    /// Fail also where the data does not tell whether a change is beyond its bound
    #[arg(long, requires = "fail_if")]
    strict: bool,
    /// Compare groups of recordings
    #[arg(long, value_name = "ATTRIBUTE")]
    by: Option<By>,
    /// Compare only this group (the beginning of its name is enough) with the others
    #[arg(long, value_name = "GROUP", requires = "by")]
    canary: Option<String>,
    /// The format of standard output
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "by"
    )]
    format: Format,
    #[command(flatten)]
    json: Json,
    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    html: Option<PathBuf>,
    #[command(flatten)]
    ranking: Ranking,
}

/// Formats of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Text,
    /// For the summary of a build
    Markdown,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.by {
        Some(by) => groups::run(&arguments, by),
        None => changes::run(&arguments),
    }
}
