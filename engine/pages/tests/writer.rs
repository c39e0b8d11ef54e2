//! The background writer in the midst of a batch: what others may then do, and what they may not.

mod fixture;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{File, with_syncs};
use evenkeel_pages::{PageError, PageId, Pool, PoolSettings, Replacement};
use fixture::{FakeLog, PAGE_BYTES, fill, settings};

/// Time in which a thread could do what it must not. A slower thread passes the test undeservedly; no thread fails it
/// undeservedly.
const TEMPTATION: Duration = Duration::from_millis(100);

/// Holds the next sync once it is armed.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn sync(&self, file: &dyn File) -> std::io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.0 {
            *state = (false, true);
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| state.1).unwrap());
        } else {
            drop(state);
        }
        file.sync_data()
    }

    fn arm(&self) {
        self.state.lock().unwrap().0 = true;
    }

    fn wait_until_held(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = false;
        self.changed.notify_all();
    }
}

fn open_gated(settings: PoolSettings) -> (Arc<Pool>, Arc<FakeLog>, Arc<Gate>) {
    let (gate, log) = (Arc::new(Gate::default()), Arc::new(FakeLog::default()));
    let syncs = Arc::clone(&gate);
    let directory = with_syncs(FaultDisk::new().root(), move |file| syncs.sync(file));
    let pool = Pool::open(&*directory, "data", settings, log.clone()).unwrap();
    (pool, log, gate)
}

fn change(pool: &Pool, log: &FakeLog, page: PageId) {
    let mut page = pool.write(page).unwrap();
    let lsn = log.append();
    fill(&mut page, lsn.0);
    page.mark_dirty(lsn);
}

fn allocate(pool: &Pool, log: &FakeLog) {
    let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
    page.mark_dirty(log.append());
}

/// A page changes while its earlier image is being written by somebody else: flushing everything includes the change.
#[test]
fn flushing_everything_leaves_no_page_that_was_dirty() {
    let (pool, log, gate) = open_gated(settings(16, Replacement::Lru));
    for _ in 0..4 {
        allocate(&pool, &log);
    }
    gate.arm();
    thread::scope(|scope| {
        scope.spawn(|| pool.flush_some(8).unwrap());
        gate.wait_until_held();
        change(&pool, &log, PageId(2));
        scope.spawn(|| {
            thread::sleep(TEMPTATION);
            gate.open();
        });
        pool.flush_all().unwrap();
        assert_eq!(pool.dirty_pages(), []);
    });
}

/// Once the writer has stopped, others may use the files.
#[test]
fn stopping_the_writer_waits_for_its_batch() {
    let with_writer = PoolSettings {
        page_bytes: PAGE_BYTES,
        frames: 64,
        writer: true,
        writer_interval: Duration::from_millis(1),
        ..PoolSettings::default()
    };
    let (pool, log, gate) = open_gated(with_writer);
    gate.arm();
    // More pages than frames, until the writer, or this thread for want of a clean frame, writes.
    let held = AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            gate.wait_until_held();
            thread::sleep(TEMPTATION);
            held.store(false, Ordering::SeqCst);
            gate.open();
        });
        for _ in 0..200 {
            allocate(&pool, &log);
        }
        pool.stop_writer();
        assert!(!held.load(Ordering::SeqCst));
        assert!(pool.statistics().written > 0);
    });
}
