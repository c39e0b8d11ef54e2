//! Locks of whole tables instead of very many: scans and loads of any size, without phantoms.

mod support;

use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Isolation, Release, Row, Scan, Schema, Settings, Store, StoreError, Table,
    Transaction, TransactionOptions,
};
use support::{begin, open, small_settings};

const ROWS: i64 = 500;

/// With locks for a tenth of the rows.
fn few_locks() -> Settings {
    let mut settings = small_settings(1);
    settings.lock_timeout = Some(Duration::ZERO);
    settings.locks.locks_max = 50;
    settings.pool.frames = 64;
    settings
}

fn schema() -> Schema {
    Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .column("number", ColumnType::Int)
        .primary_key(["id"])
        .index("by_group", ["group"])
        .unique_index("by_number", ["number"])
}

fn row(id: i64) -> [evenkeel_store::Value; 3] {
    [id.into(), (id % 7).into(), (-id).into()]
}

/// A table loaded by one transaction with rows of even ids.
fn loaded(settings: Settings) -> (Store, Table) {
    loaded_on(&FaultDisk::new(), settings)
}

fn loaded_on(disk: &FaultDisk, settings: Settings) -> (Store, Table) {
    let store = open(disk, settings).unwrap();
    let table = store.create_table(schema()).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..ROWS {
        txn.insert(&table, &row(2 * id)).unwrap();
    }
    txn.commit().unwrap();
    (store, table)
}

fn timed_out<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LockTimeout))
}

fn ids(rows: &[Row]) -> Vec<i64> {
    let mut ids: Vec<i64> = rows.iter().map(|row| row.int(0)).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn scans_and_loads_may_be_of_any_size() {
    let (store, table) = loaded(few_locks());
    let by_group = table.index("by_group").unwrap();
    let all: Vec<i64> = (0..ROWS).map(|id| 2 * id).collect();
    let scans = [
        Scan::all(),
        Scan::all().reverse(),
        Scan::all().on(by_group),
        Scan::all().for_update(),
        Scan::all().on(by_group).reverse().for_update(),
    ];
    for scan in scans {
        for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
            let before = store.statistics().transactions.escalations;
            let mut txn = begin(&store, isolation);
            assert_eq!(ids(&txn.scan(&table, &scan).unwrap()), all, "{scan:?}");
            assert!(txn.locks_held() <= 50);
            let escalations = store.statistics().transactions.escalations - before;
            assert!(escalations >= 1, "{scan:?}, {isolation:?}");
            assert_eq!(ids(&txn.scan(&table, &scan).unwrap()), all, "again");
            txn.commit().unwrap();
        }
    }
    let mut txn = begin(&store, Isolation::Serializable);
    for &id in &all {
        assert!(txn.delete(&table, &[id.into()]).unwrap());
    }
    txn.rollback().unwrap();
    assert_eq!(store.tidy().unwrap(), 0);
    let mut txn = begin(&store, Isolation::Serializable);
    assert_eq!(ids(&txn.scan(&table, &Scan::all()).unwrap()), all);
}

#[test]
fn nothing_appears_in_or_leaves_a_table_that_is_scanned_as_a_whole() {
    let (store, table) = loaded(few_locks());
    let mut reader = begin(&store, Isolation::Serializable);
    let before = reader.scan(&table, &Scan::all()).unwrap();
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let mut writer = begin(&store, isolation);
        for id in [-1, 1, 501, 5000] {
            assert!(timed_out(writer.insert(&table, &row(id))), "{id}");
        }
        assert!(timed_out(
            writer.update(&table, &[8.into(), 0.into(), 1.into()])
        ));
        assert!(timed_out(writer.delete(&table, &[8.into()])));
        assert!(timed_out(writer.get_for_update(&table, &[8.into()])));
        // Whoever only reads is not in the way.
        assert!(writer.get(&table, &[8.into()]).unwrap().is_some());
        assert_eq!(writer.scan(&table, &Scan::all()).unwrap(), before);
    }
    assert_eq!(reader.scan(&table, &Scan::all()).unwrap(), before);
    // It may write itself, as nobody else has the table.
    reader.insert(&table, &row(1)).unwrap();
    assert!(reader.delete(&table, &[8.into()]).unwrap());
    let mut other = begin(&store, Isolation::ReadCommitted);
    assert!(timed_out(other.get(&table, &[1.into()])));
    assert!(timed_out(other.get(&table, &[8.into()])));
    reader.commit().unwrap();
    assert!(other.get(&table, &[1.into()]).unwrap().is_some());
    assert_eq!(other.locks_held(), 0);
    other.insert(&table, &row(3)).unwrap();
}

