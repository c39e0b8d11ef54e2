//! A full disk: reading works, writing fails with an error that names the cause and works once there is space. The
//! store can be opened again and again.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    Change, ColumnType, Scan, Schema, Settings, Store, StoreError, Table, Transaction,
};
use support::{open, small_settings};

fn schema() -> Schema {
    Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"])
        .index("by_text", ["text", "id"])
}

/// Adds rows, ten a transaction, until the disk is full; how many are committed.
fn insert_until_full(store: &Store, table: &Table, from: i64) -> (i64, StoreError) {
    for first in (from..).step_by(10) {
        let mut txn = store.begin(Default::default());
        let mut insert =
            |id: i64| txn.insert(table, &[id.into(), format!("{id:0300}").as_str().into()]);
        let done = (first..first + 10).try_for_each(&mut insert);
        if let Err(error) = done {
            txn.rollback().unwrap();
            return (first, error);
        }
        txn.commit().unwrap();
    }
    unreachable!("the disk has an end")
}

fn assert_full(error: &StoreError) {
    assert!(error.is_disk_full(), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("free space on the disk"), "{text}");
    assert!(
        !matches!(error, StoreError::Stopped(_) | StoreError::CommitUnknown(_)),
        "{error}"
    );
}

fn count(store: &Store, table: &Table) -> i64 {
    let mut txn = store.begin(Default::default());
    let rows = txn.scan(table, &Scan::all()).unwrap().len() as i64;
    let index = Scan::all().on(table.index("by_text").unwrap());
    assert_eq!(txn.scan(table, &index).unwrap().len() as i64, rows);
    txn.commit().unwrap();
    rows
}

fn used(disk: &FaultDisk) -> u64 {
    disk.files().iter().map(|(_, len)| len).sum()
}

/// Sets the limit: the disk's size, or the user's quota on it.
type Limit = fn(&FaultDisk, Option<u64>);

#[test]
fn a_full_disk_stops_writing_alone_and_for_as_long_as_it_is_full() {
    let (capacity, quota): (Limit, Limit) = (FaultDisk::set_capacity, FaultDisk::set_quota);
    let cases = [
        (1, 0, capacity),
        (1, 300 << 10, capacity),
        (1, 300 << 10, quota),
        (2, 1 << 20, capacity),
        (4, 700 << 10, capacity),
        (4, 700 << 10, quota),
    ];
    for (streams, room, limit) in cases {
        let mut disk = FaultDisk::new();
        let mut store = open(&disk, small_settings(streams)).unwrap();
        let mut table = store.create_table(schema()).unwrap();
        limit(&disk, Some(used(&disk) + room));
        let (mut rows, error) = insert_until_full(&store, &table, 0);
        assert_full(&error);
        for round in 0..6u64 {
            assert_eq!(count(&store, &table), rows, "round {round}");
            // Again and again, and the rest of what is done to a store.
            let (more, error) = insert_until_full(&store, &table, rows);
            assert_full(&error);
            rows = more;
            store.checkpoint().unwrap();
            (rows, _) = insert_until_full(&store, &table, rows);
            let _ = store.tidy();
            match round % 3 {
                0 => {
                    drop(store);
                }
                1 => {
                    store.close().unwrap();
                    drop(store);
                }
                _ => {
                    // A transaction is in the midst of its changes.
                    let mut txn = store.begin(Default::default());
                    for id in (0..rows).take(20) {
                        let _ = txn.delete(&table, &[id.into()]);
                    }
                    let capacity = used(&disk);
                    let left = match round {
                        2 => disk.after_kill(),
                        _ => disk.after_power_failure(round),
                    };
                    drop((txn, store));
                    disk = left;
                    limit(&disk, Some(capacity));
                }
            }
            store = open(&disk, small_settings(streams)).unwrap();
            table = store.table("rows").unwrap();
            assert_eq!(count(&store, &table), rows, "round {round}");
        }
        limit(&disk, None);
        let mut txn = store.begin(Default::default());
        for id in rows..rows + 500 {
            txn.insert(&table, &[id.into(), format!("{id:0300}").as_str().into()])
                .unwrap();
        }
        txn.commit().unwrap();
        assert_eq!(count(&store, &table), rows + 500);
        store.verify().unwrap();
    }
}

/// Space can be freed by changing rows, too: what is done does not need more of the page file.
#[test]
fn rows_are_changed_on_a_full_disk_for_as_long_as_they_do_not_grow() {
    let disk = FaultDisk::new();
    let store = open(&disk, small_settings(1)).unwrap();
    let table = store.create_table(schema()).unwrap();
    disk.set_capacity(Some(used(&disk) + (600 << 10)));
    let (rows, _) = insert_until_full(&store, &table, 0);
    // Many times the log's files.
    for round in 0..20 {
        for id in 0..rows / 10 {
            let mut txn = store.begin(Default::default());
            let row = [id.into(), format!("{:0300}", id + round).as_str().into()];
            // Its entry in the index may need a page.
            match txn.update(&table, &row) {
                Ok(()) => txn.commit().unwrap(),
                Err(error) => {
                    assert_full(&error);
                    txn.rollback().unwrap();
                }
            }
        }
        store.checkpoint().unwrap();
    }
    assert_eq!(count(&store, &table), rows);
}

