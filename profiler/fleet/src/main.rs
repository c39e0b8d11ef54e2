//! `evenkeel-fleet`, which `evenkeel fleet` runs: argument parsing and output.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};
use evenkeel_export::columns::schema::Table;
use evenkeel_fleet::answer::Answer;
use evenkeel_fleet::error::Error;
use evenkeel_fleet::questions::{self, QUESTIONS, Question, Shown};
use evenkeel_fleet::tables::Fleet;
use evenkeel_fleet::terminal::{self, Layout};
use evenkeel_report::units;
use serde_json::{Value, json};

/// Ask the recordings of many hosts: which call paths vary, and who differs from the others
///
/// Answers questions from a directory of tables, to which `evenkeel export --format parquet -o DIR` adds recordings. Every question is plain
/// SQL: the files of sql/, which other engines answer with the same numbers.
#[derive(Parser)]
#[command(
    name = "evenkeel-fleet",
    bin_name = "evenkeel fleet",
    version,
    max_term_width = 100,
    after_help = EXAMPLES
)]
struct Arguments {
    /// The directory of tables
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What is asked [default: shares; with --by, groups]
    #[arg(short, long, value_name = "NAME", value_parser = question_parser())]
    question: Option<&'static Question>,
    /// A query of your own, from a file (- for standard input); the tables are intervals, nodes, times and moments
    #[arg(long, value_name = "FILE", conflicts_with_all = ["question", "by"])]
    sql: Option<PathBuf>,
    /// Whom to set beside one another, each with all others together: hosts, builds, classes of intervals, or what came after the newest build (with
    /// one build, on the last day) with what came before
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Print all rows with all columns as JSON
    #[arg(long)]
    json: bool,
    /// Rows that are shown, at most
    #[arg(short = 'k', long, value_name = "N", default_value_t = 25)]
    rows: usize,
    /// Threads of the engine [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel export web1.keel web2.keel --format parquet -o fleet
  evenkeel fleet fleet
  evenkeel fleet fleet --by host
  evenkeel fleet fleet --by build --json
  evenkeel fleet fleet --question tails --rows 60
  echo \"SELECT host, SUM(intervals) AS n FROM moments WHERE class IS NULL GROUP BY host\" | evenkeel fleet fleet --sql -

Exit codes: 0 there is an answer; 2 there is none, and standard error says why.";

/// Knows the questions by their list.
fn question_parser() -> impl TypedValueParser<Value = &'static Question> {
    let values = QUESTIONS.iter();
    let values = values.map(|question| PossibleValue::new(question.name).help(question.about));
    PossibleValuesParser::new(values)
        .map(|name| questions::named(&name).expect("the parser knows the list"))
}

/// What is set beside one another.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Machines
    Host,
    /// Builds of the program
    Build,
    /// Classes of intervals: their labels
    Class,
    /// What came after, and what before
    Period,
}

impl By {
    fn dimension(self) -> &'static str {
        match self {
            By::Host => "host",
            By::Build => "build",
            By::Class => "class",
            By::Period => "period",
        }
    }
}

/// What the whole fleet is.
const OVERVIEW: &str = "\
SELECT COUNT(DISTINCT host) AS hosts, COUNT(DISTINCT build) AS builds, COUNT(DISTINCT run) AS recordings,
    CAST(SUM(intervals) AS BIGINT) AS intervals, MIN(day) AS first_day, MAX(day) AS last_day
FROM moments WHERE class IS NULL AND intervals IS NOT NULL";

