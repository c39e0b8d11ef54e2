//! The workloads on the embedded store.

mod testbeds;

use std::time::Duration;

use evenkeel_drive::delay::Delay;
use evenkeel_drive::target::{Target, embedded};
use evenkeel_drive::testbed::TestbedOptions;
use testbeds::{SMALL, set, set_with, works};

fn store(directory: Option<&std::path::Path>, settings: &[(&str, &str)]) -> Target {
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Target::from(embedded::Target::open(directory, &settings).unwrap())
}

#[test]
fn every_workload_runs_and_leaves_its_data_consistent() {
    for (name, options) in SMALL {
        let (mut testbed, _) = set(store(None, &[]), name, options, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        works(&mut testbed);
    }
}

#[test]
fn tpcc_is_consistent_with_every_kind_of_setting() {
    let (name, options) = SMALL[0];
    for settings in [
        &[("schedule", "ldsf"), ("flush", "lazy-write")][..],
        &[
            ("schedule", "vats"),
            ("isolation", "repeatable-read"),
            ("replacement", "llu"),
            ("pool-mb", "4"),
        ],
        &[
            ("deadlocks", "wait-die"),
            ("log-streams", "2"),
            ("workers", "2"),
        ],
    ] {
        let (mut testbed, _) = set(store(None, settings), name, options, false).unwrap();
        works(&mut testbed);
    }
}

#[test]
fn contended_transactions_are_retried_until_they_commit() {
    // Ten records, every statement an update, in random order: deadlocks are certain to occur.
    let options = [("records", "10"), ("exclusive", "1"), ("theta", "0.9")];
    let (mut testbed, _) = set(store(None, &[]), "micro", &options, false).unwrap();
    let mut aborts = 0;
    // A deadlock needs two clients that overlap, which a single short run does not promise.
    for _ in 0..50 {
        let measured = works(&mut testbed);
        assert_eq!(measured.metrics.given_up, 0);
        aborts += measured.metrics.aborts.iter().sum::<u64>();
        if aborts > 0 {
            assert!(measured.metrics.retries > 0);
            return;
        }
    }
    panic!("no deadlock in 50 runs");
}

#[test]
fn a_store_that_was_kept_is_used_and_one_with_other_data_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (name, options) = SMALL[0];
    let (mut testbed, said) = set(store(Some(folder.path()), &[]), name, options, false).unwrap();
    assert!(
        !said.contains(&"using the data that is there".to_owned()),
        "{said:?}"
    );
    works(&mut testbed);
    drop(testbed);
    let (mut testbed, said) = set(store(Some(folder.path()), &[]), name, options, false).unwrap();
    assert!(
        said.contains(&"using the data that is there".to_owned()),
        "{said:?}"
    );
    works(&mut testbed);
    drop(testbed);
    for (name, options, reload) in [("tatp", SMALL[2].1, false), (name, options, true)] {
        let refused = set(store(Some(folder.path()), &[]), name, options, reload);
        let error = refused.map(drop).unwrap_err().to_string();
        assert!(
            error.contains("holds `evenkeel tpcc") && error.contains("--data"),
            "{error}"
        );
    }
}

/// Four clients, a millisecond off.
const FAR: TestbedOptions = TestbedOptions {
    clients: 4,
    reload: false,
    loaders: 2,
    round_trip: Some(Delay::Constant(Duration::from_millis(1))),
};

#[test]
fn round_trips_are_the_transactions_own_time() {
    // Five statements each; the client has an answer in its hands five times, the last one before it commits.
    let (mut testbed, _) =
        set_with(store(None, &[]), "micro", &[("records", "2000")], &FAR).unwrap();
    let measured = works(&mut testbed);
    let (all, trips) = (&measured.metrics.all, measured.round_trips.unwrap());
    assert!(all.percentile_ns(0.0) >= 4_995_000, "{:?}", all.response);
    assert!(trips.count >= 5 * all.response.count);
    assert!(trips.asked_mean_ns == 1e6 && trips.slept_mean_ns >= 1e6);
}

#[test]
fn workers_that_execute_whole_transactions_have_no_client_to_wait_for() {
    let refused = set_with(
        store(None, &[("workers", "2")]),
        "micro",
        &[("records", "200")],
        &FAR,
    );
    let error = refused.map(drop).unwrap_err().to_string();
    assert!(error.contains("--round-trip"), "{error}");
}

#[test]
fn commits_wait_for_a_simulated_device() {
    let settings = [
        ("log-device", "3ms"),
        ("log-devices", "2"),
        ("log-streams", "2"),
    ];
    let (mut testbed, _) = set(
        store(None, &settings),
        "ycsb-a",
        &[("records", "300")],
        false,
    )
    .unwrap();
    let measured = works(&mut testbed);
    let update = testbed
        .workload()
        .transactions()
        .iter()
        .position(|kind| kind.name == "update")
        .unwrap();
    let updates = &measured.metrics.kinds[update];
    // One that joins a sync waits for less than a whole one, but it is not acknowledged before the next has been: somebody waited
    // for all of it.
    assert!(
        updates.response.max_ns >= 3_000_000,
        "{:?}",
        updates.response
    );
    let folder = tempfile::tempdir().unwrap();
    let settings = [("log-device".to_owned(), "1ms".to_owned())];
    let refused = embedded::Target::open(Some(folder.path()), &settings);
    assert!(refused.is_err_and(|error| error.to_string().contains("--data")));
}
