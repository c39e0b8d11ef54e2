//! Locks are held until the commit is durable: nobody may act upon what a power failure could still take.

#[path = "support/gate.rs"]
mod gate;
mod support;

use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Isolation, Row, Scan, Schema, Store, StoreError, Table, TransactionOptions,
};
use gate::{OpensWhenDropped, open_gated};
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

/// A commit hangs in its sync. Until it is through, its row can neither be read nor written, at no level; and there are disks that
/// the power failure leaves without it, so whoever had read it would have seen what never was.
#[test]
fn what_is_not_durable_can_be_neither_read_nor_written() {
    for streams in [1, 2, 4] {
        let disk = FaultDisk::new();
        let mut settings = small_settings(streams);
        settings.lock_timeout = Some(Duration::ZERO);
        let (store, gate) = open_gated(&disk, settings.clone());
        let schema = Schema::new("rows")
            .column("id", ColumnType::Int)
            .column("value", ColumnType::Int)
            .primary_key(["id"]);
        let table = store.create_table(schema).unwrap();
        write(&store, &table, 1).unwrap();
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
            let left: Vec<i64> = (0..20)
                .map(|seed| value_on(&disk.after_power_failure(seed), &settings))
                .collect();
            assert!(
                left.contains(&1) && left.iter().all(|value| [1, 2].contains(value)),
                "{left:?}"
            );
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

/// The row's value in a store that was recovered from `disk`.
fn value_on(disk: &FaultDisk, settings: &evenkeel_store::Settings) -> i64 {
    let store = open(disk, settings.clone()).unwrap();
    let table = store.table("rows").unwrap();
    let rows: Vec<Row> = store
        .begin(TransactionOptions::default())
        .scan(&table, &Scan::all())
        .unwrap();
    rows.iter().map(|row| row.int(1)).sum()
}
