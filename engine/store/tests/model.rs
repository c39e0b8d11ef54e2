//! The store against a `BTreeMap`: random statements, rollbacks, crashes and restarts.

mod support;

use std::collections::BTreeMap;
use std::ops::Bound;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Row, Scan, Schema, Store, StoreError, Table, Transaction, TransactionOptions, Value,
};
use proptest::prelude::*;
use support::{open, small_settings};

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, i64, Option<u8>, usize),
    Put(i64, i64, Option<u8>, usize),
    Update(i64, i64, Option<u8>, usize),
    Delete(i64),
    /// Deletes a whole range, so that nodes are merged.
    DeleteRange(i64, i64),
    Get(i64),
    Scan {
        low: i64,
        high: i64,
        limit: usize,
        reverse: bool,
    },
    ScanScores {
        low: i64,
        high: i64,
        limit: usize,
        reverse: bool,
    },
    Commit,
    Rollback,
    Tidy,
    Checkpoint,
    Close,
    Kill,
    PowerFailure(u64),
}

const KEYS: i64 = 120;

fn step() -> impl Strategy<Value = Step> {
    let row = || {
        (
            0..KEYS,
            0..12i64,
            proptest::option::weighted(0.3, 0..40u8),
            prop_oneof![12 => 0..500usize, 1 => 600..9000usize],
        )
    };
    let ends = || {
        (
            0..KEYS,
            0..KEYS,
            prop_oneof![Just(usize::MAX), 0..6usize],
            any::<bool>(),
        )
    };
    prop_oneof![
        12 => row().prop_map(|(key, score, name, len)| Step::Insert(key, score, name, len)),
        12 => row().prop_map(|(key, score, name, len)| Step::Put(key, score, name, len)),
        8 => row().prop_map(|(key, score, name, len)| Step::Update(key, score, name, len)),
        6 => (0..KEYS).prop_map(Step::Delete),
        1 => (0..KEYS, 0..KEYS).prop_map(|(low, high)| Step::DeleteRange(low, high)),
        4 => (0..KEYS).prop_map(Step::Get),
        4 => ends().prop_map(|(low, high, limit, reverse)| Step::Scan { low, high, limit, reverse }),
        4 => ends().prop_map(|(low, high, limit, reverse)| Step::ScanScores { low: low / 10, high: high / 10, limit, reverse }),
        6 => Just(Step::Commit),
        3 => Just(Step::Rollback),
        3 => Just(Step::Tidy),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Close),
        1 => Just(Step::Kill),
        1 => any::<u64>().prop_map(Step::PowerFailure),
    ]
}

fn schema() -> Schema {
    Schema::new("things")
        .nullable("name", ColumnType::Text)
        .column("key", ColumnType::Int)
        .column("score", ColumnType::Int)
        .column("filler", ColumnType::Text)
        .primary_key(["key"])
        .index("by_score", ["score"])
        .unique_index("by_name", ["name"])
}

fn row(key: i64, score: i64, name: Option<u8>, len: usize) -> Vec<Value> {
    let filler = "abcdefgh".repeat(len / 8 + 1);
    vec![
        name.map(|name| format!("n{name}")).into(),
        key.into(),
        score.into(),
        filler[..len].into(),
    ]
}

type Rows = BTreeMap<i64, Vec<Value>>;

/// The row another key has of this name, if any.
fn name_is_taken(rows: &Rows, row: &[Value]) -> bool {
    let key = key_of(row);
    row[0] != Value::Null
        && rows
            .iter()
            .any(|(&other, there)| other != key && there[0] == row[0])
}

fn key_of(row: &[Value]) -> i64 {
    Row(row.to_vec()).int(1)
}

struct World {
    disk: FaultDisk,
    store: Option<Store>,
    txn: Option<Transaction>,
    committed: Rows,
    current: Rows,
}

