//! A real process, killed without warning in a loop, at work and while it recovers. Everything that it had
//! acknowledged is there when the next process opens the store, and the one after that.
//!
//! The child is this test's own executable, asked by an environment variable to work and to print each commit it got.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use evenkeel_store::{ColumnType, Scan, Schema, Settings, Store, TransactionOptions};

const PLACE: &str = "EVENKEEL_KILL_TEST_DIRECTORY";
/// The test, which the child is started as.
const TEST: &str = "nothing_acknowledged_is_lost_by_kills";
const THREADS: i64 = 3;
const ROUNDS: usize = 12;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.pool.frames = 64;
    settings.pool.page_bytes = 4096;
    settings.pool.writer_interval = Duration::from_millis(2);
    settings.log.segment_bytes = 256 << 10;
    settings.checkpoint_log_bytes = 100 << 10;
    settings.log_streams = 2;
    settings
}

/// The killed process: each thread counts up in its own row, moves amounts between shared rows, and prints the count
/// once it is committed.
fn child(place: &str) {
    println!("opening");
    let store = Store::open(place, settings()).unwrap();
    let out = Mutex::new(());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, out) = (&store, &out);
            scope.spawn(move || {
                loop {
                    if let Ok(count) = work(store, thread) {
                        let _line = out.lock();
                        println!("committed {thread} {count}");
                    }
                }
            });
        }
    });
}

fn work(store: &Store, thread: i64) -> Result<i64, evenkeel_store::StoreError> {
    let (counts, amounts) = (
        store.table("counts").unwrap(),
        store.table("amounts").unwrap(),
    );
    let mut txn = store.begin(TransactionOptions::default());
    let mut row = txn.get_for_update(&counts, &[thread.into()])?.unwrap();
    row.set(1, row.int(1) + 1);
    txn.update(&counts, &row)?;
    let count = row.int(1);
    for (at, change) in [(count % 50, 1), (count * 7 % 50, -1)] {
        let mut row = txn.get_for_update(&amounts, &[at.into()])?.unwrap();
        row.set(1, row.int(1) + change);
        row.set(2, "x".repeat((count % 200) as usize));
        txn.update(&amounts, &row)?;
    }
    txn.commit()?;
    Ok(count)
}

fn create(place: &Path) {
    let store = Store::open(place, settings()).unwrap();
    let table = |name: &str| {
        Schema::new(name)
            .column("id", ColumnType::Int)
            .column("number", ColumnType::Int)
            .column("text", ColumnType::Text)
            .primary_key(["id"])
    };
    for (name, rows) in [("counts", THREADS), ("amounts", 50)] {
        let table = store.create_table(table(name)).unwrap();
        let mut txn = store.begin(TransactionOptions::default());
        for id in 0..rows {
            txn.insert(&table, &[id.into(), 0.into(), "".into()])
                .unwrap();
        }
        txn.commit().unwrap();
    }
    store.close().unwrap();
}

/// Opens what the killed process left; the counts found.
fn check(place: &Path, acknowledged: &[i64]) -> Vec<i64> {
    let store = Store::open(place, settings()).unwrap();
    let numbers = |name: &str| -> Vec<i64> {
        let table = store.table(name).unwrap();
        let rows = store
            .begin(TransactionOptions::default())
            .scan(&table, &Scan::all())
            .unwrap();
        rows.iter().map(|row| row.int(1)).collect()
    };
    assert_eq!(numbers("amounts").iter().sum::<i64>(), 0);
    let counts = numbers("counts");
    for (found, acknowledged) in counts.iter().zip(acknowledged) {
        assert!(
            (*acknowledged..=acknowledged + 1).contains(found),
            "{counts:?} after {acknowledged:?}"
        );
    }
    counts
}

/// Starts a child, kills it when `when` accepts a line that it printed, and reads what it acknowledged.
fn run_and_kill(place: &Path, counts: &mut [i64], mut when: impl FnMut(&str) -> bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        if let Some((_, committed)) = line.split_once("committed ") {
            let (thread, count) = committed.split_once(' ').unwrap();
            counts[thread.parse::<usize>().unwrap()] = count.parse().unwrap();
        }
        if when(&line) {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success(), "it ended by itself");
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    if let Ok(place) = std::env::var(PLACE) {
        return child(&place);
    }
    let place = tempfile::tempdir().unwrap();
    create(place.path());
    let mut counts = vec![0; THREADS as usize];
    for round in 0..ROUNDS {
        // Killed after a number of commits, not after a time: the test says the same on a slow machine.
        let mut commits = 0;
        run_and_kill(place.path(), &mut counts, |line| {
            commits += usize::from(line.contains("committed "));
            commits == 10 + 17 * round
        });
        // Twice in the midst of opening, somewhere: each time another one has to begin where that ended.
        for again in 0..2 {
            run_and_kill(place.path(), &mut counts, |line| {
                let opening = line.contains("opening");
                if opening {
                    std::thread::sleep(Duration::from_micros(300 * (round + again) as u64));
                }
                opening
            });
        }
        counts = check(place.path(), &counts);
        assert_eq!(check(place.path(), &counts), counts, "opened twice");
    }
    assert!(counts.iter().sum::<i64>() > 100);
}
