//! `evenkeel bench compare`.

use std::process::ExitCode;

use clap::{Args, Parser};
use evenkeel_drive::compare::{Compared, json_lines, table};
use evenkeel_drive::{Comparison, Settings, compare};

use super::ended;
use super::options::Options;
use crate::output::{self, Failure};
use crate::progress::Line;
use crate::signals;

/// Measure configurations in turn, round after round, and print ratios with their spread
///
/// What all configurations have in common stands behind the workload, what distinguishes one behind --with. The first is
/// the baseline; --load is a part of its saturation, found anew for each round, for all of them.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' tpcc --load 85% --for 20s
  evenkeel bench compare --rounds 7 --with '--target postgres' --with '--target mariadb' ycsb-a --clients 2
  evenkeel bench compare --with '' --with '--set synchronous_commit=off' tpcc --target postgres --rate 300
  evenkeel bench compare --together --rounds 40 --with '--schedule fifo' --with '--schedule ldsf' tatp --clients 1 --for 1s

The options of a configuration, and their defaults, are those of `evenkeel bench`.")]
pub struct Arguments {
    /// Options of one configuration, separated by spaces; given once for each
    #[arg(
        long = "with",
        value_name = "OPTIONS",
        required = true,
        allow_hyphen_values = true
    )]
    with: Vec<String>,
    /// Rounds, in each of which every configuration is measured once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure the configurations of a round at the same time: they share the machine, and what else it does hits all alike
    #[arg(long)]
    together: bool,
    /// Print one JSON object a configuration
    #[arg(long)]
    json: bool,
    /// The workload, and the options that all configurations have in common
    #[arg(
        value_name = "WORKLOAD",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    common: Vec<String>,
}

/// The arguments of one configuration: what it has of its own overrides what all have in common.
#[derive(Parser, Debug)]
#[command(
    name = "evenkeel bench compare",
    args_override_self = true,
    no_binary_name = true
)]
struct Configuration {
    #[command(flatten)]
    options: Options,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let configurations: Result<_, _> = arguments
        .with
        .iter()
        .map(|own| configuration(&arguments.common, own))
        .collect();
    let comparison = Comparison {
        configurations: configurations?,
        rounds: arguments.rounds,
        together: arguments.together,
    };
    let interrupted = signals::first_interrupts()?;
    let line = Line::new();
    let compared = compare(comparison, &line, &interrupted);
    line.clear();
    let compared = compared?;
    output::print(&if arguments.json {
        json_lines(&compared)
    } else {
        table(&compared)
    })?;
    Ok(ended(compared.iter().all(Compared::is_consistent)))
}

/// Name and settings of one configuration.
fn configuration(common: &[String], own: &str) -> Result<(String, Settings), Failure> {
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
    Ok((name.to_owned(), parsed.options.settings()?))
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
        let (name, settings) =
            configuration(&common, " --schedule ldsf --set b=2 ").expect("arguments");
        assert_eq!(
            (name.as_str(), settings.schedule.as_deref()),
            ("--schedule ldsf --set b=2", Some("ldsf"))
        );
        assert_eq!((settings.clients, settings.target_settings.len()), (4, 2));
        let (name, settings) = configuration(&common, "").expect("arguments");
        assert_eq!(
            (name.as_str(), settings.schedule.as_deref()),
            ("as it is", Some("fifo"))
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let error = configuration(&words("tpcc"), "--colour red").expect_err("no such option");
        assert!(error.to_string().contains("--colour"), "{error}");
    }
}
