//! A store that is closed or dropped is through with its files: its threads have ended when the next one may open them.

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Create, Directory, File, with_syncs};
use evenkeel_store::{ColumnType, FlushPolicy, Schema, Settings, Store, TransactionOptions};
use support::small_settings;

/// Time of a sync by a background thread.
const SLOW: Duration = Duration::from_millis(20);
const ROUNDS: i64 = 12;

/// Whether a store was dropped, and how many syncs in its background have begun, and have ended after that.
#[derive(Default)]
struct Watch {
    gone: AtomicBool,
    begun: AtomicU64,
    late: AtomicU64,
}

impl Watch {
    fn sync(&self, file: &dyn File) -> io::Result<()> {
        let in_background = ["page-writer", "log-flusher"]
            .map(Some)
            .contains(&thread::current().name());
        if in_background {
            self.begun.fetch_add(1, Ordering::SeqCst);
            thread::sleep(SLOW);
            let late = self.gone.load(Ordering::SeqCst);
            self.late.fetch_add(u64::from(late), Ordering::SeqCst);
        }
        file.sync_data()
    }
}

fn open(disk: &FaultDisk, settings: &Settings) -> (Store, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let watched = |directory: Arc<dyn Directory>| {
        let watch = Arc::clone(&watch);
        with_syncs(directory, move |file| watch.sync(file))
    };
    let log = watched(disk.root().subdirectory("log-0").unwrap());
    let store = Store::open_on(watched(disk.root()), vec![log], settings.clone()).unwrap();
    (store, watch)
}

/// The store is dropped as soon as a thread of it is in the midst of a sync.
fn drop_in_the_midst_of_a_sync(settings: &Settings) {
    let (disk, mut watches) = (FaultDisk::new(), Vec::new());
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"]);
    open(&disk, settings).0.create_table(schema).unwrap();
    for round in 0..ROUNDS {
        let (store, watch) = open(&disk, settings);
        let table = store.table("rows").unwrap();
        for number in 0.. {
            let mut txn = store.begin(TransactionOptions::default());
            let text = "x".repeat(500);
            txn.insert(&table, &[(round * 1_000_000 + number).into(), text.into()])
                .unwrap();
            txn.commit().unwrap();
            if watch.begun.load(Ordering::SeqCst) > 0 {
                break;
            }
        }
        drop(store);
        watch.gone.store(true, Ordering::SeqCst);
        watches.push(watch);
        disk.root()
            .lock("lock", Create::IfMissing)
            .expect("the store's lock has gone with it");
    }
    // Whoever is late has been by now, or is still asleep and not met; the latter cannot happen ROUNDS times.
    thread::sleep(2 * SLOW);
    let late = watches
        .iter()
        .map(|watch| watch.late.load(Ordering::SeqCst));
    assert_eq!(late.sum::<u64>(), 0);
}

#[test]
fn the_page_writer_does_not_outlive_its_store() {
    let mut settings = small_settings(1);
    settings.pool.writer = true;
    settings.pool.writer_interval = Duration::from_millis(1);
    drop_in_the_midst_of_a_sync(&settings);
}

#[test]
fn the_log_flusher_does_not_outlive_its_store() {
    let mut settings = small_settings(1);
    settings.log.policy = FlushPolicy::LazyFlush;
    settings.log.flusher = true;
    settings.log.flush_interval = Duration::from_millis(1);
    drop_in_the_midst_of_a_sync(&settings);
}
