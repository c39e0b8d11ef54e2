//! `evenkeel demo`: the first result, in one command.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use evenkeel_analysis::profile::SamplingRule;
use evenkeel_intervals::presets::Preset;
use evenkeel_report::{advice, html, terminal};
use evenkeel_servers::{Length, Options, Pgbench, PostgreSql, Script, ServerError};
use evenkeel_session::carried::Carried;
use evenkeel_session::launch::CommandLine;
use evenkeel_session::profile::{IntervalSelector, Planting};
use evenkeel_session::refine::Limits;
use evenkeel_session::{Observer, Outcome, Settings, Subject};

use crate::output::{self, Failure};
use crate::progress::SessionProgress;
use crate::{signals, values};

/// Profile a private PostgreSQL under pgbench: why do its transactions vary?
///
/// Starts a private PostgreSQL (fsync on) in a temporary folder, and loads it with pgbench's TPC-B under `evenkeel
/// profile`. Prints the report and writes it as HTML. Where PostgreSQL is not installed, a small bundled
/// multi-threaded server is profiled instead.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel demo
  evenkeel demo --for 60s --clients 32 --interval transaction")]
pub struct Arguments {
    /// Length of the load
    #[arg(long = "for", value_name = "DURATION", default_value = "40s", value_parser = values::duration)]
    duration: Duration,
    /// Connections of pgbench
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: u32,
    /// pgbench's scale: 100,000 accounts each
    #[arg(long, value_name = "N", default_value_t = 50)]
    scale: u32,
    /// `statement` or `transaction`
    #[arg(long, value_name = "NAME", default_value = "statement", value_parser = ["statement", "transaction"])]
    interval: String,
    /// Where to write the report
    #[arg(long, value_name = "FILE", default_value = "evenkeel-demo.html")]
    html: PathBuf,
    /// Profile the bundled server even where PostgreSQL is installed
    #[arg(long)]
    bundled: bool,
}

/// The bundled server, carried by this program like the agent, or installed next to it.
const SERVER: &str = "evenkeel-demo-server";

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.bundled {
        return bundled(&arguments);
    }
    // The server's log goes to its own folder, away from the report.
    let options = Options {
        settings: vec![("logging_collector".into(), "on".into())],
        ..Options::default()
    };
    match PostgreSql::prepare(&options) {
        Ok(server) => postgres(&arguments, server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            tell!("evenkeel: {error}");
            tell!("evenkeel: profiling the bundled server instead");
            bundled(&arguments)
        }
        Err(error) => Err(error.into()),
    }
}

fn postgres(arguments: &Arguments, server: PostgreSql) -> Result<ExitCode, Failure> {
    let preset = Preset::named("postgres")?;
    let interval = preset
        .interval(Some(&arguments.interval))
        .expect("clap knows the names");
    let pgbench = Pgbench {
        clients: arguments.clients,
        jobs: 2,
        scale: arguments.scale,
        length: Length::Seconds(arguments.duration.as_secs().max(1) as u32),
        script: Script::TpcB,
    };
    tell!(
        "evenkeel: pgbench TPC-B, {} clients, scale {}, against a private PostgreSQL for {} s (loading the tables first)",
        arguments.clients,
        arguments.scale,
        arguments.duration.as_secs()
    );
    // A report is of all intervals: the statements that load the tables take seconds, and would be all of the variance.
    let running = Arc::new(server.start(None)?);
    pgbench.initialize(&running)?;
    // Raised by Ctrl-C, or when the load is over.
    let done = signals::interrupts()?;
    let load = {
        let (done, running) = (done.clone(), running.clone());
        std::thread::spawn(move || {
            let result = pgbench.run(&running);
            done.store(true, Ordering::Relaxed);
            result
        })
    };
    let selector = IntervalSelector::Preset(preset, interval);
    let ended = || Failure::Usage("the private PostgreSQL has ended".into());
    let pid = running.pid().ok_or_else(ended)?;
    let subject = Subject::Process(pid as i32);
    let profiled = session(
        arguments,
        subject,
        selector,
        preset.stop_signal,
        None,
        &done,
    );
    let loaded = load.join().expect("the load does not panic");
    let code = profiled?;
    let result = loaded?;
    tell!(
        "evenkeel: pgbench counted {} transactions, {} failed, {:.0} a second, mean {:.2} ms",
        result.transactions,
        result.failed,
        result.transactions_per_s,
        result.latency_mean_ms
    );
    Ok(code)
}

fn bundled(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let program = match Carried::find(".evenkeel.demo-server", SERVER)? {
        Some(carried) => carried.unpack()?,
        None => std::env::current_exe()
            .unwrap_or_default()
            .with_file_name(SERVER),
    };
    let seconds = arguments.duration.as_secs().max(1).to_string();
    let words = vec![
        program.into(),
        "--threads".into(),
        "8".into(),
        "--seconds".into(),
        seconds.into(),
    ];
    let selector = IntervalSelector::Spec("handle_transaction,name=transaction".parse()?);
    let command = CommandLine {
        words,
        ..CommandLine::default()
    };
    let limit = Some(arguments.duration + Duration::from_secs(5));
    session(
        arguments,
        Subject::Command(command),
        selector,
        libc::SIGTERM,
        limit,
        &signals::interrupts()?,
    )
}

fn session(
    arguments: &Arguments,
    subject: Subject,
    selector: IntervalSelector,
    stop_signal: i32,
    duration: Option<Duration>,
    done: &Arc<AtomicBool>,
) -> Result<ExitCode, Failure> {
    let settings = Settings {
        keep: matches!(subject, Subject::Process(_)),
        subject,
        selector,
        duration,
        stop_signal,
        pause_max: None,
        planting: Planting::Refine,
        limits: Limits {
            probes_max: 200,
            overhead_max: 0.03,
            threshold: 0.01,
            specificity: 2,
            opened_at_once: 5,
        },
        sampling: SamplingRule::Latency,
        slowest: evenkeel_analysis::SLOWEST,
        k: 10,
        waits: false,
        named: Vec::new(),
        recording: None,
        options: String::new(),
        summary: None,
    };
    let mut progress = SessionProgress::new(false);
    let observer: &mut dyn Observer = &mut progress;
    let outcome = evenkeel_session::profile(&settings, done, observer);
    progress.done();
    let Outcome { mut profile, .. } = outcome?;
    advice::add(&mut profile);
    let style = output::style(output::stdout_is_terminal(), "p99", false, 10);
    output::print(&terminal::render(&profile, &style))?;
    output::write(&arguments.html, &html::render(&profile))?;
    let path = std::fs::canonicalize(&arguments.html).unwrap_or(arguments.html.clone());
    output::print(&format!(
        "The report as a picture: file://{}\n",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
