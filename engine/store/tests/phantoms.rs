//! Anomalies that locks prevent: phantoms, changes of rows that were read, deleted rows that come back.

mod support;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    Isolation, Row, Scan, Store, StoreError, Table, Transaction, TransactionOptions, Value,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use support::{begin, grouped_rows, open, small_settings};

const CLIENTS: u64 = 4;

/// A store with a table of numbered rows in groups, and an index on the group.
fn grouped() -> (Store, Table) {
    let mut settings = small_settings(1);
    settings.lock_timeout = Some(Duration::ZERO);
    let store = open(&FaultDisk::new(), settings).unwrap();
    let table = store.create_table(grouped_rows()).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in (0..100).step_by(10) {
        txn.insert(&table, &[id.into(), (id / 50).into()]).unwrap();
    }
    txn.commit().unwrap();
    (store, table)
}

fn ids(rows: &[Row]) -> Vec<i64> {
    rows.iter().map(|row| row.int(0)).collect()
}

#[test]
fn a_serializable_scan_keeps_out_exactly_what_would_appear_in_it() {
    let (store, table) = grouped();
    let by_group = table.index("by_group").unwrap();
    let range = |low: i64, high: i64| {
        Scan::between(
            std::ops::Bound::Included(vec![low.into()]),
            std::ops::Bound::Included(vec![high.into()]),
        )
    };
    // Which of these ids another transaction may insert (into group 7) while a scan is open: those outside the gaps it passed.
    let cases = [
        (range(22, 44), vec![15, 55, 99], vec![22, 25, 33, 44, 47]),
        (
            range(22, 44).reverse(),
            vec![15, 55, 99],
            vec![22, 25, 33, 44, 47],
        ),
        (range(22, 90).limit(1), vec![15, 33, 95], vec![25]),
        (range(0, 55).reverse().limit(1), vec![45, 15], vec![51, 55]),
        (range(95, 200), vec![85], vec![95, 150, 1000]),
        (Scan::all().limit(0), vec![1, 95], vec![]),
    ];
    for (scan, admitted, refused) in cases {
        let mut reader = begin(&store, Isolation::Serializable);
        let first = reader.scan(&table, &scan).unwrap();
        for (ids, expected) in [(admitted, true), (refused, false)] {
            for id in ids {
                let mut writer = begin(&store, Isolation::ReadCommitted);
                let result = writer.insert(&table, &[i64::into(id), 7.into()]);
                let refused = matches!(result, Err(StoreError::LockTimeout));
                assert!(
                    result.is_ok() == expected && refused != expected,
                    "{scan:?}, {id}: {result:?}"
                );
                writer.rollback().unwrap();
            }
        }
        assert_eq!(reader.scan(&table, &scan).unwrap(), first);
        reader.commit().unwrap();
        store.tidy().unwrap();
    }
    // The same through the index: nothing may come into group 0, nor leave it.
    let mut reader = begin(&store, Isolation::Serializable);
    assert_eq!(
        ids(&reader
            .scan(&table, &Scan::prefix([Value::Int(0)]).on(by_group))
            .unwrap()),
        [0, 10, 20, 30, 40]
    );
    let mut writer = begin(&store, Isolation::Serializable);
    assert!(matches!(
        writer.insert(&table, &[5.into(), 0.into()]),
        Err(StoreError::LockTimeout)
    ));
    assert!(matches!(
        writer.update(&table, &[90.into(), 0.into()]),
        Err(StoreError::LockTimeout)
    ));
    assert!(matches!(
        writer.delete(&table, &[20.into()]),
        Err(StoreError::LockTimeout)
    ));
    writer.insert(&table, &[5.into(), 9.into()]).unwrap();
    writer.commit().unwrap();
}

#[test]
fn repeatable_read_has_phantoms_and_read_committed_sees_changes() {
    let (store, table) = grouped();
    let mut reader = begin(&store, Isolation::RepeatableRead);
    let before = reader.scan(&table, &Scan::all()).unwrap().len();
    let mut writer = begin(&store, Isolation::Serializable);
    writer.insert(&table, &[55.into(), 1.into()]).unwrap();
    assert!(matches!(
        writer.update(&table, &[50.into(), 7.into()]),
        Err(StoreError::LockTimeout)
    ));
    writer.commit().unwrap();
    assert_eq!(
        reader.scan(&table, &Scan::all()).unwrap().len(),
        before + 1,
        "a phantom"
    );
    reader.commit().unwrap();

    let mut reader = begin(&store, Isolation::ReadCommitted);
    assert_eq!(reader.get(&table, &[50.into()]).unwrap().unwrap().int(1), 1);
    let mut writer = begin(&store, Isolation::Serializable);
    writer.update(&table, &[50.into(), 7.into()]).unwrap();
    assert!(
        matches!(
            reader.get(&table, &[50.into()]),
            Err(StoreError::LockTimeout)
        ),
        "not what is uncommitted"
    );
    writer.commit().unwrap();
    assert_eq!(
        reader.get(&table, &[50.into()]).unwrap().unwrap().int(1),
        7,
        "not repeatable"
    );
    assert_eq!(reader.locks_held(), 0);
}