/// Bytes of a stack: plans of long queries are walked by recursion.
const STACK_BYTES: usize = 32 << 20;
/// Columns where the terminal does not say.
const WIDTH: usize = 100;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evenkeel: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Error> {
    let threads = match arguments.threads {
        Some(threads) => threads.get(),
        None => thread::available_parallelism().map_or(1, NonZeroUsize::get),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(Error::Start)?;
    // On a thread of the engine's, for its stack.
    let answered = runtime.spawn(async move {
        let asked = asked(&arguments)?;
        answer(&arguments, &asked, threads).await
    });
    let text = match runtime.block_on(answered) {
        Ok(text) => text?,
        Err(error) => return Err(Error::Start(io::Error::other(error))),
    };
    print(&text)
}

/// What is to be answered.
enum Asked {
    Question(&'static Question, Option<By>),
    Query(String, String),
}

fn asked(arguments: &Arguments) -> Result<Asked, Error> {
    if let Some(path) = &arguments.sql {
        let read = match path.as_os_str() == "-" {
            true => io::read_to_string(io::stdin()),
            false => fs::read_to_string(path),
        };
        let sql = read.map_err(|source| Error::Query {
            path: path.clone(),
            source,
        })?;
        return Ok(Asked::Query(path.display().to_string(), sql));
    }
    let by = arguments.by;
    let otherwise = if by.is_some() { "groups" } else { "shares" };
    let question = arguments.question.or(questions::named(otherwise));
    let question = question.expect("one of the list");
    if by.is_some() && question.name != "groups" {
        return Err(Error::Usage(format!(
            "{} is asked of all together: leave --by out, or --question",
            question.name
        )));
    }
    Ok(Asked::Question(question, by))
}

async fn answer(arguments: &Arguments, asked: &Asked, threads: usize) -> Result<String, Error> {
    let fleet = Fleet::open(&arguments.directory, threads).await?;
    if fleet.is_unfinished() {
        eprintln!(
            "evenkeel: an export to {} was killed while its files took their places: the next export completes it, until then a part is missing",
            arguments.directory.display()
        );
    }
    let (question, by) = match asked {
        Asked::Query(name, sql) => {
            let answer = fleet.ask(name, sql).await?;
            let shown = terminal::all_columns(&answer);
            return Ok(match arguments.json {
                true => as_json(None, None, &answer),
                false => as_table(arguments, &answer, &shown, 0),
            });
        }
        Asked::Question(question, by) => (question, by),
    };
    for &table in question.needs {
        if fleet.rows(table) == 0 {
            return Err(Error::Empty {
                question: question.name.to_owned(),
                table: table.name(),
                advice: match table {
                    Table::Intervals | Table::Times => {
                        "recordings made with --summary have no single intervals; add one that was made without"
                    }
                    _ => {
                        "the recordings hold no complete interval; record for longer, or with the server under load"
                    }
                },
            });
        }
    }
    let dimension = by.map(By::dimension);
    let sql = match dimension {
        Some(dimension) => question.of_dimension(dimension),
        None => question.sql.to_owned(),
    };
    let answer = fleet.ask(question.name, &sql).await?;
    if arguments.json {
        return Ok(as_json(Some(question.name), dimension, &answer));
    }
    let overview = fleet.ask("the overview", OVERVIEW).await?;
    let mut text = heading(&overview);
    text.push_str(&format!("{}\n\n", question.about));
    match answer.rows.is_empty() {
        true => text.push_str(&format!("{}\n", question.nothing)),
        false => {
            let mut shown = question.shown();
            let known = shown.len();
            shown.retain(|shown| dimension.is_none() || shown.column != "dimension");
            let repeated = question.repeated() - (known - shown.len());
            text.push_str(&as_table(arguments, &answer, &shown, repeated));
        }
    }
    Ok(text)
}

/// `3 hosts, 2 builds, 3 recordings, 9,000 intervals, 2023-11-14 to 2023-11-15 (UTC)`
fn heading(overview: &Answer) -> String {
    let value = |name: &str| {
        let at = overview.column(name)?;
        overview.rows.first()?.get(at)
    };
    let counted = |name: &str, one: &str| {
        let count = value(name).and_then(Value::as_u64).unwrap_or_default();
        let many = if count == 1 { "" } else { "s" };
        format!("{} {one}{many}", units::count(count))
    };
    let day = |name: &str| value(name).and_then(Value::as_str).unwrap_or_default();
    let days = match (day("first_day"), day("last_day")) {
        (first, last) if first == last => first.to_owned(),
        (first, last) => format!("{first} to {last}"),
    };
    format!(
        "{}, {}, {}, {}, {days} (UTC)\n",
        counted("hosts", "host"),
        counted("builds", "build"),
        counted("recordings", "recording"),
        counted("intervals", "interval"),
    )
}

fn as_json(question: Option<&str>, by: Option<&str>, answer: &Answer) -> String {
    let all = json!({ "question": question, "by": by, "rows": answer.json() });
    format!("{all:#}\n")
}

fn as_table(arguments: &Arguments, answer: &Answer, shown: &[Shown], repeated: usize) -> String {
    let width = io::stdout().is_terminal().then(|| {
        let size = terminal_size::terminal_size();
        size.map_or(WIDTH, |(width, _)| usize::from(width.0))
    });
    let layout = Layout {
        width,
        rows: arguments.rows,
        repeated,
    };
    terminal::table(answer, shown, layout)
}

fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that went away (`| head`) has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Usage(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
