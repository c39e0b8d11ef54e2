//! `evenkeel experiments`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use evenkeel_experiments::course::{self, Course, Position};
use evenkeel_experiments::experiment::Effort;
use evenkeel_experiments::result::Outcome;
use evenkeel_experiments::{document, page};

use crate::output::{self, Failure};
use crate::signals;

/// Regenerate the papers' tables and figures, each with a verdict
///
/// Each item of the papers is measured and compared with the paper. Items that were not measured are listed with the
/// reason. Results are written as they are measured, and --resume continues a stopped run; it also retries what
/// failed. NAMEs measure these experiments again and keep the other results. Ctrl-C ends the run after the current
/// experiment, or at once if the experiment runs other commands; --resume then repeats it.
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
    /// Long runs, as precise as the results should be
    #[arg(long)]
    full: bool,
    /// Continue a stopped run
    #[arg(long)]
    resume: bool,
    /// List the experiments, with the time each takes with --quick on two processors
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    json: output::Json,
    /// Write the results on one HTML page, with the figures drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the results as Markdown
    #[arg(long, value_name = "FILE", default_value = "RESULTS.md")]
    document: PathBuf,
    /// Where results are kept, one JSON object a line
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
    let said = AtomicUsize::new(usize::MAX);
    let ran = course::run(&course, &*signals::first_interrupts()?, &|position| {
        if shown {
            tell_part!("\r\x1b[K{}", line(&position));
        } else if said.swap(position.done, Ordering::Relaxed) != position.done {
            // What takes so long says in a log, too, where it is.
            tell!("evenkeel: {}", line(&position));
        }
    });
    if shown {
        tell_part!("\r\x1b[K");
    }
    let outcomes = ran?;
    let chosen = course::chosen(&arguments.names)?;
    let markdown = document::markdown(&outcomes);
    if let Some(path) = &arguments.html {
        output::write(path, &page::html(&outcomes))?;
    }
    // The document has what was measured before, too.
    let mut own = outcomes;
    own.retain(|outcome| chosen.iter().any(|one| one.id == outcome.id));
    let unfinished = chosen.len() - own.len();
    let is_all = arguments.names.is_empty() && unfinished == 0;
    let earlier = std::fs::read_to_string(&arguments.document).unwrap_or_default();
    let is_written = is_all || document::has_all(&markdown, &earlier);
    if is_written {
        output::write(&arguments.document, &markdown)?;
    } else {
        tell!(
            "evenkeel: {} is not changed: it has results of experiments that {} does not have; --document FILE writes these to another file",
            arguments.document.display(),
            arguments.results.display()
        );
    }
    let lines = || own.iter().map(json_line).collect();
    let text = || table(&own, is_written.then_some(&arguments.document));
    arguments.json.output(lines, text)?;
    if unfinished > 0 {
        tell!("evenkeel: stopped with {unfinished} experiments left; go on with --resume");
    }
    Ok(ExitCode::SUCCESS)
}

fn list(names: &[String]) -> Result<ExitCode, Failure> {
    let lines = course::chosen(names)?.into_iter().map(|one| {
        let takes_s = (one.takes)(Effort::Quick).as_secs();
        format!("{:<12} {takes_s:>4} s  {}\n", one.id, one.item)
    });
    output::write(Path::new("-"), &lines.collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

fn json_line(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("plain structures with text keys serialise") + "\n"
}

fn table(outcomes: &[Outcome], document: Option<&PathBuf>) -> String {
    let rows = outcomes
        .iter()
        .map(|one| format!("{:<18} {}\n", one.verdict.words(), one.paper.item));
    let more =
        document.map(|path| format!("What was measured, how, and why: {}\n", path.display()));
    format!(
        "{}\n{}\n{}",
        rows.collect::<String>(),
        document::summary(outcomes),
        more.unwrap_or_default()
    )
}

fn line(position: &Position<'_>) -> String {
    let Position {
        id,
        done,
        total,
        part,
        left,
    } = position;
    format!(
        "{} of {total}: {id}, {:.0} %, about {} left",
        done + 1,
        100.0 * part,
        minutes(*left)
    )
}

fn minutes(left: Duration) -> String {
    match left.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}
