//! Rows longer than a page takes: read, changed, rolled back, recovered, removed.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Row, Scan, Schema, Store, StoreError, Table, TransactionOptions, Value,
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

/// The crash test's transactions, and the table's contents after each. Some rows are replaced as a whole, some change
/// one byte, and one shrinks into its page and grows out of it.
fn transactions() -> Vec<(Vec<Vec<Value>>, Vec<i64>)> {
    let shifted = |id, len: usize| vec![Value::from(id), 0.into(), text(len + 7)[7..].into()];
    let mut changed = shifted(1, MIB);
    changed[2] = Value::from(text(MIB + 7)[7..].replacen('9', "x", 1));
    vec![
        (vec![row(1, MIB)], vec![]),
        (vec![shifted(1, MIB), row(2, 700)], vec![]),
        (vec![changed], vec![2]),
        (vec![row(1, 10)], vec![]),
        (vec![row(1, MIB + 12_345)], vec![]),
        (vec![row(3, 30_000)], vec![1]),
    ]
}

type Contents = BTreeMap<i64, Vec<Value>>;

fn contents(store: &Store) -> Contents {
    let table = store.table("texts").unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    let rows = txn.scan(&table, &Scan::all()).unwrap();
    let by_group = Scan::all().on(table.index("by_group").unwrap());
    assert_eq!(txn.scan(&table, &by_group).unwrap().len(), rows.len());
    rows.into_iter().map(|row| (row.int(0), row.0)).collect()
}

/// Works until the end or an error of the disk; how many transactions were acknowledged.
fn work(store: &Store) -> usize {
    let table = store.table("texts").unwrap();
    let mut acknowledged = 0;
    let mut next = |(rows, gone): (Vec<Vec<Value>>, Vec<i64>)| -> Result<(), StoreError> {
        let mut txn = store.begin(TransactionOptions::default());
        rows.iter().try_for_each(|row| txn.put(&table, row))?;
        for id in gone {
            txn.delete(&table, &[id.into()])?;
        }
        txn.commit()?;
        acknowledged += 1;
        if acknowledged % 2 == 0 {
            store.tidy()?;
            store.checkpoint()?;
        }
        Ok(())
    };
    let _ = transactions().into_iter().try_for_each(&mut next);
    acknowledged
}

/// Number of moments, spread over the work.
const MOMENTS: u64 = 40;

#[test]
fn rows_of_a_mebibyte_survive_power_failures_and_kills_at_any_moment() {
    let settings = small_settings(2);
    let prepared = FaultDisk::new();
    let store = open(&prepared, settings.clone()).unwrap();
    texts(&store);
    store.close().unwrap();
    drop(store);
    let mut states = vec![Contents::new()];
    for (rows, gone) in transactions() {
        let mut state = states.last().unwrap().clone();
        state.extend(rows.into_iter().map(|row| (Row(row.clone()).int(0), row)));
        state.retain(|id, _| !gone.contains(id));
        states.push(state);
    }
    let run = |cut: Option<u64>| {
        let disk = prepared.after_kill();
        let store = open(&disk, settings.clone()).unwrap();
        let begun = disk.operations();
        cut.inspect(|cut| disk.cut_power_at(begun + cut));
        let acknowledged = work(&store);
        drop(store);
        (acknowledged, disk.operations() - begun, disk)
    };
    let (all, operations, disk) = run(None);
    assert_eq!(
        (all, contents(&open(&disk, settings.clone()).unwrap())),
        (6, states[6].clone())
    );
    assert!(operations > 3 * MOMENTS, "{operations}");
    let mut seen = BTreeSet::new();
    for moment in 1..=MOMENTS {
        let (acknowledged, _, disk) = run(Some(moment * operations / MOMENTS));
        let left = [
            disk.after_kill(),
            disk.after_power_failure(moment),
            disk.after_power_failure(moment + MOMENTS),
        ];
        for disk in left {
            let store = open(&disk, settings.clone()).unwrap();
            store.verify().unwrap();
            let found = contents(&store);
            let state =
                (acknowledged..=6.min(acknowledged + 1)).find(|&state| states[state] == found);
            seen.insert(state.unwrap_or_else(|| {
                panic!("moment {moment}, {acknowledged} acknowledged: other rows are there")
            }));
            // What was not acknowledged leaves no parts of rows.
            while store.tidy().unwrap() > 0 {}
            drop(store);
            let again = open(&disk.after_power_failure(moment), settings.clone()).unwrap();
            assert!(
                contents(&again) == found,
                "moment {moment}: what was found is lost"
            );
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_row_that_is_too_long_is_an_error_that_names_the_limit() {
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
