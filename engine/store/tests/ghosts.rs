//! Removing deleted entries, counted: each is tried once, and again only after who was in the way has ended.

mod support;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_store::{ColumnType, Scan, Schema, Store, Table, TransactionOptions};
use support::{grouped_rows, open, small_settings};

/// Each has an entry in the table and one in its index.
const ROWS: i64 = 500;

fn filled(disk: &FaultDisk) -> (Store, Table) {
    let store = open(disk, small_settings(1)).unwrap();
    let table = store.create_table(grouped_rows()).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..ROWS {
        txn.insert(&table, &[id.into(), (id % 7).into()]).unwrap();
    }
    txn.commit().unwrap();
    (store, table)
}

fn delete_all(store: &Store, table: &Table) {
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..ROWS {
        assert!(txn.delete(table, &[id.into()]).unwrap());
    }
    txn.commit().unwrap();
}

fn attempts(store: &Store) -> u64 {
    store.statistics().transactions.purge_attempts
}

#[test]
fn a_ghost_blocked_by_a_reader_is_tried_again_when_the_reader_ends_and_not_before() {
    let ghosts = 2 * ROWS as u64;
    let (store, table) = filled(&FaultDisk::new());
    delete_all(&store, &table);
    // Two readers lock all that is left of the rows: they scan before anything is removed.
    let mut readers = [(); 2].map(|()| store.begin(TransactionOptions::default()));
    for reader in &mut readers {
        assert_eq!(reader.scan(&table, &Scan::all()).unwrap(), []);
    }
    assert_eq!(store.tidy().unwrap(), 2 * ROWS as usize);
    assert_eq!(attempts(&store), ghosts);
    // Neither time, nor scans that meet the ghosts, nor the ends of others make more of them.
    for _ in 0..5 {
        readers[0].scan(&table, &Scan::all()).unwrap();
        let mut other = store.begin(TransactionOptions::default());
        assert_eq!(other.get(&table, &[1.into()]).unwrap(), None);
        drop(other);
        assert_eq!(store.tidy().unwrap(), 2 * ROWS as usize);
    }
    assert_eq!(attempts(&store), ghosts);
    let [first, second] = readers;
    drop(first);
    assert_eq!(store.tidy().unwrap(), 2 * ROWS as usize);
    assert!(attempts(&store) <= 2 * ghosts, "once more at most, in vain");
    drop(second);
    assert_eq!(store.tidy().unwrap(), 0);
    assert!(attempts(&store) <= 3 * ghosts);
    assert_eq!(store.statistics().transactions.purged, ghosts);
}

#[test]
fn ghosts_of_an_earlier_run_are_found_without_a_scan() {
    let disk = FaultDisk::new();
    let (store, table) = filled(&disk);
    delete_all(&store, &table);
    drop((store, table));
    let store = open(&disk.after_power_failure(0), small_settings(1)).unwrap();
    assert_eq!(store.tidy().unwrap(), 0);
    assert_eq!(store.statistics().transactions.purged, 2 * ROWS as u64);
    store.tidy().unwrap();
    assert_eq!(attempts(&store), 2 * ROWS as u64);
}

/// Nothing is forgotten that could not be removed for a while.
#[test]
fn ghosts_whose_pages_cannot_be_read_are_tried_again() {
    let disk = FaultDisk::new();
    let (store, table) = filled(&disk);
    store.tidy().unwrap();
    delete_all(&store, &table);
    // Nothing of the table is in the pool any more.
    let other = store
        .create_table(
            Schema::new("other")
                .column("id", ColumnType::Int)
                .primary_key(["id"]),
        )
        .unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..40 * ROWS {
        txn.insert(&other, &[id.into()]).unwrap();
    }
    txn.commit().unwrap();
    disk.inject(Fault {
        operation: Operation::Read,
        name_contains: "pages".to_owned(),
        skip: 1,
        times: 3,
        error: IO_ERROR,
    });
    let failed = (0..20).filter(|_| store.tidy().is_err()).count();
    assert_eq!(failed, 3);
    assert_eq!(store.tidy().unwrap(), 0);
    assert_eq!(store.statistics().transactions.purged, 2 * ROWS as u64);
}

/// The fences of a leaf are in use, so with long keys every leaf uses much, however empty.
#[test]
fn leaves_of_long_keys_are_freed() {
    let store = open(&FaultDisk::new(), small_settings(1)).unwrap();
    let schema = Schema::new("names").column("name", ColumnType::Text);
    let table = store.create_table(schema.primary_key(["name"])).unwrap();
    let before = store.verify().unwrap();
    let key = |number: i64| [format!("{number:0600}").as_str().into()];
    let mut txn = store.begin(TransactionOptions::default());
    for number in 0..ROWS {
        txn.insert(&table, &key(number)).unwrap();
    }
    txn.commit().unwrap();
    assert!(store.verify().unwrap() > before + 100);
    let mut txn = store.begin(TransactionOptions::default());
    for number in 0..ROWS {
        assert!(txn.delete(&table, &key(number)).unwrap());
    }
    txn.commit().unwrap();
    assert_eq!(store.tidy().unwrap(), 0);
    assert_eq!(store.verify().unwrap(), before);
}
