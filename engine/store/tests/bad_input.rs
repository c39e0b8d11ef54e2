//! What cannot be opened, or made: an error that says what to do, and no file is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{ColumnType, Schema, Settings, Store, StoreError, TransactionOptions};

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.pool.frames = 64;
    settings.pool.page_bytes = 4096;
    settings.log.segment_bytes = 64 << 10;
    settings
}

fn people(name: &str) -> Schema {
    Schema::new(name)
        .column("id", ColumnType::Int)
        .primary_key(["id"])
}

/// A store with a row, closed.
fn new_store(place: &Path) {
    let store = Store::open(place, settings()).unwrap();
    let table = store.create_table(people("people")).unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    txn.insert(&table, &[1.into()]).unwrap();
    txn.commit().unwrap();
    store.close().unwrap();
}

/// Every file and directory below, with its contents.
fn everything(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
            found.insert(path, Vec::new());
        } else {
            let contents = fs::read(&path).unwrap();
            found.insert(path, contents);
        }
    }
    found
}

/// Opens what is there, which must be refused with a text that has `advice` in it, and must change nothing.
fn refused(place: &Path, advice: &str) -> StoreError {
    let before = everything(place);
    let error = Store::open(place, settings()).err().expect("it is refused");
    let text = error.to_string();
    assert!(text.contains(advice), "{text:?} does not say {advice:?}");
    let after = everything(place);
    let names: Vec<&PathBuf> = after.keys().collect();
    assert!(before.keys().eq(after.keys()), "{text}: {names:?}");
    assert!(before == after, "{text}: a file has changed");
    error
}

/// Puts another version into a file's header, and makes its checksum right again.
fn change_version(file: &Path, version_at: usize, crc_at: usize, covered: std::ops::Range<usize>) {
    let mut bytes = fs::read(file).unwrap();
    bytes[version_at] = 9;
    if covered.contains(&version_at) {
        let crc = crc32fast::hash(&bytes[covered]);
        bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn another_format_version() {
    let log_file = |place: &Path| {
        let newest = everything(&place.join("log-0")).into_keys();
        let mut logs = newest.filter(|path| path.extension().is_some_and(|end| end == "log"));
        logs.next_back().unwrap()
    };
    let cases = [
        ("checkpoint", 8, 12, 0..0),
        ("pages", 4, 0, 4..4096),
        ("log", 12, 8, 12..4096),
    ];
    for (file, version_at, crc_at, covered) in cases {
        let place = tempfile::tempdir().unwrap();
        new_store(place.path());
        let file = match file {
            "log" => log_file(place.path()),
            name => place.path().join(name),
        };
        change_version(&file, version_at, crc_at, covered);
        let error = refused(place.path(), "open it with a program of its version");
        let text = error.to_string();
        assert!(
            text.contains("format version 9, this program reads version"),
            "{text}"
        );
    }
}

#[test]
fn files_of_something_else() {
    for name in ["checkpoint", "pages", "pages.double"] {
        let place = tempfile::tempdir().unwrap();
        let text = "a text that somebody wants to keep\n".repeat(1000);
        fs::write(place.path().join(name), text).unwrap();
        let error = refused(
            place.path(),
            "give the directory of a store, or an empty one",
        );
        assert!(matches!(error, StoreError::NotAStore(_)), "{error}");
    }
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    fs::write(place.path().join("pages"), "no pages ".repeat(1000)).unwrap();
    refused(place.path(), "give the directory of a store");
}

#[test]
fn another_page_size_and_pools_that_cannot_be() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    let before = everything(place.path());
    let mut other = settings();
    other.pool.page_bytes = 8192;
    let error = Store::open(place.path(), other).err().unwrap().to_string();
    assert!(error.contains("open it with its own page size"), "{error}");
    let mut none = settings();
    none.pool.frames = 0;
    let error = Store::open(place.path(), none).err().unwrap().to_string();
    assert!(error.contains("a pool has at least"), "{error}");
    assert!(before == everything(place.path()));
}

#[test]
fn a_file_instead_of_a_directory() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "a file").unwrap();
    let error = Store::open(&file, settings()).err().unwrap();
    assert!(error.disk_error().is_some(), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"a file");
}

#[test]
fn a_store_in_use() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    let _store = Store::open(place.path(), settings()).unwrap();
    let error = refused(place.path(), "close it there first");
    assert!(matches!(error, StoreError::InUse));
}

#[test]
fn a_read_only_disk() {
    let disk = FaultDisk::new();
    let open = |disk: &FaultDisk| {
        let log = disk.root().subdirectory("log-0").unwrap();
        Store::open_on(disk.root(), vec![log], settings().without_threads())
    };
    open(&disk).unwrap().close().unwrap();
    disk.set_read_only(true);
    let before = disk.files();
    let error = open(&disk).err().expect("it is refused").to_string();
    assert!(error.contains("make the file system writable"), "{error}");
    assert_eq!(disk.files(), before);
}

#[test]
fn names_that_are_too_long() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(place.path(), settings()).unwrap();
    for len in [1025, 65_536, 1 << 20] {
        let long = "n".repeat(len);
        let schemas = [
            people(&long),
            people("people").column(&long, ColumnType::Int),
            people("people").index(&long, ["id"]),
        ];
        for schema in schemas {
            let error = store.create_table(schema).expect_err("it is refused");
            assert!(matches!(error, StoreError::BadSchema { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("too long: at most 1024 bytes"), "{text}");
            assert!(text.len() < 3000, "{} bytes of text", text.len());
        }
    }
    assert!(store.table_names().is_empty());
    assert!(store.table(&"n".repeat(1 << 20)).is_none());
    store.create_table(people("people")).unwrap();
}