/// Rows without an index.
fn texts() -> Schema {
    Schema::new("texts")
        .column("id", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"])
}

const EVEN_ROWS: i64 = 200;

fn long_text(id: i64) -> String {
    format!("{id:0400}")
}

/// Nobody asks for a checkpoint: the log gives back what is not needed any more when there is no other room for it.
#[test]
fn the_log_makes_room_for_itself_on_a_full_disk() {
    let disk = FaultDisk::new();
    let store = open(&disk, small_settings(1)).unwrap();
    let table = store.create_table(texts()).unwrap();
    let row = |id: i64, text: i64| [id.into(), format!("{text:0300}").into()];
    let mut txn = store.begin(Default::default());
    for id in 0..50 {
        txn.insert(&table, &row(id, id)).unwrap();
    }
    txn.commit().unwrap();
    disk.set_capacity(Some(used(&disk)));
    // Many times the log's files.
    for round in 1..40 {
        for id in 0..50 {
            let mut txn = store.begin(Default::default());
            txn.update(&table, &row(id, id + 1000 * round)).unwrap();
            txn.commit().unwrap();
        }
    }
    let mut txn = store.begin(Default::default());
    for id in 0..50 {
        let found = txn.get(&table, &[id.into()]).unwrap().unwrap();
        assert_eq!(found.0, row(id, id + 39_000));
    }
}

/// A store whose log has a separate disk, which is never full.
struct Apart {
    pages: FaultDisk,
    log: FaultDisk,
    streams: usize,
}

impl Apart {
    fn new(streams: usize) -> Apart {
        Apart {
            pages: FaultDisk::new(),
            log: FaultDisk::new(),
            streams,
        }
    }

    fn open(&self) -> Result<Store, StoreError> {
        let root = self.log.root();
        let directory = |stream| root.subdirectory(&format!("log-{stream}")).unwrap();
        let log = (0..self.streams).map(directory).collect();
        Store::open_on(self.pages.root(), log, small_settings(self.streams))
    }

    /// After a power failure, on disks that are as full.
    fn after_power_failure(&self, image: u64) -> Apart {
        let left = Apart {
            pages: self.pages.after_power_failure(image),
            log: self.log.after_power_failure(image),
            ..*self
        };
        left.pages.set_capacity(Some(used(&left.pages)));
        left
    }

    /// A transaction makes long texts at even numbers short. Another puts texts between them, to the last byte that it gets: there are no
    /// more pages. Both are running.
    fn shorten_and_fill(&self, store: &Store) -> (Transaction, Transaction) {
        let table = store.create_table(texts()).unwrap();
        let mut txn = store.begin(Default::default());
        for id in 0..EVEN_ROWS {
            let row = [(2 * id).into(), long_text(2 * id).as_str().into()];
            txn.insert(&table, &row).unwrap();
        }
        txn.commit().unwrap();
        let others = store.create_table(schema()).unwrap();
        self.pages.set_capacity(Some(used(&self.pages)));
        let (_, error) = insert_until_full(store, &others, 0);
        assert_full(&error);
        let mut shortening = store.begin(Default::default());
        for id in 0..EVEN_ROWS {
            let row = [(2 * id).into(), "short".into()];
            shortening.update(&table, &row).unwrap();
        }
        let mut filling = store.begin(Default::default());
        for len in [300, 100, 20, 1] {
            for id in (0..EVEN_ROWS).map(|id| 2 * id + 1) {
                let row = [id.into(), "x".repeat(len).as_str().into()];
                match filling.insert(&table, &row) {
                    Ok(()) | Err(StoreError::DuplicateKey { .. }) => {}
                    Err(error) => assert_full(&error),
                }
            }
        }
        // What was changed leaves the pool: it is on the disk, and what it needs of the log.
        count(store, &others);
        (shortening, filling)
    }
}

fn texts_of_even_rows(store: &Store) -> Vec<String> {
    let table = store.table("texts").unwrap();
    let rows = store.begin(Default::default()).scan(&table, &Scan::all());
    let rows = rows.unwrap();
    let even = rows.iter().filter(|row| row.int(0) % 2 == 0);
    even.map(|row| row.text(1).to_owned()).collect()
}

fn long_texts() -> Vec<String> {
    (0..EVEN_ROWS).map(|id| long_text(2 * id)).collect()
}

/// Others have filled what a change had freed, so that taking it back needs a page: without one the store stops, and loses nothing.
#[test]
fn a_rollback_that_finds_no_page_is_made_up_for_once_there_is_space() {
    for streams in [1, 2] {
        let apart = Apart::new(streams);
        let store = apart.open().unwrap();
        let (shortening, filling) = apart.shorten_and_fill(&store);
        filling.commit().unwrap();
        let error = shortening.rollback().unwrap_err();
        assert!(error.is_disk_full(), "{error}");
        let table = store.table("texts").unwrap();
        let refused = store.begin(Default::default()).get(&table, &[0.into()]);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("free space on the disk"), "{text}");
        for image in 0..3 {
            let left = apart.after_power_failure(image);
            if let Err(error) = left.open() {
                assert_full(&error);
            }
            left.pages.set_capacity(None);
            let store = left.open().unwrap();
            assert_eq!(texts_of_even_rows(&store), long_texts());
            store.verify().unwrap();
        }
    }
}

