//! `evenkeel export`.

mod columns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValue;
use evenkeel_analysis::Pick;
use evenkeel_export::columns as tables;
use evenkeel_export::{Export, FORMATS, Format, Started, Weight};
use evenkeel_recording::Meta;
use evenkeel_report::messages;

use crate::output::{self, Failure};
use crate::report::{self, Ranking};

/// Write a recording in a format that another tool reads
///
/// In a flame graph of variance a call path is as wide as its share of the latency's variance, not as its time. A
/// path that takes less time in long intervals has a negative share, and appears under a separate root, "(negative)".
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A recording made by `evenkeel profile -o`; several are exported as one
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The format
    #[arg(short, long, value_name = "FORMAT", value_parser = FormatParser)]
    format: &'static str,
    /// The output file (- for standard output); for parquet a directory, to whose tables the recordings are added
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The weight that widths show, in formats with a single weight: variance, mean, p95, p99 or p99.9 (the excess of
    /// the slowest intervals over the mean) [default: variance]
    #[arg(short, long, value_name = "WEIGHT")]
    weight: Option<Weight>,
    /// An interval that is written whole: max, slowest:3 (the third slowest) or id:N; of a recording made with --waits also p50 or p99.9. May
    /// be repeated [default: the eight slowest, p99 and p50]
    #[arg(long, value_name = "PICK")]
    timeline: Vec<Pick>,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel export run.keel --format folded | flamegraph.pl --countname ppm > variance.svg
  evenkeel export run.keel --format folded --weight p99 -o tail.folded
  evenkeel export run.keel --format pprof -o run.pb && go tool pprof -http : -sample_index variance run.pb
  evenkeel export run.keel --format otlp-profiles | curl -H 'Content-Type: application/x-protobuf' --data-binary @- localhost:4318/v1development/profiles
  evenkeel export run.keel --format perfetto --timeline max -o slowest.perfetto-trace
  evenkeel export *.keel --format parquet -o fleet
  evenkeel export run.keel --format otlp | curl -H 'Content-Type: application/json' --data-binary @- localhost:4318/v1/traces";

/// Intervals whose critical paths are written by default.
const SLOWEST: usize = 8;

/// Parses a format's name by the list of the export crate.
#[derive(Clone)]
struct FormatParser;

impl clap::builder::TypedValueParser for FormatParser {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<&'static str, clap::Error> {
        let names = FORMATS.iter().map(|format| format.name());
        clap::builder::PossibleValuesParser::new(names.chain([tables::NAME]))
            .parse_ref(command, argument, value)
            .map(|name| evenkeel_export::named(&name).map_or(tables::NAME, |format| format.name()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |format: &&dyn Format| PossibleValue::new(format.name()).help(format.about());
        let tables = PossibleValue::new(tables::NAME).help(tables::ABOUT);
        Some(Box::new(FORMATS.iter().map(value).chain([tables])))
    }
}

/// The format of a name that was accepted.
fn format(name: &str) -> &'static dyn Format {
    evenkeel_export::named(name).expect("the parser knows the list")
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.format == tables::NAME {
        return run_tables(&arguments);
    }
    let format = format(arguments.format);
    refuse_what_does_nothing(&arguments, format)?;
    output::check(&arguments.output)?;
    let slowest = (1..=SLOWEST).map(Pick::Rank);
    let otherwise: Vec<Pick> = slowest
        .chain([Pick::Percentile(0.99), Pick::Percentile(0.5)])
        .collect();
    let loaded = report::load_or(
        &arguments.recordings,
        &Ranking::default(),
        &arguments.timeline,
        &otherwise,
    )?;
    // The formats have no place for them.
    for warning in &loaded.profile.warnings {
        tell!("evenkeel: {}", messages::warning(warning));
    }
    let export = Export {
        profile: &loaded.profile,
        weight: arguments.weight.unwrap_or_default(),
        started: started(&loaded.meta),
        host: &loaded.meta.host,
    };
    // Whole or not at all: what fails leaves no half of a file.
    let mut bytes = Vec::new();
    format.write(&export, &mut bytes).map_err(Failure::Export)?;
    output::write_bytes(&arguments.output, &bytes)?;
    Ok(ExitCode::SUCCESS)
}

fn run_tables(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let refuse = |what: &str| Err(Failure::Usage(what.to_owned()));
    if arguments.weight.is_some() || !arguments.timeline.is_empty() {
        return refuse("parquet holds intervals and sums: leave --weight and --timeline out");
    }
    if arguments.output == Path::new("-") {
        return refuse("parquet is many files: give -o DIRECTORY");
    }
    columns::run(&arguments.recordings, &arguments.output)
}

fn refuse_what_does_nothing(arguments: &Arguments, format: &dyn Format) -> Result<(), Failure> {
    let name = format.name();
    let refuse = |what: String| Err(Failure::Usage(what));
    if arguments.weight.is_some() && !format.takes_weight() {
        return refuse(match name {
            "perfetto" | "otlp" => format!("{name} holds times, not weights: leave --weight out"),
            _ => format!("{name} holds all weights: leave --weight out"),
        });
    }
    if !arguments.timeline.is_empty() && !format.takes_timelines() {
        let able = FORMATS.iter().filter(|format| format.takes_timelines());
        let able: Vec<&str> = able.map(|format| format.name()).collect();
        return refuse(format!(
            "{name} holds no critical paths: leave --timeline out, or take {}",
            able.join(", ")
        ));
    }
    if format.is_binary() && arguments.output == Path::new("-") && output::stdout_is_terminal() {
        return refuse(format!(
            "{name} is not for terminals: give -o FILE, or send it to a program"
        ));
    }
    Ok(())
}

/// The time at which the recording began, on the clock of its critical paths.
fn started(meta: &Meta) -> Started {
    Started {
        clock_ns: meta.started.ticks as f64 / meta.ticks_per_ns,
        unix_ns: meta.started.unix_ns,
    }
}
