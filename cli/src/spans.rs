//! `evenkeel spans`.

mod join;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::Args;
use evenkeel_analysis::RunFacts;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_recording::{Meta, Started, Writer};
use evenkeel_report::messages;
use evenkeel_spans::convert::INTERVAL;
use evenkeel_spans::receive::Receiver;
use evenkeel_spans::{Converter, Request, Traces, read};

use crate::output::Failure;
use crate::progress::Reading;
use crate::report::{self, View};
use crate::{signals, values};

/// Find out why requests that cross several services vary, from the spans of their traces
///
/// One request is one interval, along its critical path through the spans. An operation of a service takes the place
/// of a function. Otherwise the command works as `evenkeel profile`: it prints the same report, and records for
/// `report`, `compare`, `merge` and `export`. It sends nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel spans traces.json
  evenkeel spans --otlp --for 60s -o shop.keel
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 OTEL_EXPORTER_OTLP_PROTOCOL=grpc python3 checkout.py
  evenkeel spans traces.json --trace-id cart.keel
  evenkeel spans monday.json -o monday.keel && evenkeel compare monday.keel tuesday.keel

Files: OTLP as protobuf or JSON (of the Collector's file exporter, too), or Jaeger's JSON; compressed by gzip or not.")]
pub struct Arguments {
    /// Files of spans; spans of one trace may lie in several
    #[arg(value_name = "FILE", required_unless_present = "otlp")]
    files: Vec<PathBuf>,
    /// Receive spans by OTLP over gRPC and HTTP, until Ctrl-C or the end of --for. Addresses are separated by commas,
    /// and each takes both protocols [default: ports 4317 and 4318 of the loopback]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = LOOPBACK, conflicts_with = "files")]
    otlp: Option<String>,
    /// Length of receiving; needs --otlp
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    duration: Option<Duration>,
    /// A trace is complete when it has received no span for this long, or six times as long if its root or another
    /// span is missing; needs --otlp [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    grace: Option<Duration>,
    /// Continue from spans into the functions of a process that was profiled at the same time (`evenkeel profile
    /// --waits -o RECORDING`). Its intervals must name the trace and span, by evenkeel_trace of evenkeel.h or a label
    /// that is a traceparent. Any number
    #[arg(long, value_name = "RECORDING")]
    trace_id: Vec<PathBuf>,
    /// Record to a file, for `evenkeel report`, `compare`, `merge` and `export`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    view: View,
}

/// Default addresses of OTLP: gRPC, and HTTP.
const LOOPBACK: &str = "127.0.0.1:4317,127.0.0.1:4318";
/// Requests after which the collected traces are analysed.
const PASS: usize = 512;
/// Most requests of a recording whose trace is named: readers of the recording keep these names in memory.
const NAMED_MAX: u64 = 200_000;
/// Time without a span after which a trace is complete. It is longer than the 5 s for which OpenTelemetry's batch
/// processor holds spans back, because the spans of two services may arrive that far apart.
const GRACE: Duration = Duration::from_secs(10);
/// Factor of the time for a trace that misses a span: the root arrives when its request has ended, which may be long
/// after the spans below it.
const GRACES_LACKING: u32 = 6;
/// Interval of the search for complete traces.
const LOOK: Duration = Duration::from_millis(250);

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // Said here, for the parser takes a requirement back where what it requires excludes something that is there.
    if arguments.otlp.is_none() && (arguments.duration.is_some() || arguments.grace.is_some()) {
        return Err(Failure::Usage(
            "--for and --grace are for spans as they come: give --otlp, or leave them out"
                .to_owned(),
        ));
    }
    arguments.view.check()?;
    if let Some(path) = &arguments.output {
        show(&arguments, path)?;
        tell!("evenkeel: the recording is in {}", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let directory = std::env::temp_dir();
    let scratch = Scratch::new().map_err(|source| Failure::Write {
        path: directory.clone(),
        source,
    })?;
    show(&arguments, scratch.path()).inspect_err(|failure| {
        let path = scratch.path().display().to_string();
        if failure.to_string().contains(&path) {
            tell!(
                "evenkeel: {path} was the recording, in {} (TMPDIR): name a file for it by -o, on a disk with room",
                directory.display()
            );
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the recording and shows its profile.
fn show(arguments: &Arguments, path: &Path) -> Result<(), Failure> {
    record(arguments, path)?;
    arguments.view.show(&[path.to_owned()])
}

fn record(arguments: &Arguments, path: &Path) -> Result<(), Failure> {
    let mut recording = Recording {
        writer: Writer::create(path)?,
        converter: Converter::default(),
        meta: Meta {
            interval: INTERVAL.to_owned(),
            root: INTERVAL.to_owned(),
            ticks_per_ns: 1.0,
            waits: true,
            facts: RunFacts {
                spans: true,
                ..RunFacts::default()
            },
            ..Meta::default()
        },
        sites: 0,
        requests: 0,
    };
    let mut traces = Traces::default();
    match &arguments.otlp {
        Some(address) => receive(arguments, address, &mut recording, &mut traces)?,
        None => read_files(&arguments.files, &mut recording, &mut traces)?,
    }
    recording.converter.processes = join::load(&arguments.trace_id, &traces)?;
    recording.add(traces.finish());
    recording.finish()
}

fn read_files(
    files: &[PathBuf],
    recording: &mut Recording,
    traces: &mut Traces,
) -> Result<(), Failure> {
    recording.meta.target = format!("spans of {}", report::names(files));
    for file in files {
        let spans = recording.converter.counts.spans;
        let reading = Reading::of_spans(file);
        let take = &mut |span, into: &mut Converter| traces.add(span, 0, &mut into.counts);
        let draw = &mut |read, of| reading.draw(read, of);
        let read = read::file(file, &mut recording.converter, take, draw);
        drop(reading);
        read.map_err(|source| Failure::Usage(format!("cannot read {}: {source}", file.display())))?;
        if recording.converter.counts.spans == spans {
            tell!(
                "evenkeel: {} holds no spans: OTLP (protobuf, JSON) and Jaeger's JSON are read",
                file.display()
            );
        }
    }
    Ok(())
}

fn receive(
    arguments: &Arguments,
    address: &str,
    recording: &mut Recording,
    traces: &mut Traces,
) -> Result<(), Failure> {
    let addresses: Vec<&str> = address.split(',').collect();
    let receiver = Receiver::listen(&addresses).map_err(|why| {
        Failure::Usage(format!(
            "cannot listen on {why}; another program may have the port: give another ADDRESS"
        ))
    })?;
    let interrupted = signals::interrupts()?;
    let listening = receiver.addresses().iter();
    let listening = listening.map(|address| format!("http://{address}"));
    let listening = listening.collect::<Vec<_>>().join(" and ");
    tell!(
        "evenkeel: taking spans at {listening} (OTEL_EXPORTER_OTLP_ENDPOINT; OTLP over gRPC or HTTP); Ctrl-C ends"
    );
    recording.meta.target = format!("spans by OTLP at {listening}");
    let started = Instant::now();
    let mut looked = started;
    let is_over = || {
        interrupted.load(Relaxed)
            || arguments
                .duration
                .is_some_and(|limit| started.elapsed() >= limit)
    };
    while !is_over() {
        let now = started.elapsed().as_nanos() as u64;
        receiver.take(LOOK, &mut recording.converter, &mut |span, into| {
            traces.add(span, now, &mut into.counts);
        });
        // What processes did for the traces is known when all have come.
        if arguments.trace_id.is_empty() && looked.elapsed() >= LOOK {
            looked = Instant::now();
            let now = started.elapsed().as_nanos() as u64;
            let ago = |time: Duration| {
                now.saturating_sub(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
            };
            let grace = arguments.grace.unwrap_or(GRACE);
            let lacking = grace.saturating_mul(GRACES_LACKING);
            recording.add(traces.quiet(ago(grace), ago(lacking)));
        }
    }
    Ok(())
}

/// A recording of requests.
struct Recording {
    writer: Writer,
    converter: Converter,
    meta: Meta,
    /// Sites written.
    sites: usize,
    requests: u64,
}

impl Recording {
    /// Adds the requests of some traces.
    fn add(&mut self, traces: Vec<Vec<evenkeel_spans::Span>>) {
        if traces.is_empty() {
            return;
        }
        let requests = self.converter.convert(traces);
        let table = self.converter.sites();
        if self.requests == 0
            && let Some(first) = requests.first()
        {
            let at = first.records[0].start;
            self.meta.started = Started {
                ticks: at,
                unix_ns: at,
            };
            self.writer.meta(&self.meta);
            self.writer.plan_changed(&PlanChange {
                generation: 1,
                probes: table.sites.len() as u32,
                ..PlanChange::default()
            });
        }
        for (id, site) in table.sites.iter().enumerate().skip(self.sites) {
            self.writer.site(id as u32, site);
        }
        self.sites = table.sites.len();
        for requests in requests.chunks(PASS) {
            requests.iter().for_each(|request| self.request(request));
            self.writer.pass_ended();
        }
        self.writer.flush();
    }

    fn request(&mut self, request: &Request) {
        // Each request has a thread of its own in the recording, because requests overlap.
        self.requests += 1;
        let thread = self.requests;
        if thread <= NAMED_MAX {
            self.writer
                .thread_name(thread, &format!("trace {:032x}", request.trace));
        }
        self.writer.records(thread, &request.records);
        self.writer.ended(thread);
    }

    fn finish(mut self) -> Result<(), Failure> {
        let table = self.converter.sites();
        for (id, site) in table.sites.iter().enumerate() {
            self.writer.site(id as u32, site);
        }
        self.meta.root_height = table.root_height;
        let warnings = self.converter.warnings().into_iter();
        self.meta.facts.warnings = warnings.map(Warning::Spans).collect();
        self.meta.complete = true;
        let counts = self.converter.counts;
        self.writer.finish(&self.meta)?;
        tell!(
            "evenkeel: {} spans in {} traces: {} requests; {} spans were waited for by nobody",
            counts.spans,
            counts.traces,
            counts.requests,
            counts.asynchronous
        );
        for process in &self.converter.processes.all {
            tell!(
                "evenkeel: {} of the intervals of {} are joined to spans on critical paths",
                process.fate.joined,
                process.name
            );
        }
        if counts.requests == 0 {
            for warning in &self.meta.facts.warnings {
                tell!("evenkeel: {}", messages::warning(warning));
            }
            return Err(Failure::Usage(
                "there is no request: no trace has a root span, or no spans came".to_owned(),
            ));
        }
        Ok(())
    }
}

/// A file without a name in TMPDIR; it disappears with this program, however the program ends.
struct Scratch {
    path: PathBuf,
    _file: File,
}

impl Scratch {
    /// # Errors
    /// Of the file system.
    fn new() -> io::Result<Scratch> {
        let file = tempfile::tempfile()?;
        Ok(Scratch {
            path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            _file: file,
        })
    }

    /// The path by which this program opens it.
    fn path(&self) -> &Path {
        &self.path
    }
}
