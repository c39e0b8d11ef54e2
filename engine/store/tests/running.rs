//! The running store: many threads, settings changed under load, workers, observation, statistics, power failures with several
//! streams.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_locks::rng::Rng;
use evenkeel_store::{
    Change, ColumnType, DeadlockPolicy, FlushPolicy, Observer, Replacement, Scan, ScheduleKind,
    Schema, Settings, Store, StoreError, Table, Trace, Transaction, TransactionOptions, Victim,
};
use support::{open, small_settings};

const ROWS: i64 = 40;

/// A table of numbers whose sum is zero, and one with a row for each client that counts its commits.
fn set_up(store: &Store, clients: i64) -> (Table, Table) {
    let table = |name: &str| {
        Schema::new(name)
            .column("id", ColumnType::Int)
            .column("number", ColumnType::Int)
            .column("text", ColumnType::Text)
            .primary_key(["id"])
            .index("by_number", ["number"])
    };
    let (numbers, counts) = (
        store.create_table(table("numbers")).unwrap(),
        store.create_table(table("counts")).unwrap(),
    );
    let mut txn = store.begin(TransactionOptions::default());
    for (table, rows) in [(&numbers, ROWS), (&counts, clients)] {
        for id in 0..rows {
            txn.insert(table, &[id.into(), 0.into(), "".into()])
                .unwrap();
        }
    }
    txn.commit().unwrap();
    (numbers, counts)
}

/// Moves an amount between two numbers and counts the commit.
fn transfer(
    txn: &mut Transaction,
    tables: &(Table, Table),
    client: i64,
    step: i64,
) -> Result<(), StoreError> {
    let (numbers, counts) = tables;
    for (id, amount) in [
        ((client * 13 + step * 7) % ROWS, step),
        ((client * 5 + step * 11) % ROWS, -step),
    ] {
        let mut row = txn.get_for_update(numbers, &[id.into()])?.unwrap();
        row.set(1, row.int(1) + amount);
        row.set(2, "y".repeat((step % 97) as usize));
        txn.update(numbers, &row)?;
    }
    let mut row = txn.get_for_update(counts, &[client.into()])?.unwrap();
    row.set(1, row.int(1) + 1);
    txn.update(counts, &row)
}

/// The counts of commits, after checking that the numbers add up and each index agrees with its table.
fn check(store: &Store) -> Vec<i64> {
    let mut txn = store.begin(TransactionOptions::default());
    let mut read = |name: &str| {
        let table = store.table(name).unwrap();
        let rows = txn.scan(&table, &Scan::all()).unwrap();
        let mut by_number = txn
            .scan(&table, &Scan::all().on(table.index("by_number").unwrap()))
            .unwrap();
        by_number.sort_by_key(|row| row.int(0));
        assert_eq!(rows, by_number);
        rows.iter().map(|row| row.int(1)).collect::<Vec<_>>()
    };
    let numbers = read("numbers");
    assert_eq!(numbers[..ROWS as usize].iter().sum::<i64>(), 0);
    read("counts")
}

