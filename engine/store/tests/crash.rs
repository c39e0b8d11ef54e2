//! Power failures at every operation of the disk, again during the recovery, with one and several log streams.

#[path = "support/bank.rs"]
mod bank;
mod support;

use bank::{check, contents, run, states};
use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, FlushPolicy, Row, Scan, Schema, Store, StoreError, TransactionOptions,
};
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

fn numbers(name: &str) -> Schema {
    Schema::new(name)
        .column("id", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"])
        .unique_index("by_text", ["text"])
}

/// The compensation records of a statement are durable, its transaction's end is not. Undo must continue where they
/// stopped, because restoring a part of a value twice would not give the old value.
#[test]
fn undone_changes_of_a_failed_statement_are_not_undone_again() {
    let disk = FaultDisk::new();
    let settings = small_settings(1);
    let store = open(&disk, settings.clone()).unwrap();
    let table = store.create_table(numbers("numbers")).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..4 {
        txn.insert(&table, &[id.into(), format!("short {id}").into()])
            .unwrap();
    }
    txn.commit().unwrap();
    let before = rows(&store, "numbers");
    let mut loser = store.begin(TransactionOptions::default());
    loser
        .update(&table, &[0.into(), "a longer text instead".into()])
        .unwrap();
    // The row and its old index entry are changed when the other row's text is found.
    let refused = loser.update(&table, &[0.into(), "short 1".into()]);
    assert!(matches!(refused, Err(StoreError::DuplicateKey { .. })));
    loser
        .update(&table, &[2.into(), "another rather long text".into()])
        .unwrap();
    let refused = loser.update(&table, &[2.into(), "short 3".into()]);
    assert!(matches!(refused, Err(StoreError::DuplicateKey { .. })));
    // Makes all of it durable.
    store.create_table(numbers("others")).unwrap();
    for seed in 0..3 {
        let recovered = open(&disk.after_power_failure(seed), settings.clone()).unwrap();
        assert_eq!(rows(&recovered, "numbers"), before);
    }
}

/// Each transaction reads what the one before wrote and writes to another table, so no page connects them. Under a lazy policy
/// none may survive without the one it read from, although they are in different streams.
#[test]
fn a_lazily_committed_transaction_is_not_kept_without_what_it_read() {
    let mut settings = small_settings(2);
    settings.log.policy = FlushPolicy::LazyFlush;
    let mut lost = 0;
    for last in 1..12i64 {
        let disk = FaultDisk::new();
        let store = open(&disk, settings.clone()).unwrap();
        let tables = ["even", "odd"].map(|name| store.create_table(numbers(name)).unwrap());
        for number in 1..=last {
            let (own, other) = (
                &tables[(number % 2) as usize],
                &tables[((number + 1) % 2) as usize],
            );
            let mut txn = store.begin(TransactionOptions::default());
            assert_eq!(
                txn.get(other, &[(number - 1).into()]).unwrap().is_some(),
                number > 1
            );
            txn.insert(own, &[number.into(), format!("number {number}").into()])
                .unwrap();
            txn.commit().unwrap();
        }
        for seed in 0..8 {
            let recovered = open(&disk.after_power_failure(seed), settings.clone()).unwrap();
            let mut found: Vec<i64> = ["even", "odd"]
                .iter()
                .flat_map(|name| rows(&recovered, name))
                .map(|row| row.int(0))
                .collect();
            found.sort_unstable();
            assert!(
                found.iter().copied().eq(1..=found.len() as i64),
                "{found:?} of {last}, seed {seed}"
            );
            lost += usize::from((found.len() as i64) < last);
        }
    }
    assert!(lost > 0, "a lazy policy loses something");
}

fn rows(store: &Store, table: &str) -> Vec<Row> {
    let table = store.table(table).unwrap();
    store
        .begin(TransactionOptions::default())
        .scan(&table, &Scan::all())
        .unwrap()
}
