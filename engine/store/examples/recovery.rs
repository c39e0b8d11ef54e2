//! Time of recovery, compared with the work that wrote the log: `cargo run --release -p evenkeel-store --example
//! recovery -- DIRECTORY [MB of log ...]` (64 and 256).
//!
//! For each size a separate process inserts rows and updates, deletes and re-inserts them at random. When its log has
//! this many megabytes since the last checkpoint, it dies without closing the store. One line is for a new store.
//! Another is for a store with as much earlier work: the pages that recovery changes are then in the file, and have
//! to be read.
//!
//! * `log`: the log written, in bytes and records,
//! * `work`: the time of writing it, without waiting for the disk at each commit ([`FlushPolicy::LazyFlush`]),
//! * `recovery`: the time of the next opening, which repeats all of it,
//! * `opening`: the time of an opening after a clean close.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use evenkeel_locks::rng::Rng;
use evenkeel_store::{
    ColumnType, FlushPolicy, Scan, Schema, Settings, Store, StoreError, Table, TransactionOptions,
    Value,
};

/// More rows than fit into the pool: 128 MB.
const ROWS: i64 = 400_000;
const STATEMENTS: usize = 100;
const SIZES_MB: [u64; 2] = [64, 256];

fn main() -> Result<(), StoreError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse().expect("a number of megabytes");
    match arguments.as_slice() {
        [mode, directory, size, before] if mode == "--work" => {
            work(Path::new(directory), number(size), number(before))
        }
        [directory, sizes @ ..] => {
            let sizes: Vec<u64> = sizes.iter().map(number).collect();
            let sizes = if sizes.is_empty() {
                &SIZES_MB
            } else {
                &sizes[..]
            };
            sizes.iter().try_for_each(|&size_mb| {
                measure(Path::new(directory), size_mb, 0)?;
                measure(Path::new(directory), size_mb, size_mb)
            })
        }
        [] => panic!("name a directory for the stores"),
    }
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.log.policy = FlushPolicy::LazyFlush;
    settings.checkpoint_log_bytes = u64::MAX;
    settings
}

/// Writes a log of this many megabytes, after `before_mb` that recovery need not read; prints the time, and dies.
fn work(directory: &Path, size_mb: u64, before_mb: u64) -> Result<(), StoreError> {
    let store = Store::open(directory, settings())?;
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("number", ColumnType::Int)
        .column("text", ColumnType::Text);
    let table = store.create_table(schema.primary_key(["id"]).index("by_number", ["number"]))?;
    let mut random = Rng::new(1);
    log_until(&store, &table, before_mb << 20, &mut random)?;
    // What was dirty before the first is in the file after the second.
    store.checkpoint()?;
    store.checkpoint()?;
    let before = store.statistics().log;
    let begun = Instant::now();
    let bytes = before.record_bytes + (size_mb << 20);
    log_until(&store, &table, bytes, &mut random)?;
    let log = store.statistics().log;
    let elapsed = begun.elapsed();
    println!(
        "{} {} {}",
        log.record_bytes - before.record_bytes,
        log.records - before.records,
        elapsed.as_nanos()
    );
    std::process::abort()
}

/// Changes rows until the store has logged this many bytes.
fn log_until(store: &Store, table: &Table, bytes: u64, random: &mut Rng) -> Result<(), StoreError> {
    while store.statistics().log.record_bytes < bytes {
        let mut txn = store.begin(TransactionOptions::default());
        for _ in 0..STATEMENTS {
            change(&mut txn, table, random)?;
        }
        txn.commit()?;
    }
    Ok(())
}

fn change(
    txn: &mut evenkeel_store::Transaction,
    table: &Table,
    random: &mut Rng,
) -> Result<(), StoreError> {
    let id = Value::Int(random.below(ROWS as u64) as i64);
    if random.below(8) == 0 {
        txn.delete(table, &[id]).map(drop)
    } else {
        let number = Value::Int(random.below(1 << 16) as i64);
        txn.put(table, &[id, number, "x".repeat(300).into()])
            .map(drop)
    }
}

fn measure(directory: &Path, size_mb: u64, before_mb: u64) -> Result<(), StoreError> {
    let place = directory.join(format!("recovery-{size_mb}"));
    let io = |cause: std::io::Error| panic!("{}: {cause}", place.display());
    std::fs::create_dir_all(&place).unwrap_or_else(io);
    let program = std::env::current_exe().unwrap_or_else(|cause| panic!("{cause}"));
    let mut child = Command::new(program);
    child.arg("--work").arg(&place);
    child.args([size_mb.to_string(), before_mb.to_string()]);
    let output = child.output().unwrap_or_else(|cause| panic!("{cause}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields: Vec<u64> = printed
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    let &[bytes, records, work_ns] = fields.as_slice() else {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    };
    let begun = Instant::now();
    let store = Store::open(&place, settings())?;
    let recovery = begun.elapsed();
    let table = store.table("rows").expect("its creation was durable");
    let mut txn = store.begin(TransactionOptions::default());
    let rows = txn.scan(&table, &Scan::all().limit(1000))?.len();
    drop(txn);
    store.close()?;
    drop(store);
    let begun = Instant::now();
    drop(Store::open(&place, settings())?);
    let opening = begun.elapsed();
    let work = Duration::from_nanos(work_ns);
    println!(
        "log {} MB after {before_mb} MB, {records} records; work {work:.1?}; recovery {recovery:.1?}, {:.2} of the work; opening {opening:.1?} ({rows} rows seen)",
        bytes >> 20,
        recovery.as_secs_f64() / work.as_secs_f64(),
    );
    std::fs::remove_dir_all(&place).unwrap_or_else(io);
    Ok(())
}
