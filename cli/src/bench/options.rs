//! The options of a benchmark.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use evenkeel_drive::arrivals::Spread;
use evenkeel_drive::catalogue;
use evenkeel_drive::delay::Delay;
use evenkeel_drive::settings::{BenchmarkSettings, Pace};
use evenkeel_locks::ScheduleKind;

use super::values::{load, rate, setting, spread};
use crate::output::Failure;
use crate::values::{duration, duration_or_zero};

/// Options of one benchmark; `compare` reads them once for each configuration.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(
        value_name = "WORKLOAD",
        help = format!("The workload: {}", catalogue::NAMES.join(", "))
    )]
    workload: Option<String>,
    /// The target of the load: embedded, postgres, mariadb, sqlite (each private), mariadb:10.2.11 (an official build
    /// or its directory, see scripts/install.sh), a running server's URL, or sqlite:FILE
    #[arg(
        long,
        value_name = "TARGET",
        default_value = "embedded",
        help_heading = "Target"
    )]
    target: String,
    #[arg(
        long,
        value_name = "NAME",
        help = format!("Schedule of the embedded store's locks: {} [default: fifo]", ScheduleKind::NAMES),
        help_heading = "Target"
    )]
    schedule: Option<String>,
    /// A setting of the store or of the server, or a PRAGMA of SQLite; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Target")]
    settings: Vec<(String, String)>,
    /// Directory of the embedded store, kept afterwards [default: a temporary one]
    #[arg(long, value_name = "DIR", help_heading = "Target")]
    data: Option<PathBuf>,
    /// Load the data even if it is there
    #[arg(long, help_heading = "Target")]
    reload: bool,
    /// Connections that load the data in parallel; SQLite has one [default: twice the processors]
    #[arg(long, value_name = "N", help_heading = "Target")]
    loaders: Option<usize>,
    /// Size of the data: warehouses in tpcc, the scale factor elsewhere
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    scale: i64,
    /// An option of the workload, such as records=1000; may be repeated; an unknown name lists the known ones
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE", value_parser = setting, help_heading = "Workload")]
    options: Vec<(String, String)>,
    /// Seed of the data, the transactions and the arrivals
    #[arg(long, default_value_t = 1, help_heading = "Workload")]
    seed: u64,
    /// Open loop: arrivals per second; latency counts from the arrival
    #[arg(long, value_name = "R", value_parser = rate, conflicts_with = "load", help_heading = "Load")]
    rate: Option<f64>,
    /// Open loop at this part of the saturation, which is measured first: 85% or 0.85
    #[arg(long, value_name = "F", value_parser = load, help_heading = "Load")]
    load: Option<f64>,
    /// Clients, each with a connection: the load of a closed loop, or the most that run at once in an open loop
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Load")]
    clients: u32,
    /// The client's time between the statements of a transaction, which counts in its latency: 500us,
    /// exponential:500us or lognormal:500us:SIGMA. The times are means; SIGMA is the standard deviation of the
    /// logarithm. For a server it is added to the socket's time
    #[arg(long, value_name = "DELAY", help_heading = "Load")]
    round_trip: Option<Delay>,
    /// Arrivals of an open loop: constant, poisson, or bursty:FACTOR:LENGTH (FACTOR times as fast for LENGTH, then a
    /// pause)
    #[arg(long, value_name = "SPREAD", default_value = "poisson", value_parser = spread, help_heading = "Load")]
    arrivals: Spread,
    /// Most arrivals of an open loop that queue or run; further ones are rejected and counted
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        help_heading = "Load"
    )]
    in_flight: u64,
    /// Closed loop with the workload's keying and think times
    #[arg(long, conflicts_with_all = ["rate", "load"], help_heading = "Load")]
    think: bool,
    /// Length of the measurement
    #[arg(long = "for", value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = "Load")]
    length: Duration,
    /// Length of the load before the measurement [default: a fifth of --for, 1s to 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_zero, help_heading = "Load")]
    warmup: Option<Duration>,
    /// Times a transaction is repeated after a deadlock or serialization failure
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Load")]
    retries: u16,
    /// Do not check the workload's consistency conditions at the end
    #[arg(long, help_heading = "Load")]
    no_check: bool,
}

impl Options {
    /// The benchmark's settings.
    ///
    /// # Errors
    /// No workload is named, or the target is not known.
    pub fn settings(mut self) -> Result<BenchmarkSettings, Failure> {
        let unnamed = || {
            let names = catalogue::NAMES.join(", ");
            Failure::Usage(format!("name a workload: {names}"))
        };
        let workload = self.workload.take().ok_or_else(unnamed)?;
        self.settings_of(workload)
    }

    /// Settings for a workload of this name.
    ///
    /// # Errors
    /// The target is not known.
    pub fn settings_of(self, workload: String) -> Result<BenchmarkSettings, Failure> {
        let pace = match (self.rate, self.load) {
            (Some(rate), _) => Pace::Rate(rate),
            (None, Some(load)) => Pace::Load(load),
            (None, None) => Pace::Closed {
                thinking: self.think,
            },
        };
        Ok(BenchmarkSettings {
            workload,
            scale: self.scale,
            options: self.options,
            seed: self.seed,
            target: self.target.parse()?,
            target_settings: self.settings,
            schedule: self.schedule,
            data: self.data,
            reload: self.reload,
            loaders: self.loaders,
            pace,
            clients: self.clients,
            round_trip: self.round_trip,
            arrivals: self.arrivals,
            in_flight_max: self.in_flight,
            length: self.length,
            warmup: self.warmup,
            retries_max: self.retries,
            check: !self.no_check,
        })
    }
}
