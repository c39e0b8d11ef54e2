//! `evenkeel experiments`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use evenkeel_experiments::course::{self, Course, Position};
use evenkeel_experiments::experiment::Effort;
use evenkeel_experiments::result::Outcome;
use evenkeel_experiments::{document, page};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output::{self, Failure};

/// Regenerate the papers' tables and figures, each with a verdict
///
/// Each item of the papers is measured and compared with what the paper says; what is not measured is listed with its reason. Results
/// are written as they come, so that a stopped run goes on with --resume. Ctrl-C ends it behind the
/// experiment that goes on, or at once where that puts load on a server; it is begun anew then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evenkeel experiments --list
  evenkeel experiments --quick --html results.html
  evenkeel experiments figure-4.15 figure-4.16 --full --json
  evenkeel experiments --full --resume")]
pub struct Arguments {
    /// Experiments, such as figure-4.9 [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Few seeds and short runs: half an hour at most (default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As precise as the results are meant to be
    #[arg(long)]
    full: bool,
    /// Go on where a stopped run was
    #[arg(long)]
    resume: bool,
    /// Name the experiments and do nothing
    #[arg(long)]
    list: bool,
    /// Print one JSON object an experiment
    #[arg(long)]
    json: bool,
    /// Write the results on one HTML page, with the figures drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the results as Markdown
    #[arg(long, value_name = "FILE", default_value = "RESULTS.md")]
    document: PathBuf,
    /// Where results are kept as they come, an object a line
    #[arg(
        long,
        value_name = "FILE",
        default_value = "evenkeel-experiments.jsonl"
    )]
    results: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        return list(&arguments.names);
    }
    for path in arguments.html.iter().chain([&arguments.document]) {
        output::check(path)?;
    }
    let evenkeel = std::env::current_exe()
        .map_err(|error| Failure::Usage(format!("cannot find this program's own file: {error}")))?;
    let course = Course {
        names: &arguments.names,
        effort: if arguments.full {
            Effort::Full
        } else {
            Effort::Quick
        },
        file: &arguments.results,
        resume: arguments.resume,
        threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        evenkeel: &evenkeel,
    };
    let shown = output::stderr_is_terminal();
    let ran = course::run(&course, &*interrupts()?, &|position| {
        if shown {
            eprint!("\r\x1b[K{}", line(&position));
        }
    });
    if shown {
        eprint!("\r\x1b[K");
    }
    let outcomes = ran?;
    output::write(&arguments.document, &document::markdown(&outcomes))?;
    if let Some(path) = &arguments.html {
        output::write(path, &page::html(&outcomes))?;
    }
    let text = if arguments.json {
        outcomes.iter().map(json_line).collect()
    } else {
        table(&outcomes, &arguments.document)
    };
    output::write(Path::new("-"), &text)?;
    let unfinished = course::chosen(&arguments.names)?.len() - outcomes.len();
    if unfinished > 0 {
        eprintln!("evenkeel: stopped with {unfinished} experiments left; go on with --resume");
    }
    Ok(ExitCode::SUCCESS)
}

fn list(names: &[String]) -> Result<ExitCode, Failure> {
    let lines = course::chosen(names)?
        .into_iter()
        .map(|one| format!("{:<12} {}\n", one.id, one.item));
    output::write(Path::new("-"), &lines.collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

fn json_line(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("plain structures with text keys serialise") + "\n"
}

fn table(outcomes: &[Outcome], document: &Path) -> String {
    let rows = outcomes
        .iter()
        .map(|one| format!("{:<18} {}\n", one.verdict.words(), one.paper.item));
    format!(
        "{}\n{}\nWhat was measured, how, and why: {}\n",
        rows.collect::<String>(),
        document::summary(outcomes),
        document.display()
    )
}

fn line(position: &Position<'_>) -> String {
    let Position {
        id,
        done,
        total,
        part,
        ..
    } = position;
    let left = position.left.map_or(String::new(), |left| {
        format!(", about {} left", minutes(left))
    });
    format!("{} of {total}: {id}, {:.0} %{left}", done + 1, 100.0 * part)
}

fn minutes(left: Duration) -> String {
    match left.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// A flag that the first Ctrl-C raises; the second ends the process as usual.
fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let registered =
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupted))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)));
        registered.map_err(|error| Failure::Usage(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(interrupted)
}
