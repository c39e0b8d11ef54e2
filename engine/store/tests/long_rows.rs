//! Rows longer than a page takes: read, changed, rolled back, recovered, removed.

mod support;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Scan, Schema, Store, StoreError, Table, TransactionOptions, Value,
};
use support::{open, small_settings};

const MIB: usize = 1 << 20;

fn texts(store: &Store) -> Table {
    let schema = Schema::new("texts")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"])
        .index("by_group", ["group"]);
    store.create_table(schema).unwrap()
}

/// Text in which every place differs from those a chunk away.
fn text(len: usize) -> String {
    let words = (0..).flat_map(|word: u64| format!("{word} ").into_bytes());
    String::from_utf8(words.take(len).collect()).unwrap()
}

fn row(id: i64, len: usize) -> Vec<Value> {
    vec![id.into(), (id % 2).into(), text(len).into()]
}

#[test]
fn a_row_of_a_mebibyte_is_read_changed_rolled_back_recovered_and_removed() {
    let disk = FaultDisk::new();
    let settings = small_settings(1);
    let store = open(&disk, settings.clone()).unwrap();
    let table = texts(&store);
    let pages_before = store.statistics().pool.resident;
    assert!(pages_before > 0);
    // Around the longest that is kept in the page, and far beyond.
    let lens = [0, 600, 640, 660, 700, 1500, 70_000, MIB];
    let mut txn = store.begin(TransactionOptions::default());
    for (id, len) in lens.into_iter().enumerate() {
        txn.insert(&table, &row(id as i64, len)).unwrap();
    }
    txn.commit().unwrap();
    // A change of one byte is logged as such.
    let last = lens.len() as i64 - 1;
    let bytes_before = store.statistics().log.record_bytes;
    let mut txn = store.begin(TransactionOptions::default());
    let mut changed = row(last, MIB);
    changed[2] = Value::from(text(MIB).replacen('7', "x", 1));
    txn.update(&table, &changed).unwrap();
    txn.commit().unwrap();
    assert!(store.statistics().log.record_bytes - bytes_before < 2000);
    // Rolled back: shorter, longer, gone.
    for len in [10, 2 * MIB] {
        let mut txn = store.begin(TransactionOptions::default());
        txn.put(&table, &row(last, len)).unwrap();
        assert_eq!(
            txn.get(&table, &[last.into()])
                .unwrap()
                .unwrap()
                .text(2)
                .len(),
            len
        );
        txn.rollback().unwrap();
    }
    let mut txn = store.begin(TransactionOptions::default());
    assert!(txn.delete(&table, &[last.into()]).unwrap());
    txn.rollback().unwrap();
    drop((store, table));
    let store = open(&disk.after_power_failure(0), settings).unwrap();
    let table = store.table("texts").unwrap();
    let by_group = table.index("by_group").unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for scan in [
        Scan::all(),
        Scan::all().reverse(),
        Scan::all().on(by_group).for_update(),
    ] {
        let mut rows = txn.scan(&table, &scan).unwrap();
        rows.sort_by_key(|row| row.int(0));
        assert_eq!(rows.len(), lens.len());
        for (row_found, len) in rows.iter().zip(lens) {
            let expected = match row_found.int(0) {
                id if id == last => changed.clone(),
                id => row(id, len),
            };
            assert!(row_found.0 == expected, "row {} differs", row_found.int(0));
        }
    }
    for id in 0..lens.len() as i64 {
        assert!(txn.delete(&table, &[id.into()]).unwrap());
    }
    txn.commit().unwrap();
    assert_eq!(store.tidy().unwrap(), 0, "no part is left");
    let purged = store.statistics().transactions.purged;
    assert!(purged > 1500, "the parts are removed, too: {purged}");
    store.verify().unwrap();
}

#[test]
fn what_is_too_long_is_an_error_that_names_the_limit() {
    let store = open(&FaultDisk::new(), small_settings(1)).unwrap();
    let table = texts(&store);
    let mut txn = store.begin(TransactionOptions::default());
    let refused = txn.insert(&table, &row(1, 17 * MIB)).unwrap_err();
    assert!(
        matches!(refused, StoreError::RowTooLong { bytes_max, .. } if bytes_max == 16 * MIB),
        "{refused}"
    );
    assert!(refused.to_string().contains("16777216"), "{refused}");
    txn.insert(&table, &row(1, 10)).unwrap();
    txn.commit().unwrap();
}
