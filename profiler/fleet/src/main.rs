//! `evenkeel-fleet`, which `evenkeel fleet` runs: argument parsing and output.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};
use evenkeel_fleet::error::Error;
use evenkeel_fleet::line::{Line, Screen};
use evenkeel_fleet::overview::Overview;
use evenkeel_fleet::place::Place;
use evenkeel_fleet::questions::{self, QUESTIONS, Question};
use evenkeel_fleet::reply::Reply;
use evenkeel_fleet::tables::{Fleet, Means};
use evenkeel_fleet::terminal::Layout;
use evenkeel_fleet::{interrupt, memory};
use tempfile::TempDir;

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
    /// Where the tables are: a directory, or s3://BUCKET/PREFIX with what the environment says (see below)
    #[arg(value_name = "DIR|s3://..")]
    tables: OsString,
    /// The question [default: shares; with --by, groups]
    #[arg(short, long, value_name = "NAME", value_parser = question_parser())]
    question: Option<&'static Question>,
    /// A query in SQL, from a file (- for standard input); the tables are intervals, nodes, times and moments
    #[arg(long, value_name = "FILE", conflicts_with_all = ["question", "by"])]
    sql: Option<PathBuf>,
    /// Groups to compare, each with all others: hosts, builds or classes of intervals. `period` compares the time
    /// since the newest build (with one build, the last day) with the time before
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Print all rows with all columns as JSON, or write them to a file (--json=FILE)
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = PRINTED
    )]
    json: Option<PathBuf>,
    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Rows that are shown, at most
    #[arg(short = 'k', long, value_name = "N", default_value_t = 25)]
    rows: usize,
    /// Threads of the engine [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Memory for the engine's joins, groups and sorts, such as 8GiB; larger groups and sorts use files in TMPDIR
    /// [default: 60 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    memory: Option<u64>,
}

/// In place of a file: standard output.
const PRINTED: &str = "-";

const EXAMPLES: &str = "\
Examples:
  evenkeel export web1.keel web2.keel --format parquet -o fleet
  evenkeel fleet fleet
  evenkeel fleet fleet --by host
  evenkeel fleet fleet --by build --json
  evenkeel fleet fleet --question tails --rows 60
  evenkeel fleet fleet --by host --html hosts.html
  AWS_ACCESS_KEY_ID=.. AWS_SECRET_ACCESS_KEY=.. AWS_REGION=.. evenkeel fleet s3://bucket/fleet
  echo \"SELECT host, SUM(intervals) AS n FROM moments WHERE class IS NULL GROUP BY host\" | evenkeel fleet fleet --sql -

Credentials for s3:// come from the environment alone: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION; for stores other
than Amazon's AWS_ENDPOINT_URL, with AWS_ALLOW_HTTP=true where that is not https; AWS_SKIP_SIGNATURE=true for public buckets.

Exit codes: 0 there is an answer; 2 there is none, and standard error says why; 130 it was interrupted (Ctrl-C), 143 terminated.";

/// Knows the questions by their list.
fn question_parser() -> impl TypedValueParser<Value = &'static Question> {
    let values = QUESTIONS.iter();
    let values = values.map(|question| PossibleValue::new(question.name).help(question.about));
    PossibleValuesParser::new(values)
        .map(|name| questions::named(&name).expect("the parser knows the list"))
}

/// Groups to compare.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Machines
    Host,
    /// Builds of the program
    Build,
    /// Classes of intervals: their labels
    Class,
    /// The time after against the time before
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
        .enable_all()
        .build()
        .map_err(Error::Start)?;
    // Removed at the end. Without it, the engine has its memory alone.
    let spill = TempDir::with_prefix("evenkeel-fleet-").ok();
    let means = Means {
        threads,
        memory_bytes: arguments.memory.unwrap_or_else(memory::allowed),
        spill: spill.as_ref().map(|spill| spill.path().to_owned()),
    };
    let screen = Arc::new(Screen::default());
    interrupt::heed(Arc::clone(&screen), means.spill.clone()).map_err(Error::Start)?;
    // On a thread of the engine's, for its stack.
    let answered = runtime.spawn(async move {
        let asked = asked(&arguments)?;
        answer(&arguments, &asked, &means, &screen).await
    });
    let text = match runtime.block_on(answered) {
        Ok(text) => text?,
        Err(error) => return Err(Error::Start(io::Error::other(error))),
    };
    print(&text)
}

/// The request to answer.
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

async fn answer(
    arguments: &Arguments,
    asked: &Asked,
    means: &Means,
    screen: &Arc<Screen>,
) -> Result<String, Error> {
    let place = arguments.place()?;
    let progress = Arc::default();
    let _line = Line::of(&progress, screen);
    let fleet = Fleet::open(&place, means, progress).await?;
    let warning = fleet.is_unfinished().then(|| {
        format!("an export to {place} was killed while its files took their places: the next export completes it, until then a part is missing")
    });
    if let Some(warning) = &warning {
        screen.print(&format!("evenkeel: {warning}"));
    }
    let reply = match *asked {
        Asked::Query(ref name, ref sql) => Reply::to_query(&fleet, name, sql).await?,
        Asked::Question(question, by) => {
            Reply::to_question(&fleet, question, by.map(By::dimension)).await?
        }
    };
    let is_printed = arguments.json.as_deref() == Some(Path::new(PRINTED));
    let overview = match (&arguments.html, is_printed, asked) {
        (None, true, _) | (None, _, Asked::Query(..)) => None,
        _ => Some(Overview::of(&fleet).await?),
    };
    if let (Some(path), Some(overview)) = (&arguments.html, &overview) {
        let warnings: Vec<String> = warning.into_iter().collect();
        let page = reply.page(&arguments.command(), overview, &warnings);
        write(path, page)?;
    }
    if let Some(path) = arguments.json.as_ref().filter(|_| !is_printed) {
        write(path, reply.json())?;
    }
    Ok(match is_printed {
        true => reply.json(),
        false => reply.text(overview.as_ref(), arguments.layout()),
    })
}

fn write(path: &Path, text: String) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

impl Arguments {
    fn place(&self) -> Result<Place, Error> {
        // What is no text is no address.
        match self.tables.to_str() {
            Some(text) => Place::parse(text),
            None => Ok(Place::Directory(self.tables.clone().into())),
        }
    }

    /// The command, for readers of the page.
    fn command(&self) -> String {
        let mut words = vec![
            "evenkeel fleet".to_owned(),
            self.tables.to_string_lossy().into(),
        ];
        if let Some(question) = self.question {
            words.extend(["--question".to_owned(), question.name.to_owned()]);
        }
        if let Some(by) = self.by {
            words.extend(["--by".to_owned(), by.dimension().to_owned()]);
        }
        if let Some(path) = &self.sql {
            words.extend(["--sql".to_owned(), path.display().to_string()]);
        }
        words.join(" ")
    }

    fn layout(&self) -> Layout {
        let width = io::stdout().is_terminal().then(|| {
            let size = terminal_size::terminal_size();
            size.map_or(WIDTH, |(width, _)| usize::from(width.0))
        });
        Layout {
            width,
            rows: self.rows,
            repeated: 0,
        }
    }
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
