//! `evenkeel profile`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use evenkeel_analysis::SLOWEST;
use evenkeel_analysis::profile::SamplingRule;
use evenkeel_intervals::presets::{JAVA_PRESETS, JavaPreset, PRESETS, Preset};
use evenkeel_intervals::spec::{NamedCall, Role};
use evenkeel_report::{advice, html, json, terminal};
use evenkeel_session::ending::Ending;
use evenkeel_session::launch::CommandLine;
use evenkeel_session::profile::Planting;
use evenkeel_session::refine::Limits;
use evenkeel_session::{Outcome, Settings, Subject};

use crate::all_day::{Exporter, Exporting, Metrics};
use crate::moments::recording_in;
use crate::output::{self, Failure};
use crate::progress::{LiveProgress, Progress, SessionProgress};
use crate::selected::Selected;
use crate::snapshot::Answering;
use crate::{signals, values};

/// Run a command and find out why the latency of its intervals varies (tail latency)
///
/// The command is started with the agent preloaded and is followed through fork and exec. Its standard streams are
/// not changed. The session ends at Ctrl-C, after --for, or when the command ends, and prints a report on standard
/// error.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{INTERVALS}"))]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Leave the command running after --for or Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Run the command as this user (needs root)
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Options that `profile` and `attach` share.
#[derive(Args)]
pub struct Options {
    #[arg(long, value_name = "NAME", help = preset_help())]
    preset: Option<String>,
    /// The interval: FUNCTION, CALLER>FUNCTION, BEGIN..END or `annotated`, with options (see below), or an interval
    /// of the preset
    #[arg(long, value_name = "SPEC")]
    interval: Option<String>,
    /// Profile for this long, then remove the hooks; a command that was started is asked to stop [default: until it
    /// ends]
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    duration: Option<Duration>,
    /// Record to a file, or to a new one in a directory that is there, for `evenkeel report` and `evenkeel compare`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record only sums, one set a minute (or DURATION), to profile all day. The file grows with the number of call
    /// paths, not with the load: 0.4 MB a set for PostgreSQL with 860 probes. A killed session loses the last set
    /// only. Single intervals and waits are not recorded
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "1m",
        value_parser = values::duration)]
    summary: Option<Duration>,
    #[command(flatten)]
    metrics: Metrics,
    #[command(flatten)]
    json: output::Json,
    /// Write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Ask at each step which functions to expand, instead of expanding those with the highest score
    #[arg(long)]
    manual: bool,
    /// Show the profile on the full screen while it is made; q ends the run with its report
    #[arg(long)]
    live: bool,
    /// Most call sites that are timed at once; sites that never run do not count
    #[arg(long, value_name = "N", default_value_t = 200)]
    max_probes: usize,
    /// Cost allowed, estimated and measured, as a fraction of the latency
    #[arg(long, value_name = "FRACTION", default_value = "3%", value_parser = values::fraction)]
    max_overhead: f64,
    /// Which intervals to record where recording all would cost too much. latency: decided when an interval ends; all
    /// slow ones and a sample of the others, with weights. uniform: decided when it begins, each with the same
    /// probability. all: every interval, at any cost. With --waits, latency and uniform record all intervals of short
    /// time windows
    #[arg(long, value_name = "latency|uniform|all", default_value = "latency", value_parser = values::sampling)]
    sampling: SamplingRule,
    /// Number of the slowest intervals to keep whole, with their times and calls (`evenkeel report FILE --slowest`)
    #[arg(long, value_name = "N", default_value_t = SLOWEST)]
    slowest: usize,
    /// Longest stop of a Java virtual machine after which the profiler takes a further step [default: no bound, at
    /// most four steps of usually 10 to 60 ms]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    max_pause: Option<Duration>,
    /// Contribution to the variance below which a function is neither expanded nor reported
    #[arg(long, value_name = "FRACTION", default_value = "1%", value_parser = values::fraction)]
    threshold: f64,
    /// Exponent of the specificity in the ranking
    #[arg(long, value_name = "1|2|3", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3))]
    specificity: u32,
    /// Factors reported
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    k: usize,
    /// Tail shown with the variance: p95, p99 or p99.9
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", value_parser = values::tail)]
    tail: String,
    /// Hook the first N call sites below the interval, or `every` site of the program, without refinement: measures
    /// the cost of probes, and tests that they break nothing
    #[arg(long, value_name = "N|every", value_parser = planting)]
    plant: Option<Planting>,
    /// Tell off-CPU time apart (lock contention with its holder, disk, run-queue delay), and follow intervals to the
    /// threads and processes that they wait for: the waker's calls appear below the wait
    #[arg(long, alias = "edges")]
    waits: bool,
    /// A function that acquires one of the target's own locks; implies --waits, as do the four options below
    #[arg(long, value_name = "CALL")]
    acquire: Vec<String>,
    /// A function that releases such a lock
    #[arg(long, value_name = "CALL")]
    release: Vec<String>,
    /// A function that puts a task into a queue
    #[arg(long, value_name = "CALL")]
    enqueue: Vec<String>,
    /// A function that takes a task out of a queue
    #[arg(long, value_name = "CALL")]
    dequeue: Vec<String>,
    /// A function that starts work on a keyed interval: from this call on, the thread's time counts towards it
    #[arg(long, value_name = "CALL")]
    work: Vec<String>,
}