#[test]
fn settings_change_under_load_without_harm() {
    let clients = 4;
    let mut settings = small_settings(4);
    settings.workers = 2;
    let store = open(&FaultDisk::new(), settings).unwrap();
    let tables = set_up(&store, clients);
    let stop = AtomicBool::new(false);
    let committed: Vec<AtomicI64> = (0..clients).map(|_| AtomicI64::new(0)).collect();
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (store, tables, stop, committed) = (&store, &tables, &stop, &committed);
            scope.spawn(move || {
                let mut step = 0;
                while !stop.load(Ordering::Relaxed)
                    || committed[client as usize].load(Ordering::Relaxed) == 0
                {
                    step += 1;
                    let executed = store.execute(TransactionOptions::default(), |txn| {
                        transfer(txn, tables, client, step)
                    });
                    match executed.result {
                        Ok(()) => drop(committed[client as usize].fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert!(
                            error.is_retryable() || matches!(error, StoreError::LockTimeout),
                            "{error}"
                        ),
                    }
                }
            });
        }
        let mut changes = Vec::new();
        changes.extend(ScheduleKind::ALL.map(Change::Schedule));
        changes.extend([1, 4, 2, 3].map(Change::LogStreams));
        changes.extend(
            [
                FlushPolicy::LazyWrite,
                FlushPolicy::LazyFlush,
                FlushPolicy::EagerFlush,
            ]
            .map(Change::FlushPolicy),
        );
        changes.extend([Replacement::LazyLru, Replacement::Lru].map(Change::Replacement));
        changes.extend([0, 3, 1].map(Change::Workers));
        changes.extend([1024, 8192, 512].map(Change::LogBlockBytes));
        let policies = [
            DeadlockPolicy::NoWait,
            DeadlockPolicy::WaitDie,
            DeadlockPolicy::WoundWait,
            DeadlockPolicy::Detect(Victim::Youngest),
        ];
        changes.extend(policies.map(Change::Deadlocks));
        changes.push(Change::LockTimeout(Some(Duration::from_millis(1))));
        changes.push(Change::LazyWait(Duration::from_micros(20)));
        changes.push(Change::FlushInterval(Duration::from_millis(5)));
        changes.push(Change::CheckpointLogBytes(10_000));
        for _ in 0..3 {
            for change in &changes {
                store.change(change.clone()).unwrap();
                store.tidy().unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        while store.statistics().transactions.checkpoints <= 1 {
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let committed: Vec<i64> = committed.into_iter().map(AtomicI64::into_inner).collect();
    assert_eq!(check(&store), committed);
    assert!(store.change(Change::LogBlockBytes(1000)).is_err());
}

#[test]
fn power_failures_under_load_keep_what_was_acknowledged() {
    let clients = 4;
    for streams in [1, 2, 4] {
        for cut in (10..250).step_by(16) {
            let disk = FaultDisk::new();
            let settings = small_settings(streams);
            let store = open(&disk, settings.clone()).unwrap();
            let tables = set_up(&store, clients);
            disk.cut_power_at(disk.operations() + cut);
            let acknowledged: Vec<AtomicI64> = (0..clients).map(|_| AtomicI64::new(0)).collect();
            std::thread::scope(|scope| {
                for client in 0..clients {
                    let (store, tables, acknowledged) =
                        (&store, &tables, &acknowledged[client as usize]);
                    scope.spawn(move || {
                        for step in 1.. {
                            let mut txn = store.begin(TransactionOptions::default());
                            match transfer(&mut txn, tables, client, step)
                                .and_then(|()| txn.commit())
                            {
                                Ok(()) => drop(acknowledged.fetch_add(1, Ordering::Relaxed)),
                                Err(error) if error.is_retryable() => {}
                                Err(error) => {
                                    assert!(error.is_fatal(), "{error}");
                                    break;
                                }
                            }
                            if step % 6 == client {
                                let _ = store.checkpoint();
                            }
                        }
                    });
                }
            });
            drop(store);
            let store = open(&disk.after_power_failure(cut), settings).unwrap();
            for (found, acknowledged) in check(&store).into_iter().zip(acknowledged) {
                let acknowledged = acknowledged.into_inner();
                assert!(
                    (acknowledged..=acknowledged + 1).contains(&found),
                    "{streams} streams, cut {cut}: {found} commits of {acknowledged}"
                );
            }
        }
    }
}

#[derive(Default)]
struct Recorder {
    ended: AtomicU64,
    committed: AtomicU64,
    grants: AtomicU64,
}

impl Observer for Recorder {
    fn ended(&self, trace: &Trace<'_>) {
        assert_eq!(trace.class, 5);
        assert!(
            trace
                .grants
                .iter()
                .all(|grant| grant.age_ns <= trace.age_ns && grant.waited_ns <= grant.age_ns)
        );
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.committed
            .fetch_add(u64::from(trace.committed), Ordering::Relaxed);
        self.grants
            .fetch_add(trace.grants.len() as u64, Ordering::Relaxed);
    }
}

#[test]
fn an_observer_sees_the_age_at_each_grant_and_at_the_end() {
    let store = open(&FaultDisk::new(), small_settings(1)).unwrap();
    let tables = set_up(&store, 1);
    let recorder = Arc::new(Recorder::default());
    store.observe(Some(recorder.clone()));
    let options = TransactionOptions {
        class: 5,
        ..TransactionOptions::default()
    };
    let mut txn = store.begin(options);
    transfer(&mut txn, &tables, 0, 1).unwrap();
    let rows = 3;
    txn.commit().unwrap();
    let mut txn = store.begin(options);
    transfer(&mut txn, &tables, 0, 1).unwrap();
    drop(txn);
    store.observe(None);
    store.begin(TransactionOptions::default()).commit().unwrap();
    let seen = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(
        (
            seen(&recorder.ended),
            seen(&recorder.committed),
            seen(&recorder.grants)
        ),
        (2, 1, 2 * rows)
    );
}

#[test]
fn statistics_count_what_happened() {
    let store = open(&FaultDisk::new(), small_settings(1)).unwrap();
    let tables = set_up(&store, 1);
    let before = store.statistics().transactions;
    store
        .execute(TransactionOptions::default(), |txn| {
            transfer(txn, &tables, 0, 1)
        })
        .result
        .unwrap();
    let failed = store.execute(TransactionOptions::default(), |txn| {
        txn.insert(&tables.1, &[0.into(), 0.into(), "".into()])
    });
    assert!(matches!(
        failed.result,
        Err(StoreError::DuplicateKey { .. })
    ));
    let txn = store.begin(TransactionOptions::default());
    txn.commit().unwrap();
    let after = store.statistics();
    assert_eq!(after.transactions.committed - before.committed, 2);
    assert_eq!(after.transactions.read_only - before.read_only, 1);
    assert_eq!(after.transactions.rolled_back - before.rolled_back, 1);
    assert!(after.pool.hits > 0 && after.log.commits > 0 && after.locks.uncontended_grants > 0);
    store.close().unwrap();
    assert!(matches!(
        store
            .begin(TransactionOptions::default())
            .get(&tables.0, &[1.into()]),
        Err(StoreError::Stopped(_))
    ));
    assert_eq!(store.table_names(), ["counts", "numbers"]);
}

#[test]
fn the_background_thread_tidies_up_and_takes_checkpoints() {
    let place = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.pool.frames = 64;
    settings.checkpoint_log_bytes = 20_000;
    let store = Store::open(place.path(), settings.clone()).unwrap();
    let tables = set_up(&store, 1);
    let first = store.statistics().transactions.checkpoints;
    let mut step = 0;
    loop {
        step += 1;
        store
            .execute(TransactionOptions::default(), |txn| {
                transfer(txn, &tables, 0, step)
            })
            .result
            .unwrap();
        let found = store.execute(TransactionOptions::default(), |txn| {
            txn.insert(&tables.0, &[1000.into(), 0.into(), "".into()])?;
            txn.delete(&tables.0, &[1000.into()])
        });
        assert!(found.result.unwrap());
        let transactions = store.statistics().transactions;
        if transactions.purged > 0 && transactions.checkpoints > first {
            break;
        }
    }
    drop(store);
    let store = Store::open(place.path(), settings).unwrap();
    assert_eq!(check(&store), [step]);
}

/// A client with keys that no other client has; it knows what their rows hold.
struct Owner {
    number: i64,
    clients: i64,
    random: Rng,
    own: BTreeMap<i64, i64>,
}

impl Owner {
    fn key(&mut self) -> i64 {
        1000 + self.random.below(400) as i64 * self.clients + self.number
    }

    /// Puts rows, or deletes them, and checks others; returns the rows that it has then.
    fn work(
        &mut self,
        txn: &mut Transaction,
        rows: &Table,
        deleting: bool,
    ) -> Result<BTreeMap<i64, i64>, StoreError> {
        let mut changed = self.own.clone();
        for _ in 0..20 {
            let key = self.key();
            if deleting {
                let is_there = changed.remove(&key).is_some();
                assert_eq!(txn.delete(rows, &[key.into()])?, is_there);
            } else {
                let value = self.random.below(50) as i64;
                let padding = "z".repeat(self.random.below(300) as usize);
                txn.put(rows, &[key.into(), value.into(), padding.into()])?;
                changed.insert(key, value);
            }
            let key = self.key();
            let found = txn.get(rows, &[key.into()])?.map(|row| row.int(1));
            assert_eq!(found, changed.get(&key).copied());
        }
        Ok(changed)
    }

    /// A transaction, committed or rolled back; one that others made fail changes nothing.
    fn transaction(&mut self, store: &Store, rows: &Table, round: i64) {
        let mut txn = store.begin(TransactionOptions::default());
        let done = self.work(&mut txn, rows, round % 20 >= 10);
        let done = done.and_then(|changed| match round % 7 {
            6 => txn.rollback().map(|()| None),
            _ => txn.commit().map(|()| Some(changed)),
        });
        match done {
            Ok(Some(changed)) => self.own = changed,
            Ok(None) => {}
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

/// The clients' keys are interleaved in the same nodes, which split and merge all the time.
#[test]
fn clients_find_their_own_rows_whatever_happens_to_the_nodes_around_them() {
    let clients = 4;
    let disk = FaultDisk::new();
    let mut settings = small_settings(2);
    settings.pool.frames = 48;
    let store = open(&disk, settings.clone()).unwrap();
    let (rows, _) = &set_up(&store, clients);
    let client = |number: i64| {
        let mut owner = Owner {
            number,
            clients,
            random: Rng::new(number as u64),
            own: BTreeMap::new(),
        };
        for round in 0..60 {
            owner.transaction(&store, rows, round);
            if round % clients == number {
                store.tidy().unwrap();
            }
            if round % 15 == number {
                store.checkpoint().unwrap();
            }
        }
        owner.own
    };
    let expected: BTreeMap<i64, i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });

    let recovered = open(&disk.after_power_failure(5), settings).unwrap();
    for store in [store.clone(), recovered] {
        let table = store.table("numbers").unwrap();
        let mut txn = store.begin(TransactionOptions::default());
        let own = Scan::between(
            std::ops::Bound::Included(vec![1000.into()]),
            std::ops::Bound::Unbounded,
        );
        let found = txn.scan(&table, &own).unwrap();
        let found = found.iter().map(|row| (row.int(0), row.int(1)));
        assert!(found.eq(expected.clone()));
        check(&store);
    }
}

#[test]
fn the_number_of_log_streams_may_change_from_opening_to_opening() {
    let place = tempfile::tempdir().unwrap();
    for (round, streams) in [1, 3, 1, 2].into_iter().enumerate() {
        let mut settings = Settings::default();
        settings.pool.frames = 64;
        settings.log_streams = streams;
        let store = Store::open(place.path(), settings.clone()).unwrap();
        assert!(matches!(
            Store::open(place.path(), settings),
            Err(StoreError::InUse)
        ));
        let tables = match (store.table("numbers"), store.table("counts")) {
            (Some(numbers), Some(counts)) => (numbers, counts),
            _ => set_up(&store, 1),
        };
        for step in 0..5 {
            store
                .execute(TransactionOptions::default(), |txn| {
                    transfer(txn, &tables, 0, step)
                })
                .result
                .unwrap();
        }
        assert_eq!(check(&store), [5 * (round as i64 + 1)]);
        // Every other time nothing is left to recover.
        if round % 2 == 0 {
            store.close().unwrap();
        }
    }
}
