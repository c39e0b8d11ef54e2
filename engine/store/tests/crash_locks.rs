//! No transaction may act upon what a power failure could still take. A commit's locks are held until it is durable,
//! or their next holder is not acknowledged before.

#[path = "support/gate.rs"]
mod gate;
mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Isolation, Release, Row, Scan, Schema, Settings, Store, StoreError, Table,
    TransactionOptions,
};
use gate::{Gate, OpensWhenDropped, open_gated};
use support::{open, small_settings};

const ISOLATIONS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

fn read(store: &Store, table: &Table, isolation: Isolation) -> Result<i64, StoreError> {
    let mut txn = store.begin(TransactionOptions {
        isolation,
        ..TransactionOptions::default()
    });
    let row = txn.get(table, &[1.into()])?;
    txn.commit()?;
    Ok(row.map_or(0, |row| row.int(1)))
}

fn write(store: &Store, table: &Table, value: i64) -> Result<(), StoreError> {
    let mut txn = store.begin(TransactionOptions::default());
    txn.put(table, &[1.into(), value.into()])?;
    txn.commit()
}

/// Time for threads that are not held back.
const GRACE: Duration = Duration::from_millis(50);

/// A store whose syncs go through a gate, and a table whose row 1 has the value 1.
fn prepared(disk: &FaultDisk, settings: &Settings) -> (Store, Arc<Gate>, Table) {
    let (store, gate) = open_gated(disk, settings.clone());
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("value", ColumnType::Int)
        .primary_key(["id"]);
    let table = store.create_table(schema).unwrap();
    write(&store, &table, 1).unwrap();
    (store, gate, table)
}

/// While the commit of the value 2 hangs there are disks that a power failure leaves without it, and none with anything else.
fn may_be_lost(disk: &FaultDisk, settings: &Settings) {
    let left: Vec<i64> = (0..20)
        .map(|seed| value_on(&disk.after_power_failure(seed), settings))
        .collect();
    assert!(
        left.contains(&1) && left.iter().all(|value| [1, 2].contains(value)),
        "{left:?}"
    );
}

/// A commit hangs in its sync. Until it is through, its row can neither be read nor written, at no level; whoever had read it
/// might have seen what never was.
#[test]
fn changes_that_are_not_durable_can_be_neither_read_nor_written() {
    for streams in [1, 2, 4] {
        let disk = FaultDisk::new();
        let mut settings = small_settings(streams);
        settings.release = Release::WhenDurable;
        settings.lock_timeout = Some(Duration::ZERO);
        let (store, gate, table) = prepared(&disk, &settings);
        gate.arm();
        std::thread::scope(|scope| {
            let opener = OpensWhenDropped(&gate);
            let committing = scope.spawn(|| write(&store, &table, 2));
            gate.wait_until_held();
            for isolation in ISOLATIONS {
                let refused = read(&store, &table, isolation);
                assert!(
                    matches!(refused, Err(StoreError::LockTimeout)),
                    "{streams} streams, {isolation:?}: {refused:?}"
                );
            }
            let refused = write(&store, &table, 3);
            assert!(
                matches!(refused, Err(StoreError::LockTimeout)),
                "{refused:?}"
            );
            may_be_lost(&disk, &settings);
            assert!(
                !committing.is_finished(),
                "not acknowledged before it is durable"
            );
            drop(opener);
            committing.join().unwrap().unwrap();
        });
        assert_eq!(read(&store, &table, Isolation::Serializable).unwrap(), 2);
        for seed in 0..20 {
            assert_eq!(value_on(&disk.after_power_failure(seed), &settings), 2);
        }
    }
}

/// Like the above, with locks that are released when the commit is in the log. Others read and overwrite the row
/// while its commit hangs, but none of them is acknowledged before it.
#[test]
fn a_reader_of_changes_that_are_not_durable_waits_for_them() {
    for streams in [1, 2, 4] {
        let disk = FaultDisk::new();
        let mut settings = small_settings(streams);
        settings.release = Release::WhenLogged;
        let (store, gate, table) = prepared(&disk, &settings);
        gate.arm();
        std::thread::scope(|scope| {
            let opener = OpensWhenDropped(&gate);
            let committing = scope.spawn(|| write(&store, &table, 2));
            gate.wait_until_held();
            let (store, table) = (&store, &table);
            let readers =
                ISOLATIONS.map(|isolation| scope.spawn(move || read(store, table, isolation)));
            std::thread::sleep(GRACE);
            assert!(readers.iter().all(|reader| !reader.is_finished()));
            may_be_lost(&disk, &settings);
            let overwriting = scope.spawn(|| write(store, table, 3));
            std::thread::sleep(GRACE);
            assert!(!overwriting.is_finished() && !committing.is_finished());
            drop(opener);
            committing.join().unwrap().unwrap();
            for reader in readers {
                let value = reader.join().unwrap().unwrap();
                assert!([2, 3].contains(&value), "{value}");
            }
            overwriting.join().unwrap().unwrap();
        });
        for seed in 0..20 {
            assert_eq!(value_on(&disk.after_power_failure(seed), &settings), 3);
        }
    }
}

