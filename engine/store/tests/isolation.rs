//! What transactions see of each other: histories of list appends at each isolation level, under each schedule, also over
//! power failures; phantoms; write skew.

#[path = "support/elle.rs"]
mod elle;
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use elle::{End, Level, Observed, Operation, anomalies};
use evenkeel_disk::faults::FaultDisk;
use evenkeel_locks::Config;
use evenkeel_store::{
    Change, ColumnType, Isolation, Release, Row, Scan, ScheduleKind, Schema, Settings, Store,
    StoreError, Table, Transaction, TransactionOptions, Value,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use support::{open, small_settings};

const LISTS: i64 = 4;
const CLIENTS: u64 = 4;

fn lists() -> Schema {
    Schema::new("lists")
        .column("key", ColumnType::Int)
        .column("list", ColumnType::Bytes)
        .primary_key(["key"])
}

fn decode(row: &Row) -> Vec<i64> {
    row.bytes(1)
        .chunks_exact(8)
        .map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// One transaction of random reads and appends.
fn random_transaction(
    txn: &mut Transaction,
    table: &Table,
    rng: &mut Pcg64Mcg,
    next_value: &AtomicI64,
    operations: &mut Vec<Operation>,
) -> Result<(), StoreError> {
    for _ in 0..1 + rng.random_range(0..4) {
        let key = rng.random_range(0..LISTS as u64) as i64;
        if rng.random_range(0..2) == 0 {
            let row = txn.get(table, &[key.into()])?;
            operations.push(Operation::Read {
                key,
                list: row.as_ref().map(decode).unwrap_or_default(),
            });
        } else {
            let value = next_value.fetch_add(1, Ordering::Relaxed);
            let row = txn.get_for_update(table, &[key.into()])?;
            let list = row.as_ref().map(decode).unwrap_or_default();
            operations.push(Operation::Read { key, list });
            let mut list = row.map_or(Vec::new(), |row| row.bytes(1).to_vec());
            list.extend_from_slice(&value.to_le_bytes());
            txn.put(table, &[key.into(), list.into()])?;
            operations.push(Operation::Append { key, value });
        }
        // Not each time: on a loaded machine others then run for a while.
        if rng.random_range(0..10) == 0 {
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// Clients that append to lists until all are through or the store stops; what they saw.
fn append_to_lists(
    store: &Store,
    isolation: Isolation,
    transactions: usize,
    seed: u64,
) -> Vec<Observed> {
    let table = store.table("lists").unwrap();
    let next_value = AtomicI64::new(1);
    let client = |number: u64| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed * CLIENTS + number);
        let mut history = Vec::new();
        for _ in 0..transactions {
            let mut operations = Vec::new();
            let mut txn = store.begin(TransactionOptions {
                isolation,
                ..TransactionOptions::default()
            });
            let ran = random_transaction(&mut txn, &table, &mut rng, &next_value, &mut operations);
            let committed = ran.and_then(|()| {
                if rng.random_range(0..8) == 0 {
                    txn.rollback().map(|()| false)
                } else {
                    txn.commit().map(|()| true)
                }
            });
            let end = match &committed {
                Ok(true) => End::Committed,
                Ok(false) => End::Aborted,
                Err(StoreError::CommitUnknown(_)) => End::Unknown,
                Err(_) => End::Aborted,
            };
            history.push(Observed { operations, end });
            match committed {
                Err(error) if error.is_fatal() => break,
                Err(error) => assert!(error.is_retryable(), "{error}"),
                Ok(_) => {}
            }
        }
        history
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    })
}

fn read_lists(store: &Store) -> BTreeMap<i64, Vec<i64>> {
    let Some(table) = store.table("lists") else {
        return BTreeMap::new();
    };
    let mut txn = store.begin(TransactionOptions::default());
    let rows = txn.scan(&table, &Scan::all()).unwrap();
    rows.iter().map(|row| (row.int(0), decode(row))).collect()
}

fn level(isolation: Isolation) -> Level {
    match isolation {
        Isolation::ReadCommitted => Level::ReadCommitted,
        Isolation::RepeatableRead | Isolation::Serializable => Level::Serializable,
    }
}

const ISOLATIONS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

/// With room for lists of some length in a row.
fn list_settings(streams: usize) -> Settings {
    let mut settings = small_settings(streams);
    settings.pool.page_bytes = 16384;
    settings
}

const RELEASES: [Release; 2] = [Release::WhenLogged, Release::WhenDurable];

#[test]
fn no_anomalies_at_any_level_under_any_schedule() {
    assert_eq!(no_anomalies(list_settings(2)), 0);
}

/// Few locks already are too many: transactions lock the table as a whole, some at once, some after rows, some in vain.
#[test]
fn no_anomalies_with_locks_of_tables_under_any_schedule() {
    for locks in 2..4 {
        let mut settings = list_settings(2);
        settings.escalation_locks = locks;
        let escalations = no_anomalies(settings);
        assert!(escalations > 100, "{escalations}");
    }
}

/// Looks for anomalies at each level under each schedule; how often a table was locked.
fn no_anomalies(settings: Settings) -> u64 {
    let mut escalations = 0;
    for isolation in ISOLATIONS {
        for (number, schedule) in ScheduleKind::ALL.into_iter().enumerate() {
            let store = open(&FaultDisk::new(), settings.clone()).unwrap();
            store.create_table(lists()).unwrap();
            store.change(Change::Schedule(schedule)).unwrap();
            let history = append_to_lists(&store, isolation, 60, number as u64);
            // Nothing is lost, so nobody may have read what is.
            let found = anomalies(
                &history,
                &read_lists(&store),
                level(isolation),
                Release::WhenDurable,
            );
            assert!(
                found.is_empty(),
                "{isolation:?}, {}: {found:?}",
                schedule.name()
            );
            let statistics = store.statistics().transactions;
            assert!(statistics.committed > 100, "{statistics:?}");
            escalations += statistics.escalations;
        }
    }
    escalations
}

#[test]
fn no_anomalies_over_power_failures() {
    for release in RELEASES {
        for (number, schedule) in ScheduleKind::ALL.into_iter().enumerate() {
            for (round, isolation) in ISOLATIONS.into_iter().enumerate() {
                let mut settings = list_settings(1 + (number + round) % 4);
                settings.release = release;
                if (number + round).is_multiple_of(2) {
                    settings.escalation_locks = 3;
                }
                settings.locks = Config::new(schedule);
                let operation = 20 + (number * 37 + round * 101) as u64 % 150;
                let found = anomalies_over_power_failure(&settings, isolation, operation);
                assert!(
                    found.is_empty(),
                    "{release:?}, {isolation:?}, {}: {found:?}",
                    schedule.name()
                );
            }
        }
    }
}

/// The anomalies of a store whose power fails at so many operations of the disk from when its clients begin, as it may be left.
fn anomalies_over_power_failure(
    settings: &Settings,
    isolation: Isolation,
    operation: u64,
) -> Vec<String> {
    let disk = FaultDisk::new();
    let store = open(&disk, settings.clone()).unwrap();
    store.create_table(lists()).unwrap();
    disk.cut_power_at(disk.operations() + operation);
    let history = append_to_lists(&store, isolation, 300, operation);
    assert!(disk.power_is_off());
    drop(store);
    let left = |seed| {
        let store = open(&disk.after_power_failure(seed), settings.clone()).unwrap();
        read_lists(&store)
    };
    let found = (0..3)
        .flat_map(|seed| anomalies(&history, &left(seed), level(isolation), settings.release));
    found.collect()
}

/// A store with a table of numbered rows in groups, and an index on the group.
fn grouped() -> (Store, Table) {
    let mut settings = small_settings(1);
    settings.lock_timeout = Some(Duration::ZERO);
    let store = open(&FaultDisk::new(), settings).unwrap();
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .primary_key(["id"])
        .index("by_group", ["group"]);
    let table = store.create_table(schema).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for id in (0..100).step_by(10) {
        txn.insert(&table, &[id.into(), (id / 50).into()]).unwrap();
    }
    txn.commit().unwrap();
    (store, table)
}

fn begin(store: &Store, isolation: Isolation) -> Transaction {
    store.begin(TransactionOptions {
        isolation,
        ..TransactionOptions::default()
    })
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
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .primary_key(["id"])
        .index("by_group", ["group"]);
    let table = store.create_table(schema).unwrap();
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

#[test]
fn a_deadlock_has_one_victim_that_is_rolled_back_and_says_why() {
    let mut settings = small_settings(1);
    settings.lock_timeout = None;
    let store = open(&FaultDisk::new(), settings).unwrap();
    let table = store.create_table(lists()).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    for key in 0..2 {
        txn.put(&table, &[key.into(), vec![0].into()]).unwrap();
    }
    txn.commit().unwrap();
    let meet = std::sync::Barrier::new(2);
    let client = |mine: i64, other: i64| {
        let mut txn = store.begin(TransactionOptions::default());
        txn.put(&table, &[mine.into(), vec![mine as u8 + 1].into()])
            .unwrap();
        meet.wait();
        let result = txn.put(&table, &[other.into(), vec![mine as u8 + 1].into()]);
        if let Err(StoreError::Deadlock { cycle }) = &result {
            assert_eq!(cycle.len(), 2);
            assert!(cycle.contains(&txn.id()) && txn.is_ended() && txn.locks_held() == 0);
            assert!(matches!(
                txn.get(&table, &[0.into()]),
                Err(StoreError::Ended)
            ));
            return None;
        }
        result.unwrap();
        txn.commit().unwrap();
        Some(mine as u8 + 1)
    };
    let (a, b) = std::thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| client(0, 1)), scope.spawn(|| client(1, 0)));
        (a.join().unwrap(), b.join().unwrap())
    });
    let winner = a.xor(b).expect("one of the two");
    let mut txn = store.begin(TransactionOptions::default());
    for row in txn.scan(&table, &Scan::all()).unwrap() {
        assert_eq!(row.bytes(1), [winner]);
    }
    assert_eq!(store.statistics().transactions.deadlocks, 1);
}
