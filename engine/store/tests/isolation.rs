//! Visibility between transactions: histories of list appends at each isolation level, under each schedule, also over
//! power failures. Also the error that a deadlock's victim gets.

#[path = "support/elle.rs"]
mod elle;
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use elle::{End, Level, Observed, Operation, anomalies};
use evenkeel_disk::faults::FaultDisk;
use evenkeel_locks::Config;
use evenkeel_store::{
    Change, ColumnType, Isolation, Release, Row, Scan, ScheduleKind, Schema, Settings, Store,
    StoreError, Table, Transaction, TransactionOptions,
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

/// The anomalies of a store whose power fails at this many operations after its clients have begun, in a possible
/// image of the disk.
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
