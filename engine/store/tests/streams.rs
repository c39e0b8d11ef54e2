//! Log streams: a commit in one that depends on a change in another, whose disk is slow; and those that a store gains.

#[path = "support/gate.rs"]
mod gate;
mod support;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{ColumnType, Scan, Schema, TransactionOptions};
use gate::{OpensWhenDropped, open_gated};
use support::{open, small_settings};

/// Two transactions insert into the same leaf, the second after the first. The first one's stream hangs in its sync.
/// Whatever remains of the disk, the second must not be there without the first, on whose slot its own depends.
#[test]
fn an_insertion_is_not_kept_without_the_one_before_it_in_the_page() {
    let disk = FaultDisk::new();
    let settings = small_settings(2);
    let (store, gate) = open_gated(&disk, settings.clone());
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .primary_key(["id"]);
    let table = store.create_table(schema).unwrap();
    let insert = |id: i64| {
        let mut txn = store.begin(TransactionOptions::default());
        txn.insert(&table, &[id.into()]).unwrap();
        txn.commit().unwrap();
    };
    insert(1);
    gate.arm();
    std::thread::scope(|scope| {
        let opener = OpensWhenDropped(&gate);
        scope.spawn(|| insert(5));
        gate.wait_until_held();
        scope.spawn(|| insert(9));
        gate.wait_until_another_passed();
        let mut lost = 0;
        for seed in 0..30 {
            let recovered = open(&disk.after_power_failure(seed), settings.clone()).unwrap();
            let table = recovered.table("rows").unwrap();
            let rows = recovered
                .begin(TransactionOptions::default())
                .scan(&table, &Scan::all())
                .unwrap();
            let ids: Vec<i64> = rows.iter().map(|row| row.int(0)).collect();
            assert!(
                [&[1][..], &[1, 5], &[1, 5, 9]].contains(&&ids[..]),
                "seed {seed}: {ids:?}"
            );
            lost += usize::from(ids.len() == 1);
        }
        assert!(lost > 0, "the sync held back makes a difference");
        drop(opener);
    });
    let rows = store
        .begin(TransactionOptions::default())
        .scan(&table, &Scan::all())
        .unwrap();
    assert_eq!(rows.len(), 3);
}

/// Without threads, too: before it changes anything a transaction takes room in each stream.
#[test]
fn streams_that_a_store_gains_are_used() {
    let disk = FaultDisk::new();
    let schema = Schema::new("rows").column("id", ColumnType::Int);
    let store = open(&disk, small_settings(1)).unwrap();
    store.create_table(schema.primary_key(["id"])).unwrap();
    drop(store);
    for streams in [2, 4] {
        let store = open(&disk, small_settings(streams)).unwrap();
        let table = store.table("rows").unwrap();
        for id in 0..8 {
            let mut txn = store.begin(TransactionOptions::default());
            txn.insert(&table, &[(id + 8 * streams as i64).into()])
                .unwrap();
            txn.commit().unwrap();
        }
        let written = store.statistics().log.streams;
        let used = written.iter().filter(|stream| stream.batches > 0).count();
        assert_eq!(used, streams);
    }
}