/// Every preset with its intervals; the first interval is the default.
fn preset_help() -> String {
    let preset = |preset: &Preset| {
        let intervals: Vec<&str> = preset.intervals.iter().map(|known| known.name).collect();
        format!("{} ({})", preset.name, intervals.join(", "))
    };
    let java = |preset: &JavaPreset| {
        let intervals: Vec<&str> = preset.intervals.iter().map(|known| known.name).collect();
        format!("{} ({})", preset.name, intervals.join(", "))
    };
    let presets: Vec<String> = PRESETS.iter().map(preset).collect();
    let java: Vec<String> = JAVA_PRESETS.iter().map(java).collect();
    format!(
        "A server whose intervals are known [default: the program's, if it has one]: {}; in a Java virtual machine {}",
        presets.join(", "),
        java.join(", ")
    )
}

impl Arguments {
    /// Whether the options ask to follow intervals across waits.
    #[cfg(test)]
    pub fn waits(&self) -> bool {
        self.options.waits
    }
}

const EXAMPLES: &str = "\
Examples:
  evenkeel profile --preset postgres --for 60s -- postgres -D /var/lib/postgresql/data
  evenkeel profile --preset postgres --interval transaction -o before.keel -- postgres -D data
  evenkeel profile --interval 'handle_request,label=text:1' -- ./server --port 8080
  evenkeel profile --interval 'execute_packet,label=text:look_up:1' -- ./server
  evenkeel profile --interval 'server.c:begin_work..end_work,within=worker_loop' -- ./server
  evenkeel profile --preset postgres --summary -o day.keel -- postgres -D data
  evenkeel profile --preset postgres --summary --metrics 127.0.0.1:9464 -- postgres -D data
  evenkeel profile --interval 'libstore.so!commit' --html commit.html -- ./server
  evenkeel profile --preset postgres --sampling uniform -o uniform.keel -- postgres -D data
  evenkeel profile --preset mariadb --waits --html waits.html -- mariadbd --datadir=data
  evenkeel profile --interval com.example.Checkout.handle -- java -jar app.jar
  evenkeel profile --interval 'new_request..free_request,key=returned:0' --work 'handle,key=0' -- ./server";