/// Changes rows until the log, into which most of that is written by then, has no room for more.
fn leave_running(store: &Store, table: &Table) -> Transaction {
    let mut running = store.begin(Default::default());
    let text = "changed".repeat(60);
    let change = |id: i64| running.update(table, &[id.into(), text.as_str().into()]);
    let refused = (0..ROWS_CHANGED).map(change).find_map(Result::err);
    assert_full(&refused.expect("the log has no room for so much"));
    running
}

/// Undoing all of it takes more than a file of each of four streams.
const ROWS_CHANGED: i64 = 1500;

/// Streams of the log that are new have no room on a full disk: what has to be undone goes to the others.
#[test]
fn a_log_may_gain_streams_on_a_full_disk() {
    for while_open in [true, false] {
        let streams = if while_open { 4 } else { 1 };
        let disk = FaultDisk::new();
        let store = open(&disk, small_settings(streams)).unwrap();
        store.change(Change::LogStreams(1)).unwrap();
        let table = store.create_table(schema()).unwrap();
        let mut txn = store.begin(Default::default());
        for id in 0..ROWS_CHANGED {
            let text = format!("{id:0400}");
            txn.insert(&table, &[id.into(), text.as_str().into()])
                .unwrap();
        }
        txn.commit().unwrap();
        store.checkpoint().unwrap();
        let full = used(&disk) + (600 << 10);
        disk.set_capacity(Some(full));
        let running = leave_running(&store, &table);
        if while_open {
            store.change(Change::LogStreams(4)).unwrap();
            running.rollback().unwrap();
            assert_eq!(count(&store, &table), ROWS_CHANGED);
            continue;
        }
        let mut left = disk.after_kill();
        drop((running, store));
        for operations in 1..20 {
            left.set_capacity(Some(full));
            left.cut_power_at(left.operations() + 2 * operations);
            let _ = open(&left, small_settings(4));
            left = left.after_power_failure(operations);
        }
        left.set_capacity(Some(full));
        let store = open(&left, small_settings(4)).unwrap();
        let table = store.table("rows").unwrap();
        assert_eq!(count(&store, &table), ROWS_CHANGED);
        store.verify().unwrap();
    }
}

/// A small mounted file system; `None` where this user may not mount one.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, bytes: usize) -> Option<Mounted> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Mounted(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_small_file_system_is_filled_and_freed() {
    let place = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::new(place.path(), 12 << 20) else {
        eprintln!("not run: only root may mount a small file system");
        return;
    };
    let mut settings = Settings::default();
    settings.pool.frames = 64;
    settings.log.segment_bytes = 1 << 20;
    settings.checkpoint_log_bytes = 1 << 20;
    // Something else has a part of it.
    let other = place.path().join("other");
    std::fs::write(&other, vec![1; 4 << 20]).unwrap();
    let store = Store::open(place.path().join("store"), settings.clone()).unwrap();
    let table = store.create_table(schema()).unwrap();
    let (mut rows, error) = insert_until_full(&store, &table, 0);
    assert_full(&error);
    assert_eq!(count(&store, &table), rows);
    drop((store, table));
    for _ in 0..3 {
        let store = Store::open(place.path().join("store"), settings.clone()).unwrap();
        let table = store.table("rows").unwrap();
        assert_eq!(count(&store, &table), rows);
        (rows, _) = insert_until_full(&store, &table, rows);
    }
    let store = Store::open(place.path().join("store"), settings).unwrap();
    let table = store.table("rows").unwrap();
    (rows, _) = insert_until_full(&store, &table, rows);
    std::fs::remove_file(&other).unwrap();
    let (more, error) = insert_until_full(&store, &table, rows);
    assert!(more > rows + 1000, "{rows} rows, then {more}");
    assert_full(&error);
    assert_eq!(count(&store, &table), more);
}
