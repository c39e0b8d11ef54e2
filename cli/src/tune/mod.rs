//! `evenkeel tune`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use evenkeel_tune::{LoadSource, Objective, TuneSettings, kind_of, list, restore, result, tune};

use crate::bench::options::Options;
use crate::bench::{INCONSISTENT, raise_descriptor_limit};
use crate::output::{self, Failure};
use crate::progress::Line;
use crate::signals;
use crate::values::duration;

/// Find settings of a server that make its latency better, by trying them under load
///
/// The server is profiled first, and the settings that its findings point to are tried first. Candidates race in
/// interleaved rounds against the unchanged server, which is measured twice. Losers are dropped early, and fresh
/// rounds confirm the winner. The result is a ratio with its interval, or the statement that nothing helped beyond
/// noise. Unless --apply is given, the server's settings are restored. Changes are noted in a file first, and
/// --restore undoes them after a killed run.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Quantity to minimise: p99, p99.9, variance, mean, or l3 (the third norm of latency, which weights the tail)
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "p99",
        help_heading = "Search"
    )]
    objective: Objective,
    /// Knobs to try, separated by commas [default: all of --list-knobs]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Search"
    )]
    knobs: Vec<String>,
    /// Time for all runs; loading the data is not included
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration, help_heading = "Search")]
    budget: Duration,
    /// Permitted losses: durability (a crash may lose acknowledged commits), restart (of a server that evenkeel did
    /// not start)
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        value_enum,
        help_heading = "Search"
    )]
    allow: Vec<Allowed>,
    /// With --allow restart: the command that restarts the server, such as 'systemctl restart postgresql'
    #[arg(long, value_name = "COMMAND", help_heading = "Search")]
    restart_command: Option<String>,
    /// Leave the settings of a confirmed winner set
    #[arg(long, help_heading = "Search")]
    apply: bool,
    /// Do not profile: try knobs in the order of --list-knobs
    #[arg(long, help_heading = "Search")]
    no_profile: bool,
    /// A shell command that makes the load, instead of a workload. Its environment has PGHOST, PGPORT, PGUSER and
    /// PGDATABASE, or MYSQL_UNIX_PORT, or MYSQL_HOST and MYSQL_TCP_PORT. It must end by itself
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with = "workload",
        help_heading = "Load"
    )]
    command: Option<String>,
    /// A command that makes the data; runs once before --command
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "command",
        help_heading = "Load"
    )]
    prepare: Option<String>,
    /// The profiled interval, which is also measured with --command: one of the preset's (statement, transaction), or
    /// as `evenkeel attach` takes it [default: statement]
    #[arg(long, value_name = "SPEC", help_heading = "Load")]
    interval: Option<String>,
    /// The server's process, where it does not report it
    #[arg(long, value_name = "PID", help_heading = "Load")]
    pid: Option<i32>,
    #[command(flatten, next_help_heading = "Output")]
    json: output::Json,
    /// Write the result as a self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// List the knobs of the target, with the values for this machine
    #[arg(long, conflicts_with = "restore")]
    list_knobs: bool,
    /// Restore the settings that killed runs left changed: on the --target that is named, or wherever no password is
    /// needed
    #[arg(long)]
    restore: bool,
}

/// Permitted losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allowed {
    Durability,
    Restart,
}

/// Settings that could not be restored.
const NOT_WHOLE: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  evenkeel tune --target postgres tpcc --clients 16 --load 80% --for 10s --budget 20m
  evenkeel tune --target mariadb ycsb-a --rate 2000 --for 5s --objective variance --html tune.html
  evenkeel tune --target embedded tpcc --clients 32 --knobs schedule,pool-mb --budget 10m
  evenkeel tune --target postgres --prepare 'pgbench -i -s 10' --command 'pgbench -c 16 -T 8' --interval transaction
  evenkeel tune --target postgres://postgres@db/bench tpcc --rate 200 --apply
  evenkeel tune --target postgres --list-knobs
  evenkeel tune --restore --target postgres://postgres@db/bench

Exit codes: 0 all went well, whether something helps or not; 1 the data violates the workload's consistency conditions; 2 it
could not be done, and settings are as they were found, or the message says which are not.";

/// Runs the command: the result on standard output, progress on standard error if that is a terminal.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // A server that ends closes its sockets: that is an error to report, not a reason to be ended by a signal.
    // SAFETY: before any thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    raise_descriptor_limit();
    if arguments.list_knobs {
        return listed(arguments);
    }
    if arguments.restore {
        return restored(arguments);
    }
    let interrupted = signals::first_interrupts()?;
    arguments.html.as_deref().map_or(Ok(()), output::check)?;
    arguments.json.check()?;
    let (json, html) = (arguments.json.clone(), arguments.html.clone());
    let settings = settings(arguments)?;
    let line = Line::new();
    let tuned = tune(&settings, &line, &interrupted);
    line.clear();
    let tuned = tuned?;
    json.output(|| result::json(&tuned), || result::table(&tuned))?;
    if let Some(path) = &html {
        output::write(path, &result::html(&tuned))?;
    }
    Ok(if tuned.inconsistent.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCONSISTENT)
    })
}

fn settings(arguments: Arguments) -> Result<TuneSettings, Failure> {
    let may = |what| arguments.allow.contains(&what);
    let (durability, restart) = (may(Allowed::Durability), may(Allowed::Restart));
    if restart != arguments.restart_command.is_some() {
        return Err(Failure::Usage(
            "--allow restart and --restart-command COMMAND go together: only you know how your server is restarted".to_owned(),
        ));
    }
    let load = match arguments.command {
        Some(run) => LoadSource::Command {
            run,
            prepare: arguments.prepare,
        },
        None => LoadSource::Workload,
    };
    let bench = match &load {
        LoadSource::Workload => arguments.options.settings()?,
        LoadSource::Command { .. } => arguments.options.settings_of(String::new())?,
    };
    Ok(TuneSettings {
        bench,
        load,
        interval: arguments.interval,
        pid: arguments.pid,
        objective: arguments.objective,
        knobs: arguments.knobs,
        budget: arguments.budget,
        durability,
        restart_command: arguments.restart_command,
        apply: arguments.apply,
        profile: !arguments.no_profile,
    })
}

fn listed(arguments: Arguments) -> Result<ExitCode, Failure> {
    let bench = arguments.options.settings_of(String::new())?;
    output::print(&list(kind_of(&bench.target)?))?;
    Ok(ExitCode::SUCCESS)
}

fn restored(arguments: Arguments) -> Result<ExitCode, Failure> {
    let bench = arguments.options.settings_of(String::new())?;
    // The default target has no settings to restore, so it selects all targets.
    let all = bench.target == evenkeel_drive::target::address::Address::Embedded;
    let restored = restore(&bench, all, arguments.restart_command.as_deref())?;
    output::print(&(restored.lines.join("\n") + "\n"))?;
    Ok(if restored.whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(NOT_WHOLE)
    })
}
