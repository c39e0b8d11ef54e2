//! `evenkeel bench compare`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Args, Parser};
use evenkeel_drive::compare::{json, table};
use evenkeel_drive::{BenchmarkSettings, Beside, Comparison, compare};

use super::ended;
use super::options::Options;
use super::profiled::Planted;
use crate::output::{self, Failure};
use crate::progress::Line;
use crate::signals;

/// Measure configurations in turn, round after round, and print ratios with their spread
///
/// The workload is followed by the options that all configurations share; --with has the options of one
/// configuration. The first configuration is the baseline. It is measured twice in each round, which shows the noise
/// of the machine: a difference counts only if it is larger. --load is a part of the saturation, which each round
/// measures again on a store that is not compared.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' tpcc --load 85% --for 20s
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' --rounds 8 --transactions 50000 tpcc \
    --clients 64 --load 95% --round-trip 500us
  evenkeel bench compare --at-throughput-of fifo --with '--schedule fifo' --with '--schedule bldsf' micro --clients 300
  evenkeel bench compare --rounds 7 --with '--target postgres' --with '--target mariadb' ycsb-a --clients 2
  evenkeel bench compare --with '' --with '--set synchronous_commit=off' tpcc --target postgres --rate 300
  evenkeel bench compare --together --rounds 40 --with '--schedule fifo' --with '--schedule ldsf' tatp --clients 1 --for 1s

The options of a configuration, and their defaults, are those of `evenkeel bench`, and --plant N: attach the profiler to the server
during each run and time N call sites below its intervals, whatever that costs (--with '' --with '--plant 100').")]
pub struct Arguments {
    /// Options of one configuration, separated by spaces; given once for each
    #[arg(
        long = "with",
        value_name = "OPTIONS",
        required = true,
        allow_hyphen_values = true
    )]
    with: Vec<String>,
    /// Rounds; each measures every configuration once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure the configurations of a round at the same time, so that disturbances of the machine affect all of them
    /// alike
    #[arg(long)]
    together: bool,
    /// End a round when the slowest configuration has made this many transactions, instead of after --for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// The papers' method: run the baseline, whose schedule this is, in a closed loop, and the others in an open loop
    /// at its throughput
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "together")]
    at_throughput_of: Option<String>,
    #[command(flatten)]
    json: output::Json,
    /// The workload, and the options that all configurations have in common
    #[arg(
        value_name = "WORKLOAD",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    common: Vec<String>,
}

/// The arguments of one configuration; its own options override the shared ones.
#[derive(Parser, Debug)]
#[command(
    name = "evenkeel bench compare",
    args_override_self = true,
    no_binary_name = true
)]
struct Configuration {
    #[command(flatten)]
    options: Options,
    /// Attach the profiler to the server during each run, and time this many call sites below its intervals, at any
    /// cost
    #[arg(long, value_name = "N", help_heading = "Load")]
    plant: Option<usize>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let (mut configurations, mut besides) = (Vec::new(), BTreeMap::new());
    for (place, own) in arguments.with.iter().enumerate() {
        let (name, settings, plant) = configuration(&arguments.common, own)?;
        if let Some(sites) = plant {
            let planted: Box<dyn Beside + Send> = Box::new(Planted::new(&settings, sites)?);
            besides.insert(place, planted);
        }
        configurations.push((name, settings));
    }
    if let Some(schedule) = &arguments.at_throughput_of {
        check_baseline(schedule, &configurations[0])?;
    }
    let comparison = Comparison {
        configurations,
        besides,
        rounds: arguments.rounds,
        together: arguments.together,
        transactions: arguments.transactions,
        at_baselines_throughput: arguments.at_throughput_of.is_some(),
    };
    let interrupted = signals::first_interrupts()?;
    let line = Line::new();
    let compared = compare(comparison, &line, &interrupted);
    line.clear();
    let compared = compared?;
    let form = arguments.json;
    form.output(|| json(&compared), || table(&compared))?;
    Ok(ended(compared.is_consistent()))
}

/// The baseline must be the configuration whose throughput the others have to reach.
fn check_baseline(
    schedule: &str,
    (name, baseline): &(String, BenchmarkSettings),
) -> Result<(), Failure> {
    let own = baseline.schedule.as_deref().unwrap_or("fifo");
    if own == schedule {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--at-throughput-of {schedule}: the first --with must have that schedule, and `{name}` has {own}"
    )))
}

/// Name and settings of one configuration, and the call sites to hook.
fn configuration(
    common: &[String],
    own: &str,
) -> Result<(String, BenchmarkSettings, Option<usize>), Failure> {
    let words = common
        .iter()
        .map(String::as_str)
        .chain(own.split_whitespace());
    let parsed = Configuration::try_parse_from(words)
        .map_err(|error| Failure::Usage(error.render().to_string()))?;
    let name = if own.trim().is_empty() {
        "as it is"
    } else {
        own.trim()
    };
    let plant = parsed.plant;
    Ok((name.to_owned(), parsed.options.settings()?, plant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn own_options_override_common_ones_and_settings_add_up() {
        let common = words("tpcc --clients 4 --schedule fifo --set a=1");
        let (name, settings, plant) =
            configuration(&common, " --schedule ldsf --set b=2 ").expect("arguments");
        assert_eq!(plant, None);
        assert_eq!(
            (name.as_str(), settings.schedule.as_deref()),
            ("--schedule ldsf --set b=2", Some("ldsf"))
        );
        assert_eq!((settings.clients, settings.target_settings.len()), (4, 2));
        let (name, settings, _) = configuration(&common, "").expect("arguments");
        assert_eq!(
            (name.as_str(), settings.schedule.as_deref()),
            ("as it is", Some("fifo"))
        );
        let (_, _, plant) = configuration(&common, "--plant 100").expect("arguments");
        assert_eq!(plant, Some(100));
    }

    #[test]
    fn an_unknown_option_is_named() {
        let error = configuration(&words("tpcc"), "--colour red").expect_err("no such option");
        assert!(error.to_string().contains("--colour"), "{error}");
    }
}