#[test]
fn deleted_rows_stay_locked_until_the_commit_and_come_back_with_a_rollback() {
    let (store, table) = grouped();
    let mut deleter = begin(&store, Isolation::Serializable);
    assert!(deleter.delete(&table, &[50.into()]).unwrap());
    assert_eq!(
        store.tidy().unwrap(),
        0,
        "nothing is known to be removable yet"
    );
    let mut reader = begin(&store, Isolation::ReadCommitted);
    assert!(matches!(
        reader.get(&table, &[50.into()]),
        Err(StoreError::LockTimeout)
    ));
    assert!(matches!(
        reader.scan(&table, &Scan::all()),
        Err(StoreError::LockTimeout)
    ));
    assert_eq!(reader.locks_held(), 0);
    deleter.rollback().unwrap();
    assert_eq!(reader.scan(&table, &Scan::all()).unwrap().len(), 10);
    let mut seen = 0;
    let stop_at_third = |_| {
        seen += 1;
        if seen == 3 {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    };
    reader
        .scan_each(&table, &Scan::all(), stop_at_third)
        .unwrap();
    assert_eq!((seen, reader.locks_held()), (3, 0));

    // A scan relies on the gap below the ghost, so it stays for as long as the scan does.
    let mut scanner = begin(&store, Isolation::Serializable);
    let low = Scan::between(
        std::ops::Bound::Unbounded,
        std::ops::Bound::Included(vec![45.into()]),
    );
    assert_eq!(scanner.scan(&table, &low).unwrap().len(), 5);
    let mut deleter = begin(&store, Isolation::Serializable);
    assert!(deleter.delete(&table, &[50.into()]).unwrap());
    deleter.commit().unwrap();
    assert_eq!(store.tidy().unwrap(), 1);
    let mut writer = begin(&store, Isolation::Serializable);
    assert!(matches!(
        writer.insert(&table, &[45.into(), 0.into()]),
        Err(StoreError::LockTimeout)
    ));
    scanner.commit().unwrap();
    assert_eq!(store.tidy().unwrap(), 0);
    writer.insert(&table, &[45.into(), 0.into()]).unwrap();
    writer.commit().unwrap();
}

/// Groups may have three members. Whoever sees fewer adds one, whoever sees three removes one: right only without phantoms.
#[test]
fn phantoms_never_break_a_rule_that_each_transaction_keeps() {
    for escalation_locks in [usize::MAX, 6, 2] {
        let mut settings = small_settings(1);
        settings.escalation_locks = escalation_locks;
        no_phantoms(&open(&FaultDisk::new(), settings).unwrap());
    }
}

fn no_phantoms(store: &Store) {
    let table = store.create_table(grouped_rows()).unwrap();
    let by_group = table.index("by_group").unwrap();
    let next_id = AtomicI64::new(0);
    let client = |number: u64| {
        let mut rng = Pcg64Mcg::seed_from_u64(number);
        for _ in 0..150 {
            let group = rng.random_range(0..3) as i64;
            let mut txn = begin(store, Isolation::Serializable);
            let mut work = |txn: &mut Transaction| {
                let members = txn.scan(&table, &Scan::prefix([group.into()]).on(by_group))?;
                assert!(members.len() <= 3, "{members:?}");
                if rng.random_range(0..10) == 0 {
                    std::thread::yield_now();
                }
                match members.as_slice() {
                    [first, _, _] => txn
                        .delete(&table, &[first[0].clone()])
                        .map(|found| assert!(found)),
                    _ => txn.insert(
                        &table,
                        &[next_id.fetch_add(1, Ordering::Relaxed).into(), group.into()],
                    ),
                }
            };
            match work(&mut txn).and_then(|()| txn.commit()) {
                Ok(()) => {}
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            if rng.random_range(0..10) == 0 {
                store.tidy().unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            scope.spawn(move || client(number));
        }
    });
    assert!(store.statistics().transactions.committed > 100);
}
