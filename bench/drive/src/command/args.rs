//! The arguments of a benchmark, and what they ask for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args as ClapArgs;
use evenkeel_locks::ScheduleKind;
use evenkeel_workloads::named::Settings;
use serde_json::{Map, Value, json};

use super::values::{duration, length, load, rate, setting, spread};
use crate::Error;
use crate::arrivals::Spread;
use crate::catalogue;
use crate::run::{Load, Plan};
use crate::stage::Setting;
use crate::target::{Target, embedded, mariadb, postgres, sqlite};
use crate::workload::AnyWorkload;

/// What a benchmark is made of; `compare` takes it several times.
#[derive(ClapArgs, Clone, Debug)]
pub struct Bench {
    /// The workload: tpcc, htap, tatp, seats, epinions, ycsb-a to ycsb-f or micro
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// What is put under load: embedded, postgres, mariadb, sqlite (each private), the URL of a server that runs, or sqlite:FILE
    #[arg(
        long,
        value_name = "TARGET",
        default_value = "embedded",
        help_heading = "Target"
    )]
    pub target: String,
    #[arg(
        long,
        value_name = "NAME",
        help = format!("Schedule of the embedded store's locks: {}", ScheduleKind::NAMES),
        help_heading = "Target"
    )]
    pub schedule: Option<String>,
    /// A setting of the store or of the server, or a PRAGMA of SQLite; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Target")]
    pub settings: Vec<(String, String)>,
    /// Directory of the embedded store, kept afterwards [default: a temporary one]
    #[arg(long, value_name = "DIR", help_heading = "Target")]
    pub data: Option<PathBuf>,
    /// Load the data even if it is there
    #[arg(long, help_heading = "Target")]
    pub reload: bool,
    /// Connections that load the data in parallel, but into SQLite one [default: twice the processors]
    #[arg(long, value_name = "N", help_heading = "Target")]
    pub loaders: Option<usize>,
    /// Size of the data: warehouses in tpcc, else the workload's scale factor
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    pub scale: i64,
    /// An option of the workload, such as records=1000; may be repeated, and one that is not known lists those that are
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE", value_parser = setting, help_heading = "Workload")]
    pub options: Vec<(String, String)>,
    /// The seed of the data, the transactions and the arrivals
    #[arg(long, default_value_t = 1, help_heading = "Workload")]
    pub seed: u64,
    /// Open loop: so many arrivals per second; latency counts from the arrival
    #[arg(long, value_name = "R", value_parser = rate, conflicts_with = "load", help_heading = "Load")]
    pub rate: Option<f64>,
    /// Open loop at this part of the saturation, which is measured first: 85% or 0.85
    #[arg(long, value_name = "F", value_parser = load, help_heading = "Load")]
    pub load: Option<f64>,
    /// Clients, each with a connection: all the load of a closed loop, the most that run at once in an open one
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Load")]
    pub clients: u32,
    /// Arrivals of an open loop: constant, poisson, or bursty:FACTOR:LENGTH (FACTOR times as fast for LENGTH, then a
    /// pause)
    #[arg(long, value_name = "SPREAD", default_value = "poisson", value_parser = spread, help_heading = "Load")]
    pub arrivals: Spread,
    /// Arrivals of an open loop queueing or running at most; further ones are rejected, and counted
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        help_heading = "Load"
    )]
    pub in_flight: u64,
    /// Closed loop with the workload's keying and think times
    #[arg(long, conflicts_with_all = ["rate", "load"], help_heading = "Load")]
    pub think: bool,
    /// Measure for so long
    #[arg(long = "for", value_name = "DURATION", default_value = "30s", value_parser = length, help_heading = "Load")]
    pub length: Duration,
    /// Put under load for so long before [default: a fifth of --for, 1s to 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Load")]
    pub warmup: Option<Duration>,
    /// Times a transaction is repeated after a deadlock or serialization failure
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Load")]
    pub retries: u16,
    /// Do not check the workload's consistency conditions at the end
    #[arg(long, help_heading = "Load")]
    pub no_check: bool,
}

impl Bench {
    /// The workload.
    ///
    /// # Errors
    /// It is not known, or has no such option.
    pub(super) fn workload(&self) -> Result<Arc<dyn AnyWorkload>, Error> {
        let unnamed =
            || Error::Setting(format!("name a workload: {}", catalogue::NAMES.join(", ")));
        let name = self.workload.as_deref().ok_or_else(unnamed)?;
        let options = self.options.iter().cloned().collect();
        catalogue::workload(
            name,
            &Settings {
                scale: self.scale,
                seed: self.seed,
                options,
            },
        )
    }

    /// The run, with the load at `rate_per_s` if that was measured.
    pub(super) fn plan(&self, measured_rate_per_s: Option<f64>) -> Plan {
        let load = match measured_rate_per_s.or(self.rate) {
            Some(rate_per_s) => Load::Open {
                spread: self.arrivals,
                rate_per_s,
                in_flight_max: self.in_flight.max(self.clients.into()),
            },
            None => Load::Closed {
                thinking: self.think,
            },
        };
        Plan {
            load,
            warmup: self.warmup(),
            length: self.length,
            retries_max: self.retries,
            seed: self.seed,
        }
    }