/// The forms of intervals and functions, for the help.
pub const INTERVALS: &str = "\
An interval is one call of FUNCTION (a symbol, a name of C++ or Rust or the end of one, Table::read, 0xADDRESS or
file.c:function), one call of FUNCTION made by CALLER (CALLER>FUNCTION), or what lies between the call of BEGIN and the return of END (BEGIN..END;
alternatives with |), or what the target says itself by include/evenkeel.h (annotated; name functions with within=). LIBRARY! in front names a shared library. Options: ,label=text:N or ,label=integer:N
sorts intervals into classes by argument N (0 is the first; literals are taken out of SQL), ,label=text:FUNCTION:N by
argument N of the first call of FUNCTION inside the interval, ,label=text:VARIABLE by the text to which a pointer variable
of the program points as it begins; a further .OFFSET follows the pointer at this many bytes (text:0.80.8); word, request
(of HTTP) and int (four bytes) read it otherwise; ,within=FUNCTION
says whose calls to time first, for a pair; ,client=CALLER>FUNCTION marks a wait for the client; ,name=TEXT;
,key=N or ,key=N:N (arguments of BEGIN and of END, `returned`, or `this`) distinguishes intervals that move between threads.
A CALL is FUNCTION,key=N: the N-th argument is the lock, task or interval.
In a Java virtual machine (11 or later) an interval is a method, package.Class.method or package.Outer$Inner.method.";

/// The functions of the target's own locks, queues and keyed intervals.
fn named(arguments: &Options) -> Result<Vec<NamedCall>, Failure> {
    let roles = [
        (Role::Acquire, &arguments.acquire),
        (Role::Release, &arguments.release),
        (Role::Enqueue, &arguments.enqueue),
        (Role::Dequeue, &arguments.dequeue),
        (Role::Work, &arguments.work),
    ];
    let calls = roles
        .into_iter()
        .flat_map(|(role, texts)| texts.iter().map(move |text| NamedCall::parse(role, text)));
    Ok(calls.collect::<Result<_, _>>()?)
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let command = CommandLine {
        words: arguments.command,
        user: arguments.user.as_deref().map(account).transpose()?,
        ..CommandLine::default()
    };
    arguments
        .options
        .profile(Subject::Command(command), arguments.keep)
}

impl Options {
    /// Profiles `subject` and prints the report.
    pub fn profile(&self, subject: Subject, keep: bool) -> Result<ExitCode, Failure> {
        self.json.check()?;
        self.html.as_deref().map_or(Ok(()), output::check)?;
        let settings = self.settings(subject, keep)?;
        let exporter = self.metrics.open(&settings)?;
        let interrupted = signals::interrupts()?;
        // A limit on file sizes (ulimit -f) shows as an error then, not as our end. Unlike an ignored signal, one with a
        // handler is as ever in the command.
        let too_large = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(libc::SIGXFSZ, too_large).map_err(signals::refused)?;
        let outcome = if self.live {
            let mut progress = LiveProgress::open(&settings, &interrupted)?;
            let outcome = run_with(&settings, &interrupted, &mut progress, exporter);
            progress.done();
            outcome
        } else {
            let mut progress = SessionProgress::new(self.manual);
            let outcome = run_with(&settings, &interrupted, &mut progress, exporter);
            progress.done();
            outcome
        };
        let Outcome {
            mut profile,
            ending,
        } = outcome?;
        advice::add(&mut profile);
        let style = output::style(output::stderr_is_terminal(), &self.tail, false, self.k);
        tell_part!("{}", terminal::render(&profile, &style));
        if let Some(path) = &settings.recording {
            tell!("evenkeel: the recording is in {}", path.display());
        }
        // Where there is no room for one of them, there may be for the other.
        let page = self
            .html
            .as_ref()
            .map_or(Ok(()), |path| -> Result<(), Failure> {
                output::write(path, &html::render(&profile))?;
                tell!("evenkeel: the report is in {}", path.display());
                Ok(())
            });
        if let Some(path) = &self.json.json {
            output::write(path, &json::profile(&profile))?;
        }
        page?;
        Ok(exit_code(ending))
    }

