//! Transactions a second of two small workloads on a directory, as a first look at where time goes:
//! `cargo run --release -p evenkeel-store --example throughput -- DIRECTORY [threads] [seconds]`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evenkeel_locks::rng::Rng;
use evenkeel_store::{
    ColumnType, FlushPolicy, Schema, Settings, Store, StoreError, Table, TransactionOptions, Value,
};

const ROWS: i64 = 100_000;
/// Rows updated, and rows read, by a transaction.
const STATEMENTS: usize = 10;

fn main() -> Result<(), StoreError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory for the store");
    let threads: u64 = arguments
        .next()
        .map_or(1, |text| text.parse().expect("a number of threads"));
    let seconds: u64 = arguments
        .next()
        .map_or(5, |text| text.parse().expect("a number of seconds"));
    let mut settings = Settings::default();
    settings.pool.frames = 16384;
    let store = Store::open(directory, settings)?;
    let table = match store.table("rows") {
        Some(table) => table,
        None => load(&store)?,
    };
    for policy in [FlushPolicy::EagerFlush, FlushPolicy::LazyWrite] {
        store.change(evenkeel_store::Change::FlushPolicy(policy))?;
        for writes in [false, true] {
            let count = measure(
                &store,
                &table,
                writes,
                threads,
                Duration::from_secs(seconds),
            );
            let what = if writes { "updates" } else { "reads" };
            println!(
                "{policy:?}: {STATEMENTS} {what} a transaction, {threads} threads: {} transactions/s",
                count / seconds
            );
        }
    }
    let log = store.statistics().log;
    println!("{log:?}");
    store.close()
}

fn load(store: &Store) -> Result<Table, StoreError> {
    let mut schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("number", ColumnType::Int);
    for field in 0..10 {
        schema = schema.column(format!("field{field}"), ColumnType::Text);
    }
    let table = store.create_table(schema.primary_key(["id"]))?;
    let begun = Instant::now();
    for from in (0..ROWS).step_by(1000) {
        let mut txn = store.begin(TransactionOptions::default());
        for id in from..from + 1000 {
            let mut row: Vec<Value> = vec![id.into(), 0.into()];
            row.extend((0..10).map(|_| Value::from("x".repeat(30))));
            txn.insert(&table, &row)?;
        }
        txn.commit()?;
    }
    println!("{ROWS} rows loaded in {:?}", begun.elapsed());
    Ok(table)
}

fn measure(store: &Store, table: &Table, writes: bool, threads: u64, time: Duration) -> u64 {
    let stop = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (stop, count) = (&stop, &count);
            scope.spawn(move || {
                let mut random = Rng::new(thread + 1);
                while !stop.load(Ordering::Relaxed) {
                    if transaction(store, table, writes, &mut random).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    count.into_inner()
}

fn transaction(
    store: &Store,
    table: &Table,
    writes: bool,
    random: &mut Rng,
) -> Result<(), StoreError> {
    let mut txn = store.begin(TransactionOptions::default());
    for _ in 0..STATEMENTS {
        let key = [Value::Int(random.below(ROWS as u64) as i64)];
        if writes {
            let mut row = txn
                .get_for_update(table, &key)?
                .expect("every row was loaded");
            row.set(1, row.int(1) + 1);
            txn.update(table, &row)?;
        } else {
            txn.get(table, &key)?;
        }
    }
    txn.commit()
}
