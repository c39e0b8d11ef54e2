//! One benchmark.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Args as ClapArgs;

use super::args::Bench;
use super::output::Watcher;
use super::{INCONSISTENT, interrupts};
use crate::Error;
use crate::accounts::Window;
use crate::page;
use crate::raw::RawFile;
use crate::report::{Consistency, Report};
use crate::stage::Stage;
use crate::terminal::{Line, render};

#[derive(ClapArgs, Clone, Debug)]
pub(super) struct Single {
    #[command(flatten)]
    bench: Bench,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Draw latency over time and its histogram on a self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Correlate age and remaining time of transactions at each lock that they waited for; embedded store only
    #[arg(long, help_heading = "Output")]
    grants: bool,
    /// Write every latency to a CSV file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    raw: Option<PathBuf>,
}

pub(super) fn run(args: Single) -> Result<ExitCode, Error> {
    let interrupted = interrupts()?;
    // Better known before the run than after it.
    args.html.as_deref().map_or(Ok(()), writable)?;
    let line = Line::new();
    let measured = measure(&args, &line, &interrupted);
    line.clear();
    let report = measured?;
    let text = if args.json {
        serde_json::to_string(&report).expect("plain structures with text keys serialise") + "\n"
    } else {
        render(&report)
    };
    print(&text)?;
    if let Some(path) = &args.html {
        write(path, &page::html(&report))?;
    }
    Ok(if report.is_consistent() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCONSISTENT)
    })
}

fn measure(args: &Single, line: &Line, interrupted: &AtomicBool) -> Result<Report, Error> {
    let bench = &args.bench;
    let workload = bench.workload()?;
    let types: Vec<&'static str> = workload
        .transactions()
        .iter()
        .map(|kind| kind.name)
        .collect();
    if args.grants && bench.target != "embedded" {
        return Err(Error::Setting(
            "--grants is for --target embedded: a server does not tell when it grants a lock"
                .to_owned(),
        ));
    }
    let mut raw = args
        .raw
        .as_deref()
        .map(|path| RawFile::create(path, &types))
        .transpose()?;
    let mut stage = set(bench, line, interrupted)?;
    let mut watcher = Watcher {
        line,
        what: "",
        raw: None,
    };
    let saturation_per_s = match bench.load {
        Some(_) => {
            watcher.what = "saturating: ";
            Some(stage.saturation_per_s(&bench.plan(None), interrupted, &mut watcher)?)
        }
        None => None,
    };
    let rate_per_s = bench
        .load
        .zip(saturation_per_s)
        .map(|(load, saturation)| load * saturation);
    let plan = bench.plan(rate_per_s);
    watcher.what = "";
    watcher.raw = raw
        .take()
        .map(|file| (file, Window::after(plan.warmup, plan.length)));
    let grants = args.grants.then(|| stage.observe_grants()).flatten();
    let measured = stage.run(&plan, interrupted, &mut watcher)?;
    watcher.raw.map_or(Ok(()), |(file, _)| file.finish())?;
    let consistency = if bench.no_check {
        Consistency::Unchecked
    } else {
        line.say("checking the data");
        stage.check()?
    };
    let config = bench.config(stage.workload(), &plan, saturation_per_s);
    let mut report = Report::new(
        stage.workload().name(),
        stage.target(),
        config,
        &types,
        &measured,
        consistency,
    );
    report.grants = grants.map(|grants| grants.report(&types));
    Ok(report)
}

/// A stage as the arguments ask for it.
pub(super) fn set(bench: &Bench, line: &Line, interrupted: &AtomicBool) -> Result<Stage, Error> {
    let workload = bench.workload()?;
    line.say("starting");
    let target = bench.open_target()?;
    line.loading(
        workload
            .partitions()
            .iter()
            .map(|partition| partition.rows)
            .sum(),
    );
    Stage::set(target, workload, &bench.setting(), interrupted, line)
}

/// Prints on standard output.
pub(super) fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match printed {
        // A reader that went away (`| head`) has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|source| Error::Write {
            path: "standard output".into(),
            source,
        }),
    }
}

/// Whether a file can be written; it is left as it was.
fn writable(path: &Path) -> Result<(), Error> {
    let existed = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })?;
    if !existed {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}