    fn warmup(&self) -> Duration {
        let fifth = (self.length / 5).clamp(Duration::from_secs(1), Duration::from_secs(30));
        self.warmup.unwrap_or(fifth)
    }

    /// How the stage is set.
    pub(super) fn setting(&self) -> Setting {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        Setting {
            clients: self.clients as usize,
            reload: self.reload,
            loaders: self.loaders.unwrap_or(2 * processors).max(1),
            round_trip: None,
        }
    }

    /// The target, started if it is a private one.
    ///
    /// # Errors
    /// It is not known, does not start, or does not answer.
    pub(super) fn open_target(&self) -> Result<Target, Error> {
        let scheme = self.target.split_once("://").map(|(scheme, _)| scheme);
        let embedded = self.target == "embedded";
        if !embedded && (self.schedule.is_some() || self.data.is_some()) {
            return Err(Error::Setting(
                "--schedule and --data are for --target embedded".to_owned(),
            ));
        }
        let (clients, settings) = (self.clients as usize, &self.settings);
        let file = self.target.strip_prefix("sqlite:");
        if let Some(file) = file.filter(|file| !file.is_empty()) {
            return sqlite::Target::at(Path::new(file), settings).map(Target::from);
        }
        match (self.target.as_str(), scheme) {
            ("embedded", _) => {
                // Behind the other settings, so that it is the one that holds.
                let schedule = self
                    .schedule
                    .iter()
                    .map(|name| ("schedule".to_owned(), name.clone()));
                let settings: Vec<(String, String)> =
                    settings.iter().cloned().chain(schedule).collect();
                embedded::Target::open(self.data.as_deref(), &settings).map(Target::from)
            }
            ("postgres", _) => postgres::Target::start(clients, settings).map(Target::from),
            ("mariadb", _) => mariadb::Target::start(clients, settings).map(Target::from),
            ("sqlite", _) => sqlite::Target::temporary(settings).map(Target::from),
            (url, Some("postgres" | "postgresql")) => {
                postgres::Target::at(url, settings).map(Target::from)
            }
            (url, Some("mysql" | "mariadb")) => {
                mariadb::Target::at(url, settings).map(Target::from)
            }
            (other, _) => Err(Error::Setting(format!(
                "no target {other}; there are embedded, postgres, mariadb, sqlite, postgres://user:password@host/database, \
                 mysql://user:password@host/database and sqlite:/path/to/file.db"
            ))),
        }
    }

    /// All that was chosen, for the report.
    pub(super) fn config(
        &self,
        workload: &dyn AnyWorkload,
        plan: &Plan,
        saturation_per_s: Option<f64>,
    ) -> Map<String, Value> {
        let mut config = Map::new();
        let mut put = |name: &str, value: Value| config.insert(name.to_owned(), value);
        match plan.load {
            Load::Open {
                spread,
                rate_per_s,
                in_flight_max,
            } => {
                put("loop", json!("open"));
                put("rate_per_s", json!(rate_per_s));
                put("arrivals", json!(spread.name()));
                if let Spread::Bursty { factor, on_ns } = spread {
                    put("burst_factor", json!(factor));
                    put("burst_ns", json!(on_ns));
                }
                put("in_flight_max", json!(in_flight_max));
            }
            Load::Closed { thinking } => {
                put("loop", json!("closed"));
                put("think", json!(thinking));
            }
        }
        if let (Some(load), Some(saturation)) = (self.load, saturation_per_s) {
            put("load", json!(load));
            put("saturation_per_s", json!(saturation));
        }
        put("clients", json!(self.clients));
        put("for_s", json!(plan.length.as_secs_f64()));
        put("warmup_s", json!(plan.warmup.as_secs_f64()));
        put("seed", json!(self.seed));
        put("retries_max", json!(plan.retries_max));
        if let Some(schedule) = &self.schedule {
            put("schedule", json!(schedule));
        }
        let options = workload
            .options()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)));
        put("options", Value::Object(options.collect()));
        if !self.settings.is_empty() {
            let settings = self
                .settings
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)));
            put("settings", Value::Object(settings.collect()));
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        bench: Bench,
    }

    fn target(name: &str) -> Result<String, String> {
        let line = CommandLine::try_parse_from(["bench", "tpcc", "--target", name]);
        let opened = line.expect("a command line").bench.open_target();
        opened
            .map(|target| target.name().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn sqlite_is_a_private_file_or_the_one_that_is_named() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("named.db");
        let private = target("sqlite").expect("a target");
        assert!(private.starts_with("private SQLite 3."), "{private}");
        let named = target(&format!("sqlite:{}", file.display())).expect("a target");
        assert!(
            named.contains(&format!(" at {}", file.display())),
            "{named}"
        );
        assert!(file.exists());
        assert!(target("sqlite:").is_err_and(|words| words.contains("no target sqlite:;")));
    }
}
