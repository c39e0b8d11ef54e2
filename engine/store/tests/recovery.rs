//! Cost of recovery, compared with the work that wrote the log: counted, and measured in processor time, which other
//! processes do not change much.

mod support;

use std::time::Duration;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_store::{
    ColumnType, FlushPolicy, Scan, Schema, Settings, Store, Table, TransactionOptions,
};
use rustix::time::{ClockId, clock_gettime};
use support::{open, small_settings};

const ROWS: i64 = 8000;

fn settings(page_bytes: usize, frames: usize) -> Settings {
    let mut settings = small_settings(1);
    settings.pool.page_bytes = page_bytes;
    settings.pool.frames = frames;
    settings.log.policy = FlushPolicy::LazyFlush;
    settings.log.segment_bytes = 1 << 20;
    settings
}

fn rows(store: &Store) -> Table {
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("number", ColumnType::Int)
        .column("text", ColumnType::Text);
    let schema = schema.primary_key(["id"]).index("by_number", ["number"]);
    store.create_table(schema).unwrap()
}

/// Puts `count` short rows, a hundred a transaction, at places all over the table.
fn put(store: &Store, table: &Table, count: i64) {
    for first in (0..count).step_by(100) {
        let mut txn = store.begin(TransactionOptions::default());
        for place in first..first + 100 {
            let id = place * 7919 % ROWS;
            let row = [id.into(), (place % 97).into(), "a short text".into()];
            txn.put(table, &row).unwrap();
        }
        txn.commit().unwrap();
    }
}

/// Reading them, one after the other, would take longer than the rest of recovery.
#[test]
fn pages_that_the_log_makes_are_not_read() {
    let disk = FaultDisk::new();
    // A pool for a part of them, so that they are written.
    let store = open(&disk, settings(4096, 24)).unwrap();
    put(&store, &rows(&store), ROWS);
    let pages = store.verify().unwrap();
    assert!(pages > 200, "{pages} pages");
    let disk = disk.after_kill();
    // Those that describe the files are read, and those of the batch written last.
    disk.inject(Fault {
        operation: Operation::Read,
        name_contains: "pages".to_owned(),
        skip: 80,
        times: u64::MAX,
        error: IO_ERROR,
    });
    let store = open(&disk, settings(4096, 1000)).unwrap();
    let table = store.table("rows").unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    assert_eq!(txn.scan(&table, &Scan::all()).unwrap().len(), ROWS as usize);
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Work on pages with hundreds of entries, and its repetition: the smallest time of three tries each.
#[test]
fn recovery_takes_no_longer_than_the_work() {
    let mut took = [Duration::MAX; 2];
    for _ in 0..3 {
        let disk = FaultDisk::new();
        let store = open(&disk, settings(16384, 1000)).unwrap();
        let table = rows(&store);
        let begun = processor_time();
        put(&store, &table, 5 * ROWS);
        took[0] = took[0].min(processor_time() - begun);
        let disk = disk.after_kill();
        let begun = processor_time();
        let store = open(&disk, settings(16384, 1000)).unwrap();
        took[1] = took[1].min(processor_time() - begun);
        assert!(store.table("rows").is_some());
    }
    let [work, recovery] = took;
    assert!(recovery <= work, "work {work:?}, recovery {recovery:?}");
}