/// Below the limit a table that is in use is not waited for; at the limit it is.
#[test]
fn a_writer_elsewhere_in_the_table_is_waited_for_only_at_the_limit() {
    let mut settings = few_locks();
    settings.escalation_locks = 10;
    let (store, table) = loaded(settings);
    let mut writer = begin(&store, Isolation::Serializable);
    writer
        .update(&table, &[900.into(), 0.into(), 1.into()])
        .unwrap();
    let mut reader = begin(&store, Isolation::Serializable);
    let escalations = store.statistics().transactions.escalations;
    assert_eq!(
        reader.scan(&table, &Scan::all().limit(20)).unwrap().len(),
        20
    );
    assert_eq!(
        store.statistics().transactions.escalations,
        escalations,
        "tried in vain"
    );
    assert!(timed_out(reader.scan(&table, &Scan::all().limit(40))));
    writer.rollback().unwrap();
    assert_eq!(
        reader.scan(&table, &Scan::all().limit(40)).unwrap().len(),
        40
    );
    assert_eq!(store.statistics().transactions.escalations, escalations + 1);
}

/// Rows deleted by a transaction that locked the whole table are not removed before its end, and come back with a
/// rollback.
#[test]
fn ghosts_stay_while_their_rows_may_come_back() {
    let disk = FaultDisk::new();
    let (store, _) = loaded_on(&disk, few_locks());
    store.close().unwrap();
    drop(store);
    // The first time it is tidied it looks for ghosts in all leaves.
    let store = open(&disk, few_locks()).unwrap();
    let table = store.table("rows").unwrap();
    let mut deleter = begin(&store, Isolation::Serializable);
    for id in 0..ROWS {
        assert!(deleter.delete(&table, &[(2 * id).into()]).unwrap());
    }
    assert!(deleter.locks_held() <= 50);
    let purged = store.statistics().transactions.purged;
    assert!(store.tidy().unwrap() > 0, "ghosts it has found");
    assert_eq!(store.statistics().transactions.purged, purged);
    deleter.rollback().unwrap();
    let mut txn = begin(&store, Isolation::Serializable);
    assert_eq!(txn.scan(&table, &Scan::all()).unwrap().len(), ROWS as usize);
    drop(txn);
    let mut deleter = begin(&store, Isolation::Serializable);
    for id in 0..ROWS {
        assert!(deleter.delete(&table, &[(2 * id).into()]).unwrap());
    }
    deleter.commit().unwrap();
    assert_eq!(store.tidy().unwrap(), 0);
    assert!(store.statistics().transactions.purged >= purged + 3 * ROWS as u64);
}

/// With locks of more tables than may be held there is nothing to replace, and the error names the limit.
#[test]
fn the_limit_is_named_where_tables_are_too_many() {
    let mut settings = few_locks();
    settings.locks.locks_max = 3;
    settings.release = Release::WhenDurable;
    let store = open(&FaultDisk::new(), settings).unwrap();
    let tables: Vec<Table> = (0..4)
        .map(|number| {
            let schema = Schema::new(format!("table {number}")).column("id", ColumnType::Int);
            store.create_table(schema.primary_key(["id"])).unwrap()
        })
        .collect();
    let mut txn = begin(&store, Isolation::Serializable);
    let read = |txn: &mut Transaction, table: &Table| txn.get(table, &[1.into()]).map(drop);
    for table in &tables[..3] {
        read(&mut txn, table).unwrap();
    }
    let error = read(&mut txn, &tables[3]).unwrap_err();
    assert!(matches!(error, StoreError::TooManyLocks(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("3 locks") && text.contains("locks.locks_max"),
        "{text}"
    );
    read(&mut txn, &tables[0]).unwrap();
    txn.commit().unwrap();
}