impl World {
    fn new(disk: FaultDisk) -> World {
        let store = open(&disk, small_settings(1)).unwrap();
        store.create_table(schema()).unwrap();
        World {
            disk,
            store: Some(store),
            txn: None,
            committed: Rows::new(),
            current: Rows::new(),
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn table(&self) -> Table {
        self.store().table("things").unwrap()
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut Transaction, &Table) -> T) -> T {
        let table = self.table();
        let store = self.store.as_ref().unwrap();
        let txn = self
            .txn
            .get_or_insert_with(|| store.begin(TransactionOptions::default()));
        run(txn, &table)
    }

    /// Statement and model agree on whether the row may be written.
    fn write(
        &mut self,
        row: Vec<Value>,
        result: Result<(), StoreError>,
        exists_ok: bool,
        missing_ok: bool,
    ) {
        let exists = self.current.contains_key(&key_of(&row));
        if exists && !exists_ok {
            assert!(
                matches!(result, Err(StoreError::DuplicateKey { ref index, .. }) if index == "primary key")
            );
        } else if !exists && !missing_ok {
            assert!(matches!(result, Err(StoreError::NotFound { .. })));
        } else if name_is_taken(&self.current, &row) {
            assert!(
                matches!(result, Err(StoreError::DuplicateKey { ref index, .. }) if index == "by_name"),
                "{result:?}"
            );
        } else {
            result.unwrap();
            self.current.insert(key_of(&row), row);
        }
    }

    fn scan(&mut self, low: i64, high: i64, limit: usize, reverse: bool, by_score: bool) {
        let at = if by_score { 2 } else { 1 };
        let value = |row: &Vec<Value>| Row(row.clone()).int(at);
        let mut expected: Vec<Vec<Value>> = self
            .current
            .values()
            .filter(|row| (low..=high).contains(&value(row)))
            .cloned()
            .collect();
        expected.sort_by_key(|row| (value(row), key_of(row)));
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        let bounds = (
            Bound::Included(vec![low.into()]),
            Bound::Included(vec![high.into()]),
        );
        let mut scan = Scan::between(bounds.0, bounds.1).limit(limit);
        if by_score {
            scan = scan.on(self.table().index("by_score").unwrap());
        }
        if reverse {
            scan = scan.reverse();
        }
        let found = self.with(|txn, table| txn.scan(table, &scan)).unwrap();
        let found: Vec<Vec<Value>> = found.into_iter().map(|row| row.0).collect();
        assert_eq!(found, expected);
    }

    fn restart(&mut self, disk: FaultDisk) {
        self.txn = None;
        self.store = None;
        self.disk = disk;
        self.store = Some(open(&self.disk, small_settings(1)).unwrap());
        self.current = self.committed.clone();
        self.check_all();
    }

    fn check_all(&mut self) {
        self.scan(i64::MIN, i64::MAX, usize::MAX, false, false);
        self.scan(i64::MIN, i64::MAX, usize::MAX, true, true);
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Insert(key, score, name, len) => {
                let row = row(key, score, name, len);
                let result = self.with(|txn, table| txn.insert(table, &row));
                self.write(row, result, false, true);
            }
            Step::Put(key, score, name, len) => {
                let row = row(key, score, name, len);
                let result = self.with(|txn, table| txn.put(table, &row));
                self.write(row, result, true, true);
            }
            Step::Update(key, score, name, len) => {
                let row = row(key, score, name, len);
                let result = self.with(|txn, table| txn.update(table, &row));
                self.write(row, result, true, false);
            }
            Step::Delete(key) => {
                let found = self
                    .with(|txn, table| txn.delete(table, &[key.into()]))
                    .unwrap();
                assert_eq!(found, self.current.remove(&key).is_some());
            }
            Step::DeleteRange(low, high) => {
                for key in low..high {
                    self.run(Step::Delete(key));
                }
            }
            Step::Get(key) => {
                let found = self
                    .with(|txn, table| txn.get(table, &[key.into()]))
                    .unwrap();
                assert_eq!(found.map(|row| row.0), self.current.get(&key).cloned());
            }
            Step::Scan {
                low,
                high,
                limit,
                reverse,
            } => self.scan(low, high, limit, reverse, false),
            Step::ScanScores {
                low,
                high,
                limit,
                reverse,
            } => self.scan(low, high, limit, reverse, true),
            Step::Commit => {
                if let Some(txn) = self.txn.take() {
                    txn.commit().unwrap();
                }
                self.committed = self.current.clone();
            }
            Step::Rollback => {
                if let Some(txn) = self.txn.take() {
                    txn.rollback().unwrap();
                }
                self.current = self.committed.clone();
            }
            Step::Tidy => {
                self.store().tidy().unwrap();
            }
            Step::Checkpoint => self.store().checkpoint().unwrap(),
            Step::Close => {
                self.run(Step::Rollback);
                self.store().close().unwrap();
                self.restart(self.disk.after_kill());
            }
            Step::Kill => self.restart(self.disk.after_kill()),
            Step::PowerFailure(seed) => self.restart(self.disk.after_power_failure(seed)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn the_store_is_a_map_that_survives(steps in proptest::collection::vec(step(), 1..400)) {
        let mut world = World::new(FaultDisk::new());
        for step in steps {
            world.run(step);
        }
        world.check_all();
        world.restart(world.disk.after_power_failure(1));
    }
}

#[test]
fn a_tree_grows_and_shrinks_and_gives_its_pages_back() {
    let disk = FaultDisk::new();
    let mut world = World::new(disk);
    for round in 0..3 {
        for key in 0..1500 {
            let key = if round == 1 { 1499 - key } else { key };
            world.run(Step::Insert(key, key % 50, None, 200));
            if key % 100 == 0 {
                world.run(Step::Commit);
            }
        }
        world.run(Step::Commit);
        world.check_all();
        world.run(Step::Commit);
        for key in 0..1500 {
            world.run(Step::Delete(key));
        }
        world.run(Step::Commit);
        world.run(Step::Tidy);
        assert_eq!(world.store().tidy().unwrap(), 0);
        world.check_all();
        world.run(Step::Commit);
        world.run(Step::Close);
        let statistics = world.store().statistics();
        // The catalog, the table and its two indexes are one page each again, plus the map.
        assert!(statistics.pool.resident <= 6, "{:?}", statistics.pool);
    }
}