/// Like the above, for a transaction that only writes, with a change that is durable, unlike its commit. The page is
/// in order, so only the need for that commit holds the next one back.
#[test]
fn a_writer_over_changes_that_are_not_durable_waits_for_them() {
    for streams in [1, 2, 4] {
        let disk = FaultDisk::new();
        let mut settings = small_settings(streams);
        settings.release = Release::WhenLogged;
        let (store, gate, table) = prepared(&disk, &settings);
        let mut changing = store.begin(TransactionOptions::default());
        changing.put(&table, &[1.into(), 2.into()]).unwrap();
        // A commit takes along what is in the log.
        let mut other = store.begin(TransactionOptions::default());
        other.put(&table, &[2.into(), 0.into()]).unwrap();
        other.commit().unwrap();
        gate.arm();
        std::thread::scope(|scope| {
            let opener = OpensWhenDropped(&gate);
            let committing = scope.spawn(|| changing.commit());
            gate.wait_until_held();
            may_be_lost(&disk, &settings);
            let overwriting = scope.spawn(|| write(&store, &table, 3));
            std::thread::sleep(GRACE);
            assert!(!overwriting.is_finished() && !committing.is_finished());
            drop(opener);
            committing.join().unwrap().unwrap();
            overwriting.join().unwrap().unwrap();
        });
        for seed in 0..20 {
            assert_eq!(value_on(&disk.after_power_failure(seed), &settings), 3);
        }
    }
}

/// The disk fails while a scan is half through: a commit that waits for it fails, and its locks go though its changes stay. The
/// scan does not come to see them.
#[test]
fn a_scan_under_way_does_not_see_what_failed_to_commit() {
    const LAST: i64 = 300;
    for release in [Release::WhenLogged, Release::WhenDurable] {
        let disk = FaultDisk::new();
        let mut settings = small_settings(1);
        settings.release = release;
        let (store, gate, table) = prepared(&disk, &settings);
        let mut filling = store.begin(TransactionOptions::default());
        for id in 2..=LAST {
            filling.put(&table, &[id.into(), 1.into()]).unwrap();
        }
        filling.commit().unwrap();
        std::thread::scope(|scope| {
            let opener = OpensWhenDropped(&gate);
            let mut scanning = store.begin(TransactionOptions {
                isolation: Isolation::ReadCommitted,
                ..TransactionOptions::default()
            });
            let mut values = Vec::new();
            let scanned = scanning.scan_each(&table, &Scan::all(), |row| {
                if row.int(0) == 1 {
                    gate.arm();
                    let failing = scope.spawn(|| {
                        let mut txn = store.begin(TransactionOptions::default());
                        txn.put(&table, &[LAST.into(), 2.into()])?;
                        txn.commit()
                    });
                    gate.wait_until_held();
                    disk.cut_power_at(disk.operations() + 1);
                    drop(OpensWhenDropped(&gate));
                    let failed = failing.join().unwrap();
                    assert!(failed.is_err(), "{release:?}: {failed:?}");
                }
                values.push(row.int(1));
                ControlFlow::Continue(())
            });
            drop(opener);
            assert!(scanned.is_err(), "{release:?}: {scanned:?}");
            assert!(values.iter().all(|&value| value == 1), "{release:?}");
        });
    }
}

/// The row's value in a store that was recovered from `disk`.
fn value_on(disk: &FaultDisk, settings: &Settings) -> i64 {
    let store = open(disk, settings.clone()).unwrap();
    let table = store.table("rows").unwrap();
    let rows: Vec<Row> = store
        .begin(TransactionOptions::default())
        .scan(&table, &Scan::all())
        .unwrap();
    rows.iter().map(|row| row.int(1)).sum()
}
