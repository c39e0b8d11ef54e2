//! Power failures at every operation of the disk, again during the recovery, with one and several log streams.

#[path = "support/bank.rs"]
mod bank;
mod support;

use bank::{check, contents, run, states};
use evenkeel_disk::faults::FaultDisk;
use support::{open, small_settings};

/// Cuts the power at each `step`-th operation.
fn crash_everywhere(streams: usize, step: usize) {
    let settings = small_settings(streams);
    let states = states(&settings);
    for cut in (1u64..).step_by(step) {
        let disk = FaultDisk::new();
        disk.cut_power_at(cut);
        let mut acknowledged = 0;
        let result = open(&disk, settings.clone())
            .and_then(|store| run(&store, true, |_| acknowledged += 1));
        if !disk.power_is_off() {
            result.unwrap();
            assert!(cut > 100, "the run has more operations than that");
            return;
        }
        for seed in 0..3 {
            let left = disk.after_power_failure(seed * 1000 + cut);
            check(
                &left,
                &settings,
                &states,
                acknowledged,
                &format!("{streams} streams, cut {cut}, seed {seed}"),
            );
        }
    }
}

#[test]
fn every_operation_with_one_stream() {
    crash_everywhere(1, 1);
}

#[test]
fn every_operation_with_two_streams() {
    crash_everywhere(2, 1);
}

#[test]
fn every_operation_with_four_streams() {
    crash_everywhere(4, 1);
}

#[test]
fn every_operation_of_the_recovery() {
    for streams in [1, 2] {
        let settings = small_settings(streams);
        let states = states(&settings);
        let disk = FaultDisk::new();
        open(&disk, settings.clone())
            .and_then(|store| run(&store, true, |_| ()))
            .unwrap();
        let operations = disk.operations();
        for cut in (1..8).map(|eighth| eighth * operations / 8) {
            let disk = FaultDisk::new();
            disk.cut_power_at(cut);
            let mut acknowledged = 0;
            let ran = open(&disk, settings.clone())
                .and_then(|store| run(&store, true, |_| acknowledged += 1));
            assert!(ran.is_err() && disk.power_is_off());
            for again in 1.. {
                let left = disk.after_power_failure(cut);
                left.cut_power_at(again);
                let recovered = open(&left, settings.clone());
                if !left.power_is_off() {
                    recovered.unwrap();
                    break;
                }
                drop(recovered);
                let left = left.after_power_failure(again);
                check(
                    &left,
                    &settings,
                    &states,
                    acknowledged,
                    &format!("cut {cut}, and {again} of the recovery"),
                );
            }
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged_under_any_policy_that_writes() {
    use evenkeel_store::FlushPolicy;
    for policy in [FlushPolicy::EagerFlush, FlushPolicy::LazyFlush] {
        let mut settings = small_settings(2);
        settings.log.policy = policy;
        let states = states(&settings);
        let disk = FaultDisk::new();
        let store = open(&disk, settings.clone()).unwrap();
        let mut commits = 0;
        run(&store, false, |_| {
            commits += 1;
            check(
                &disk.after_kill(),
                &settings,
                &states,
                commits,
                &format!("{policy:?}, killed after {commits}"),
            );
        })
        .unwrap();
    }
}

#[test]
fn lazy_policies_lose_the_latest_transactions_only() {
    use evenkeel_store::FlushPolicy;
    for (policy, streams) in [
        (FlushPolicy::LazyFlush, 1),
        (FlushPolicy::LazyWrite, 1),
        (FlushPolicy::LazyFlush, 2),
        (FlushPolicy::LazyWrite, 4),
    ] {
        let mut settings = small_settings(streams);
        settings.log.policy = policy;
        let states = states(&settings);
        let disk = FaultDisk::new();
        let store = open(&disk, settings.clone()).unwrap();
        let mut lost = false;
        let mut commits = 0;
        run(&store, true, |_| {
            commits += 1;
            for seed in 0..3 {
                let recovered = open(
                    &disk.after_power_failure(seed * 100 + commits),
                    settings.clone(),
                )
                .unwrap();
                let found = contents(&recovered);
                let at = states.iter().position(|state| *state == found);
                let is_empty = found.get("accounts").is_none_or(Vec::is_empty);
                assert!(
                    is_empty || at.is_some(),
                    "{policy:?}: a state there never was: {found:?}"
                );
                lost |= at.is_none_or(|at| at as u64 + 1 < commits);
            }
        })
        .unwrap();
        assert!(lost, "{policy:?} is lazy");
    }
}
