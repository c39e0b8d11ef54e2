//! `evenkeel`: argument parsing and calls into the crates, nothing else.
//!
//! Each command has a file or a directory with its arguments (`clap`) and the call into the crate that does the work.
//! `values` parses option values, `output` prints and writes, and `progress` draws progress. Usage errors end with
//! code 2 and name the correct form. ARCHITECTURE.md shows the crates below.

// `println!` panics if standard output cannot be written (a full disk); `output::print` reports the error. `eprintln!`
// panics likewise. `tell!` does not, since a session must remove its probes and finish its recording in any case.
#![deny(clippy::print_stdout, clippy::print_stderr)]

/// Writes a line to standard error, if that can be written.
macro_rules! tell {
    ($($text:tt)*) => { tell_part!("{}\n", format_args!($($text)*)) };
}

/// Writes part of a line to standard error, if that can be written.
macro_rules! tell_part {
    ($($text:tt)*) => {{
        let text = format_args!($($text)*);
        // Nobody is left to be told of the failure.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), text);
    }};
}

mod all_day;
mod arguments;
mod attach;
mod bench;
mod compare;
mod containers;
mod demo;
mod doctor;
mod experiments;
mod export;
mod fleet;
mod merge;
mod moments;
mod no_interval;
mod output;
mod packaging;
mod profile;
mod progress;
mod report;
mod selected;
mod signals;
mod simulate;
mod snapshot;
mod spans;
mod tune;
mod values;
#[cfg(test)]
mod written;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Makes the latency of transactional servers predictable: finds why it varies in an unmodified binary.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 all went well; 1 the profiled command itself failed; 2 evenkeel could not do what was asked;
3 and 4 see `evenkeel compare --help`."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Profile(Box<profile::Arguments>),
    Attach(Box<attach::Arguments>),
    Doctor(doctor::Arguments),
    Snapshot(snapshot::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
    Merge(merge::Arguments),
    Export(export::Arguments),
    Fleet(fleet::Arguments),
    Spans(spans::Arguments),
    Bench(bench::Arguments),
    Simulate(simulate::Arguments),
    Tune(Box<tune::Arguments>),
    Experiments(experiments::Arguments),
    Completions(packaging::Completions),
    Man(packaging::Pages),
}

fn main() -> ExitCode {
    // A reader that went away (`evenkeel report | head`) ends us quietly, as it ends any filter.
    // SAFETY: before any thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let words = arguments::normal(std::env::args_os());
    let result = match Cli::parse_from(words).command {
        Command::Demo(arguments) => demo::run(arguments),
        Command::Profile(arguments) => profile::run(*arguments),
        Command::Attach(arguments) => attach::run(*arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Snapshot(arguments) => snapshot::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Merge(arguments) => merge::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Fleet(arguments) => fleet::run(arguments, Cli::command()),
        Command::Spans(arguments) => spans::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Tune(arguments) => tune::run(*arguments),
        Command::Experiments(arguments) => experiments::run(arguments),
        Command::Completions(arguments) => packaging::completions(&arguments, Cli::command()),
        Command::Man(arguments) => packaging::pages(&arguments, Cli::command()),
    };
    result.unwrap_or_else(|error| {
        tell!("evenkeel: {error}");
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_every_command_go_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn waits_were_called_edges() {
        for option in ["--waits", "--edges"] {
            let line = [
                "evenkeel", "profile", option, "--preset", "postgres", "--", "postgres",
            ];
            let parsed = Cli::try_parse_from(line).expect("a command line");
            assert!(matches!(parsed.command, Command::Profile(arguments) if arguments.waits()));
        }
    }
}
