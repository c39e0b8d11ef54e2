//! `evenkeel bench`.

pub mod compare;
pub mod options;
mod profiled;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use evenkeel_drive::{Beside, Recorded, benchmark, formats, page, table};

use crate::output::{self, Failure};
use crate::progress::Line;
use crate::signals;

use options::Options;

/// Exit code when the data is not as the workload allows.
pub const INCONSISTENT: u8 = 1;

/// The exit code of a finished benchmark.
pub fn ended(consistent: bool) -> ExitCode {
    if consistent {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCONSISTENT)
    }
}

/// Put a workload's load on the embedded store, PostgreSQL, MariaDB or SQLite and measure its latency
///
/// Without --rate and --load the loop is closed: each client starts its next transaction when the last one has ended.
/// With them it is open: transactions arrive on schedule whatever the target does, and latency counts from the
/// scheduled arrival. Ctrl-C ends the run and reports what was measured until then.
///
/// What a commit waits for: the embedded store syncs each commit with --set flush=eager-flush, writes without a sync
/// with lazy-flush, and does not write with lazy-write. SQLite has a write-ahead log that each commit syncs
/// (journal_mode=WAL, synchronous=FULL). With --set synchronous=NORMAL it writes without a sync; OFF never syncs. For
/// PostgreSQL the setting is synchronous_commit, for MariaDB innodb_flush_log_at_trx_commit.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    single: Single,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel bench tpcc --target postgres --clients 16 --for 30s
  evenkeel bench tpcc --target embedded --schedule ldsf --load 85% --html tpcc.html
  evenkeel bench tpcc --target sqlite --clients 2 --set synchronous=NORMAL
  evenkeel bench tpcc --target postgres --profile profile.json
  evenkeel bench ycsb-a --target mysql://root@127.0.0.1:3306/bench --rate 2000 --arrivals bursty:4:200ms
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' tpcc --load 85% --for 20s

Exit codes: 0 all went well; 1 the data violates the workload's consistency conditions; 2 the benchmark could not be
made.";

#[derive(Subcommand, Debug)]
enum Command {
    Compare(compare::Arguments),
}

/// A single benchmark.
#[derive(Args, Clone, Debug)]
struct Single {
    #[command(flatten)]
    options: Options,
    #[command(flatten, next_help_heading = "Output")]
    json: output::Json,
    /// Draw latency over time and its histogram on a self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Correlate age and remaining time of transactions at each lock that they waited for; embedded store only
    #[arg(long, help_heading = "Output")]
    grants: bool,
    /// Write every latency to a CSV file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    raw: Option<PathBuf>,
    #[command(flatten)]
    profile: profiled::ProfileOptions,
}

/// Runs the command: results on standard output, progress on standard error if that is a terminal.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // A server that ends closes its sockets: that is an error to report, not a reason to be ended by a signal.
    // SAFETY: before any thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    raise_descriptor_limit();
    match arguments.command {
        Some(Command::Compare(arguments)) => compare::run(arguments),
        None => single(arguments.single),
    }
}

fn single(arguments: Single) -> Result<ExitCode, Failure> {
    let interrupted = signals::first_interrupts()?;
    // Better known before the run than after it.
    arguments.json.check()?;
    arguments.html.as_deref().map_or(Ok(()), output::check)?;
    let settings = arguments.options.settings()?;
    let recorded = Recorded {
        grants: arguments.grants,
        raw: arguments.raw,
    };
    let mut profiled = arguments.profile.beside(&settings)?;
    let line = Line::new();
    let beside = profiled.as_mut().map(|beside| beside as &mut dyn Beside);
    let measured = benchmark(&settings, &recorded, beside, &line, &interrupted);
    line.clear();
    let report = measured?;
    if let Some(profiled) = profiled {
        profiled.write()?;
    }
    let json = arguments.json;
    json.output(|| formats::json(&report), || table::render(&report))?;
    if let Some(path) = &arguments.html {
        output::write(path, &page::html(&report))?;
    }
    Ok(ended(report.is_consistent()))
}

/// Raises the limit of open files: a client of a server needs four descriptors, and the usual limit of 1024 is too
/// low for thousands of clients. Where it cannot be raised, connecting reports the failure.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    #[test]
    fn every_form_of_results_has_its_option() {
        let command = Single::augment_args(Command::new("bench"));
        let options: Vec<&str> = command
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .collect();
        for (name, _) in &formats::FORMATS[1..] {
            assert!(
                options.contains(name),
                "no option --{name} in cli/src/bench/: {options:?}"
            );
        }
    }
}
