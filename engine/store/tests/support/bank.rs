//! A small bank with some of TPC-C's habits, and the contents that its store must hold after a failure. These are
//! exactly the model's contents after some transaction, no earlier than the last acknowledged.
//!
//! Transfers change two rows, insert into a history with an index, take the oldest entries off it, and sometimes roll back.

use std::collections::BTreeMap;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Row, Scan, Schema, Settings, Store, StoreError, TransactionOptions, Value,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::support::open;

const ACCOUNTS: i64 = 12;
const TRANSACTIONS: usize = 36;

/// Everything in the store: table, then the rows in order.
pub type Contents = BTreeMap<&'static str, Vec<Vec<Value>>>;

fn accounts() -> Schema {
    Schema::new("accounts")
        .column("id", ColumnType::Int)
        .column("balance", ColumnType::Int)
        .column("note", ColumnType::Text)
        .primary_key(["id"])
        .unique_index("by_note", ["note"])
}

fn history() -> Schema {
    Schema::new("history")
        .column("number", ColumnType::Int)
        .column("account", ColumnType::Int)
        .column("amount", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["number"])
        .index("by_account", ["account"])
}

pub fn set_up(store: &Store) -> Result<(), StoreError> {
    let (accounts, _) = (
        store.create_table(accounts())?,
        store.create_table(history())?,
    );
    let mut txn = store.begin(TransactionOptions::default());
    for id in 0..ACCOUNTS {
        txn.insert(
            &accounts,
            &[id.into(), 1000.into(), format!("start {id}").into()],
        )?;
    }
    txn.commit()
}

/// Runs one transaction; returns whether it committed.
pub fn transfer(store: &Store, number: i64, rng: &mut Pcg64Mcg) -> Result<bool, StoreError> {
    let (accounts, history) = (
        store.table("accounts").expect("made"),
        store.table("history").expect("made"),
    );
    let (from, to) = (
        rng.random_range(0..ACCOUNTS as u64) as i64,
        rng.random_range(0..ACCOUNTS as u64) as i64,
    );
    let amount = rng.random_range(0..100) as i64;
    let mut txn = store.begin(TransactionOptions::default());
    for (id, amount) in [(from, -amount), (to, amount)] {
        let mut row = txn
            .get_for_update(&accounts, &[id.into()])?
            .expect("accounts stay");
        row.set(1, row.int(1) + amount);
        row.set(
            2,
            format!(
                "{number} {id} {}",
                "x".repeat(rng.random_range(0..300) as usize)
            ),
        );
        txn.update(&accounts, &row)?;
    }
    // One in eight is too long for a page.
    let words = |rng: &mut Pcg64Mcg| match rng.random_range(0..8) {
        0 => 600 + rng.random_range(0..300),
        _ => rng.random_range(0..70),
    };
    let text = "history ".repeat(words(rng) as usize);
    txn.insert(
        &history,
        &[number.into(), from.into(), amount.into(), text.into()],
    )?;
    if rng.random_range(0..4) == 0 {
        let text = "changed ".repeat(words(rng) as usize);
        txn.update(
            &history,
            &[number.into(), to.into(), amount.into(), text.into()],
        )?;
    }
    if rng.random_range(0..3) > 0 {
        for row in txn.scan(
            &history,
            &Scan::all()
                .limit(1 + rng.random_range(0..2) as usize)
                .for_update(),
        )? {
            assert!(txn.delete(&history, &[row[0].clone()])?);
        }
    }
    let by_account = history.index("by_account").expect("made");
    for row in txn.scan(
        &history,
        &Scan::prefix([from.into()]).on(by_account).limit(2),
    )? {
        assert_eq!(row.int(1), from);
    }
    if rng.random_range(0..5) == 0 {
        txn.rollback()?;
        return Ok(false);
    }
    txn.commit()?;
    Ok(true)
}

pub fn contents(store: &Store) -> Contents {
    let mut contents = Contents::new();
    for (name, index) in [("accounts", "by_note"), ("history", "by_account")] {
        let Some(table) = store.table(name) else {
            continue;
        };
        let mut txn = store.begin(TransactionOptions::default());
        let rows = txn.scan(&table, &Scan::all()).unwrap();
        let by_index = txn
            .scan(&table, &Scan::all().on(table.index(index).unwrap()))
            .unwrap();
        let mut sorted = by_index;
        sorted.sort_by_key(|row| row.int(0));
        assert_eq!(sorted, rows, "the index has every row once");
        contents.insert(name, rows.into_iter().map(|Row(values)| values).collect());
    }
    contents
}

/// Runs the whole workload; calls `committed` after each acknowledged step.
pub fn run(
    store: &Store,
    housekeeping: bool,
    mut committed: impl FnMut(&Store),
) -> Result<(), StoreError> {
    set_up(store)?;
    committed(store);
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    for number in 0..TRANSACTIONS {
        if transfer(store, number as i64, &mut rng)? {
            committed(store);
        }
        if housekeeping && number % 5 == 4 {
            store.tidy()?;
        }
        if housekeeping && number % 12 == 11 {
            store.checkpoint()?;
        }
    }
    store.close()
}

/// The store's contents after each commit, from the first (the set-up) on.
pub fn states(settings: &Settings) -> Vec<Contents> {
    let disk = FaultDisk::new();
    let store = open(&disk, settings.clone()).unwrap();
    let mut states = Vec::new();
    run(&store, true, |store| states.push(contents(store))).unwrap();
    states
}

/// Recovers the disk and checks that it holds the state after at least `acknowledged` commits.
pub fn check(
    disk: &FaultDisk,
    settings: &Settings,
    states: &[Contents],
    acknowledged: usize,
    what: &str,
) {
    let store = open(disk, settings.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = contents(&store);
    let complete = found.get("accounts").is_some_and(|rows| !rows.is_empty());
    if !complete {
        assert_eq!(acknowledged, 0, "{what}: everything is lost");
        return;
    }
    let at = states.iter().position(|state| *state == found);
    let at = at.unwrap_or_else(|| {
        panic!("{what}: a state there never was after {acknowledged} commits: {found:?}")
    });
    assert!(
        (acknowledged..=acknowledged + 1).contains(&(at + 1)),
        "{what}: {at} after {acknowledged}"
    );
    // The store continues to work.
    let mut rng = Pcg64Mcg::seed_from_u64(99);
    transfer(&store, 1_000_000, &mut rng).unwrap();
    contents(&store);
}
