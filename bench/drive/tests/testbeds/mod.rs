//! Small testbeds of every workload.

#![allow(dead_code)] // each test binary uses a part

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_drive::Error;
use evenkeel_drive::catalogue;
use evenkeel_drive::metrics::Metrics;
use evenkeel_drive::progress::Progress;
use evenkeel_drive::report::Consistency;
use evenkeel_drive::run::{Load, Measured, Observer, Plan};
use evenkeel_drive::sample::Sample;
use evenkeel_drive::target::Target;
use evenkeel_drive::testbed::{Testbed, TestbedOptions};
use evenkeel_workloads::named::Settings;

/// Every workload with options that make it small.
pub const SMALL: [(&str, &[(&str, &str)]); 13] = [
    ("tpcc", &[("customers", "30"), ("items", "200")]),
    ("htap", &[("customers", "30"), ("items", "200")]),
    ("tatp", &[("subscribers", "300")]),
    (
        "seats",
        &[
            ("customers", "200"),
            ("days", "2"),
            ("fewer-flights", "100"),
        ],
    ),
    ("epinions", &[("users", "100"), ("items", "50")]),
    ("ycsb-a", &[("records", "300")]),
    ("ycsb-b", &[("records", "300")]),
    ("ycsb-c", &[("records", "300")]),
    ("ycsb-d", &[("records", "300")]),
    ("ycsb-e", &[("records", "300")]),
    ("ycsb-f", &[("records", "300")]),
    ("sysbench", &[("records", "300")]),
    ("micro", &[("records", "200")]),
];

/// Keeps the messages.
#[derive(Default)]
pub struct Said(pub Mutex<Vec<String>>);

impl Progress for Said {
    fn loaded(&self, _: u64) {}

    fn step(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }
}

struct Silent;

impl Observer for Silent {
    fn samples(&mut self, _: &[Sample]) -> Result<(), Error> {
        Ok(())
    }

    fn slice(&mut self, _: &Metrics) {}
}

/// A testbed of a small workload with four clients, and the messages while it was set.
pub fn set(
    target: Target,
    name: &str,
    options: &[(&str, &str)],
    reload: bool,
) -> Result<(Testbed, Vec<String>), Error> {
    set_with(
        target,
        name,
        options,
        &TestbedOptions {
            clients: 4,
            reload,
            loaders: 2,
            round_trip: None,
        },
    )
}

/// A testbed of a small workload, and the messages while it was set.
pub fn set_with(
    target: Target,
    name: &str,
    options: &[(&str, &str)],
    testbed: &TestbedOptions,
) -> Result<(Testbed, Vec<String>), Error> {
    let options: BTreeMap<String, String> = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let workload = catalogue::workload(
        name,
        &Settings {
            options,
            ..Settings::default()
        },
    )?;
    let said = Said::default();
    let testbed = Testbed::set(target, workload, testbed, &AtomicBool::new(false), &said)?;
    Ok((testbed, said.0.into_inner().unwrap()))
}

/// A closed loop for so long.
pub fn run(testbed: &mut Testbed, ms: u64) -> Result<Measured, Error> {
    let plan = Plan {
        load: Load::Closed { thinking: false },
        warmup: Duration::ZERO,
        length: Duration::from_millis(ms),
        retries_max: 1000,
        seed: 1,
    };
    testbed.run(&plan, &AtomicBool::new(false), &mut Silent)
}

/// Puts the workload under load for a moment: something was done, and the data is as it may be.
#[track_caller]
pub fn works(testbed: &mut Testbed) -> Measured {
    let name = testbed.workload().name();
    let measured = run(testbed, 300).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(measured.metrics.all.response.count > 0, "{name}");
    let checked = testbed
        .check()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(checked, Consistency::Checked(Vec::new()), "{name}");
    measured
}