    fn settings(&self, subject: Subject, keep: bool) -> Result<Settings, Failure> {
        if self.summary.is_some() && self.output.is_none() && !self.metrics.are_wanted() {
            return Err(Failure::Usage(
                "--summary needs a place for its sums: --output FILE (or a directory), --metrics ADDRESS:PORT or --otlp ENDPOINT".to_owned(),
            ));
        }
        let selected = Selected::of(self.preset.as_deref(), self.interval.as_deref(), &subject)?;
        if let Some(notice) = selected.notice() {
            tell!("evenkeel: {notice}");
        }
        let implied = selected.implied.map(|preset| preset.name);
        let Selected {
            selector,
            stop_signal,
            named: of_preset,
            ..
        } = selected;
        let mut named = named(self)?;
        named.extend(of_preset);
        let keyed = selector.is_keyed();
        Ok(Settings {
            subject,
            selector,
            duration: self.duration,
            keep,
            stop_signal,
            pause_max: self.max_pause,
            planting: match (self.plant, self.manual) {
                (Some(_), true) => {
                    return Err(Failure::Usage(
                        "--plant and --manual exclude each other".to_owned(),
                    ));
                }
                (Some(planting), false) => planting,
                (None, true) => Planting::Manual,
                (None, false) => Planting::Refine,
            },
            limits: Limits {
                probes_max: self.max_probes,
                overhead_max: self.max_overhead,
                threshold: self.threshold,
                specificity: self.specificity,
                opened_at_once: 5,
            },
            sampling: self.sampling,
            slowest: self.slowest,
            k: self.k,
            recording: self.output.as_deref().map(recording_in),
            options: with_preset(written(std::env::args().skip(1)), implied),
            summary: self.summary,
            waits: self.waits || !named.is_empty() || keyed,
            named,
        })
    }
}

/// The options that determine how intervals are recorded: the words after the command's name and before the profiled
/// program. Output files and the process are left out.
fn written(words: impl Iterator<Item = String>) -> String {
    let mut kept = Vec::new();
    let mut words = words.skip(1).take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if [
            "-o",
            "--output",
            "--html",
            "--json",
            "--metrics",
            "--otlp",
            "--top",
        ]
        .contains(&name)
        {
            if name == word {
                words.next();
            }
        } else if !word.starts_with("-o") && (!kept.is_empty() || word.parse::<u32>().is_err()) {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Runs a session that answers `evenkeel snapshot`, and hands metrics on where that is wanted.
fn run_with(
    settings: &Settings,
    interrupted: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
    exporter: Option<Exporter>,
) -> Result<Outcome, evenkeel_session::Error> {
    let mut answering = Answering::new(progress, settings);
    match exporter {
        Some(exporter) => {
            let mut both = Exporting::new(&mut answering, exporter);
            evenkeel_session::profile(settings, interrupted, &mut both)
        }
        None => evenkeel_session::profile(settings, interrupted, &mut answering),
    }
}

/// Evenkeel's exit code: 1 where the profiled command failed. Errors of evenkeel itself were returned earlier.
fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Exited(0) | Ending::Stopped | Ending::Kept | Ending::Gone => ExitCode::SUCCESS,
        Ending::Exited(code) => {
            tell!("evenkeel: the command failed with exit code {code}");
            ExitCode::from(1)
        }
        Ending::Killed(signal) => {
            tell!("evenkeel: the command was killed by signal {signal}");
            ExitCode::from(1)
        }
    }
}

fn planting(text: &str) -> Result<Planting, String> {
    match text {
        "every" => Ok(Planting::Every),
        number => number
            .parse()
            .map(Planting::First)
            .map_err(|_| format!("{text:?} is neither a number nor `every`")),
    }
}

/// User and group id of an account.
fn account(name: &str) -> Result<(u32, u32), Failure> {
    let text = std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: a zero-terminated name; the entry is read before anything else asks for one.
    unsafe {
        let entry = libc::getpwnam(text.as_ptr());
        if entry.is_null() {
            return Err(Failure::Usage(format!(
                "there is no user {name}; see /etc/passwd"
            )));
        }
        Ok(((*entry).pw_uid, (*entry).pw_gid))
    }
}

/// The same with the preset that the program implies.
fn with_preset(options: String, implied: Option<&str>) -> String {
    let preset = implied.map(|name| format!("--preset {name}"));
    let parts = [preset.unwrap_or_default(), options];
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_files_and_processes() {
        let of = |line: &str| written(line.split(' ').map(str::to_owned));
        assert_eq!(
            of("profile --waits -o a.keel --for 5s --html=b.html -- server -o x"),
            "--waits --for 5s"
        );
        assert_eq!(
            of("attach 77 --json - --preset postgres --max-probes 60"),
            "--preset postgres --max-probes 60"
        );
    }
}
