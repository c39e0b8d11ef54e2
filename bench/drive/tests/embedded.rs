//! The workloads on the embedded store.

mod stages;

use evenkeel_drive::target::{Target, embedded};
use stages::{SMALL, set, works};

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
        let (mut stage, _) = set(store(None, &[]), name, options, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        works(&mut stage);
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
        let (mut stage, _) = set(store(None, settings), name, options, false).unwrap();
        works(&mut stage);
    }
}

#[test]
fn contended_transactions_are_retried_until_they_commit() {
    // Ten records, every statement an update, in random order: deadlocks are certain to occur.
    let options = [("records", "10"), ("exclusive", "1"), ("theta", "0.9")];
    let (mut stage, _) = set(store(None, &[]), "micro", &options, false).unwrap();
    let mut aborts = 0;
    // A deadlock needs two clients that overlap, which a single short run does not promise.
    for _ in 0..50 {
        let measured = works(&mut stage);
        assert_eq!(measured.accounts.given_up, 0);
        aborts += measured.accounts.aborts.iter().sum::<u64>();
        if aborts > 0 {
            assert!(measured.accounts.retries > 0);
            return;
        }
    }
    panic!("no deadlock in 50 runs");
}

#[test]
fn a_store_that_was_kept_is_used_and_one_with_other_data_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (name, options) = SMALL[0];
    let (mut stage, said) = set(store(Some(folder.path()), &[]), name, options, false).unwrap();
    assert!(
        !said.contains(&"using the data that is there".to_owned()),
        "{said:?}"
    );
    works(&mut stage);
    drop(stage);
    let (mut stage, said) = set(store(Some(folder.path()), &[]), name, options, false).unwrap();
    assert!(
        said.contains(&"using the data that is there".to_owned()),
        "{said:?}"
    );
    works(&mut stage);
    drop(stage);
    for (name, options, reload) in [("tatp", SMALL[2].1, false), (name, options, true)] {
        let refused = set(store(Some(folder.path()), &[]), name, options, reload);
        let error = refused.map(drop).unwrap_err().to_string();
        assert!(
            error.contains("holds `evenkeel tpcc") && error.contains("--data"),
            "{error}"
        );
    }
}
