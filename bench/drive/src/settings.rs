//! Settings of a benchmark.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_workloads::named;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::arrivals::Spread;
use crate::catalogue;
use crate::delay::Delay;
use crate::run::{Load, Plan};
use crate::target::Target;
use crate::target::address::{Address, Opening};
use crate::testbed::TestbedOptions;
use crate::workload::AnyWorkload;

/// A benchmark: a workload, its target, and the kind of run.
#[derive(Clone, Debug)]
pub struct BenchmarkSettings {
    /// Name of the workload, one of [`catalogue::NAMES`].
    pub workload: String,
    /// Size of the data: warehouses in TPC-C, else the workload's scale factor.
    pub scale: i64,
    /// Options of the workload, by name.
    pub options: Vec<(String, String)>,
    /// Seed of the data, the transactions and the arrivals.
    pub seed: u64,
    /// The target of the load.
    pub target: Address,
    /// Settings of the store or of the server, by name.
    pub target_settings: Vec<(String, String)>,
    /// Schedule of the embedded store's locks, if it is not the default.
    pub schedule: Option<String>,
    /// Directory of the embedded store, kept afterwards; a temporary one without it.
    pub data: Option<PathBuf>,
    /// Load the data even if it is there.
    pub reload: bool,
    /// Connections that load the data in parallel; twice the processors without it.
    pub loaders: Option<usize>,
    /// When transactions start.
    pub pace: Pace,
    /// Clients, each with a connection.
    pub clients: u32,
    /// Their time between the statements of a transaction; none: they send the next one at once.
    pub round_trip: Option<Delay>,
    /// The spread of an open loop's arrivals.
    pub arrivals: Spread,
    /// Arrivals of an open loop that queue or run at most.
    pub in_flight_max: u64,
    /// Load that is measured.
    pub length: Duration,
    /// Load before that; a fifth of it, from one second to thirty, without it.
    pub warmup: Option<Duration>,
    /// Attempts after the first that a transaction has.
    pub retries_max: u16,
    /// Check the workload's consistency conditions at the end.
    pub check: bool,
}

/// When transactions start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client starts its next transaction after its last one.
    Closed {
        /// With the workload's keying and think times.
        thinking: bool,
    },
    /// Open loop at this rate of arrivals per second.
    Rate(f64),
    /// Open loop at this part of the saturation, which is measured first.
    Load(f64),
}

impl BenchmarkSettings {
    /// The workload.
    ///
    /// # Errors
    /// It is not known, or has no such option.
    pub fn workload(&self) -> Result<Arc<dyn AnyWorkload>, Error> {
        let settings = named::Settings {
            scale: self.scale,
            seed: self.seed,
            options: self.options.iter().cloned().collect(),
        };
        catalogue::workload(&self.workload, &settings)
    }

    /// The part of the saturation that the load is, if it is one.
    pub fn load(&self) -> Option<f64> {
        match self.pace {
            Pace::Load(load) => Some(load),
            Pace::Closed { .. } | Pace::Rate(_) => None,
        }
    }

    /// The run, at a part of `saturation_per_s` where the load is one. Without a saturation it is the closed loop that
    /// measures it.
    pub(crate) fn plan(&self, saturation_per_s: Option<f64>) -> Plan {
        let open = |rate_per_s| self.open_loop(rate_per_s);
        let load = match (self.pace, saturation_per_s) {
            (Pace::Rate(rate_per_s), _) => open(rate_per_s),
            (Pace::Load(load), Some(saturation_per_s)) => open(load * saturation_per_s),
            (Pace::Load(_), None) => Load::Closed { thinking: false },
            (Pace::Closed { thinking }, _) => Load::Closed { thinking },
        };
        Plan {
            load,
            warmup: self.warmup(),
            length: self.length,
            retries_max: self.retries_max,
            seed: self.seed,
        }
    }

    /// Arrivals at this rate.
    pub(crate) fn open_loop(&self, rate_per_s: f64) -> Load {
        Load::Open {
            spread: self.arrivals,
            rate_per_s,
            in_flight_max: self.in_flight_max.max(self.clients.into()),
        }
    }

    fn warmup(&self) -> Duration {
        let fifth = (self.length / 5).clamp(Duration::from_secs(1), Duration::from_secs(30));
        self.warmup.unwrap_or(fifth)
    }

    /// Options of the testbed.
    pub fn testbed(&self) -> TestbedOptions {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        TestbedOptions {
            clients: self.clients as usize,
            reload: self.reload,
            loaders: self.loaders.unwrap_or(2 * processors).max(1),
            round_trip: self.round_trip,
        }
    }

    /// The target, started if it is a private one.
    ///
    /// # Errors
    /// It does not start or does not answer, or a setting is not one of it.
    pub fn open_target(&self) -> Result<Target, Error> {
        self.target.open(&Opening {
            clients: self.clients as usize,
            settings: &self.target_settings,
            schedule: self.schedule.as_deref(),
            data: self.data.as_deref(),
        })
    }

    /// All that was chosen, for the report.
    pub(crate) fn config(
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
        if let (Some(load), Some(saturation)) = (self.load(), saturation_per_s) {
            put("load", json!(load));
            put("saturation_per_s", json!(saturation));
        }
        put("clients", json!(self.clients));
        if let Some(round_trip) = self.round_trip {
            put("round_trip", json!(round_trip.to_string()));
        }
        put("for_s", json!(plan.length.as_secs_f64()));
        put("warmup_s", json!(plan.warmup.as_secs_f64()));
        put("seed", json!(self.seed));
        put("retries_max", json!(plan.retries_max));
        if let Some(schedule) = &self.schedule {
            put("schedule", json!(schedule));
        }
        put("options", object(workload.options()));
        if !self.target_settings.is_empty() {
            put("settings", object(self.target_settings.iter().cloned()));
        }
        config
    }
}

fn object<N: Into<String>>(pairs: impl IntoIterator<Item = (N, String)>) -> Value {
    let pairs = pairs.into_iter();
    Value::Object(
        pairs
            .map(|(name, value)| (name.into(), Value::String(value)))
            .collect(),
    )
}
