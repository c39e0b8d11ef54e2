//! Stores that cannot be opened, or made: the error names a remedy, and no file is changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{Change, ColumnType, Schema, Settings, Store, StoreError, TransactionOptions};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

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

/// Opens what is there and looks for the row.
fn reads_the_row(place: &Path) {
    let store = Store::open(place, settings()).unwrap();
    let table = store.table("people").unwrap();
    let mut txn = store.begin(TransactionOptions::default());
    assert!(txn.get(&table, &[1.into()]).unwrap().is_some());
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

/// The newest file of the first log stream.
fn log_file(place: &Path) -> PathBuf {
    let files = everything(&place.join("log-0")).into_keys();
    let mut logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
    logs.next_back().unwrap()
}

/// Puts another version into a file's header, and makes its checksum right again.
fn change_version(
    file: &Path,
    version: u8,
    version_at: usize,
    crc_at: usize,
    covered: std::ops::Range<usize>,
) {
    let mut bytes = fs::read(file).unwrap();
    assert_ne!(bytes[version_at], version);
    bytes[version_at] = version;
    if covered.contains(&version_at) {
        let crc = crc32fast::hash(&bytes[covered]);
        bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn another_format_version() {
    // Of each file an older and a newer one; the double-write file has its version as a digit.
    let cases = [
        ("checkpoint", 1, 8, 12, 0..0),
        ("checkpoint", 9, 8, 12, 0..0),
        ("pages", 0, 4, 0, 4..4096),
        ("pages", 9, 4, 0, 4..4096),
        ("log", 0, 12, 8, 12..4096),
        ("log", 9, 12, 8, 12..4096),
        ("pages.double", b'0', 4, 0, 0..0),
        ("pages.double", b'2', 4, 0, 0..0),
    ];
    for (file, version, version_at, crc_at, covered) in cases {
        let place = tempfile::tempdir().unwrap();
        new_store(place.path());
        let file = match file {
            "log" => log_file(place.path()),
            name => place.path().join(name),
        };
        change_version(&file, version, version_at, crc_at, covered);
        let error = refused(place.path(), "open it with a program of its version");
        let text = error.to_string();
        let version = version.checked_sub(b'0').unwrap_or(version);
        assert!(
            text.contains(&format!(
                "format version {version}, this program reads version"
            )),
            "{text}"
        );
    }
}

#[test]
fn files_of_something_else() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    // Long ones, and one that is shorter than a page.
    for times in [1000, 100] {
        fs::write(place.path().join("pages"), "no pages ".repeat(times)).unwrap();
        refused(place.path(), "give the directory of a store");
    }
}

/// Texts that a user wants to keep, of any length up to more than the store's file has. Some begin with zeros, as a
/// store's file does before anything is written to it.
fn texts() -> impl Iterator<Item = Vec<u8>> {
    let text = |len: usize| "no file of a store. ".repeat(1 + len / 20).as_bytes()[..len].to_vec();
    let texts = [5, 100, 511, 5000, 2_000_000].map(text);
    let after_zeros = [
        (8, 5),
        (512, 5),
        (512, 3584),
        (512, 4000),
        (4096, 5),
        (60_000, 1),
    ];
    let after_zeros = after_zeros.map(|(zeros, len)| [vec![0; zeros], text(len)].concat());
    texts.into_iter().chain(after_zeros)
}

/// Each file of a store in turn is somebody else's: the store is refused, and everything is as before. Only what is in the lock file does not
/// matter, and stays.
#[test]
fn a_file_of_something_else_for_each_of_a_stores() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    // A store at work has files that a closed one has not.
    let store = Store::open(place.path(), settings()).unwrap();
    let table = store.table("people").unwrap();
    for id in 2..2000 {
        let mut txn = store.begin(TransactionOptions::default());
        txn.insert(&table, &[id.into()]).unwrap();
        txn.commit().unwrap();
    }
    store.checkpoint().unwrap();
    drop(store);
    let good = everything(place.path());
    let files: Vec<&PathBuf> = good.keys().filter(|path| path.is_file()).collect();
    let ends = |end: &str| {
        files
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(end))
            .count()
    };
    assert!(
        ends(".log") > 1 && ends(".spare") > 0 && ends("checkpoint.new") == 1,
        "{files:?}"
    );
    for &file in &files {
        for text in texts() {
            fs::write(file, &text).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name == "lock" {
                reads_the_row(place.path());
                assert_eq!(fs::read(file).unwrap(), text);
                continue;
            }
            let error = refused(place.path(), "").to_string();
            let advice = ["give the directory of a", "restore the file from a backup"];
            assert!(
                advice.iter().any(|advice| error.contains(advice)),
                "{name}: {error}"
            );
            assert!(error.contains(name), "{name}: {error}");
        }
        for (path, contents) in good.iter().filter(|(path, _)| path.is_file()) {
            fs::write(path, contents).unwrap();
        }
    }
    reads_the_row(place.path());
}

/// A foreign file alone does not become a store.
#[test]
fn a_file_of_something_else_alone() {
    let names = [
        "checkpoint",
        "checkpoint.new",
        "pages",
        "pages.double",
        "lock",
        "log-0",
        "log-0/00-0000000000000001.log",
        "log-0/00-0000000000000001.spare",
        "log-0/00-prepared-0.spare",
        "log-0/00-new.spare",
    ];
    for name in names {
        for text in texts() {
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            let error = refused(place.path(), "").to_string();
            let advice = ["give the directory of a", "restore the file from a backup"];
            assert!(
                advice.iter().any(|advice| error.contains(advice)),
                "{name}: {error}"
            );
        }
    }
}

/// More streams than there were: their directories are not made before the rest is known to be a store's and nobody else's.
#[test]
fn no_directory_is_made_in_what_is_refused() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    let mut more = settings();
    more.log_streams = 3;
    let store = Store::open(place.path(), settings()).unwrap();
    let before = everything(place.path());
    let error = Store::open(place.path(), more.clone()).err().unwrap();
    assert!(matches!(error, StoreError::InUse), "{error}");
    assert!(before == everything(place.path()));
    store.close().unwrap();
    drop(store);
    fs::write(place.path().join("pages"), "not one").unwrap();
    let before = everything(place.path());
    let error = Store::open(place.path(), more.clone()).err().unwrap();
    assert!(
        error.to_string().contains("give the directory of a store"),
        "{error}"
    );
    more.log_streams = 1000;
    let error = Store::open(place.path(), more).err().unwrap();
    assert!(error.to_string().contains("a log has 1 to"), "{error}");
    assert!(before == everything(place.path()));
}

#[test]
fn a_file_instead_of_the_logs_directory() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    fs::remove_dir_all(place.path().join("log-0")).unwrap();
    fs::write(place.path().join("log-0"), "a file").unwrap();
    refused(place.path(), "give the path of a directory");
}

/// A user without the right to make files in a directory: the store's, or its log's. (Root gives up its rights here,
/// for one thread.)
#[test]
fn directories_that_one_may_not_write_to() {
    for closed in ["", "log-0"] {
        let place = tempfile::tempdir().unwrap();
        new_store(place.path());
        let directory = place.path().join(closed);
        let before = everything(place.path());
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).unwrap();
        let refused = std::thread::scope(|scope| {
            let opening = scope.spawn(|| {
                give_up_overriding();
                Store::open(place.path(), settings()).err()
            });
            opening.join().unwrap()
        });
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let error = refused.expect("it is refused");
        let kind = error.disk_error().map(std::io::Error::kind);
        assert_eq!(kind, Some(ErrorKind::PermissionDenied), "{error}");
        assert!(
            error.to_string().contains("give this user the right"),
            "{error}"
        );
        assert!(
            before == everything(place.path()),
            "{closed:?}: a file has changed"
        );
        reads_the_row(place.path());
    }
}

fn give_up_overriding() {
    let mut now = capabilities(None).unwrap();
    let overriding = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    now.effective -= overriding;
    now.permitted -= overriding;
    set_capabilities(None, now).unwrap();
}

/// A name, or the whole path, is too long; the directories above are not made either.
#[test]
fn paths_that_are_too_long() {
    let place = tempfile::tempdir().unwrap();
    let long = "n".repeat(256);
    let deep: PathBuf = std::iter::repeat_n("n".repeat(200), 30).collect();
    for path in [PathBuf::from(&long), Path::new("new").join(&long), deep] {
        let error = Store::open(place.path().join(path), settings())
            .err()
            .unwrap();
        assert!(error.to_string().contains("give a shorter name"), "{error}");
        assert!(everything(place.path()).is_empty());
    }
}

/// Somebody's directory does not become a store.
#[test]
fn a_directory_with_a_file_that_is_no_stores() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("notes.txt"), "keep this").unwrap();
    let error = refused(place.path(), "or an empty one").to_string();
    assert!(error.contains("notes.txt"), "{error}");
    // A store in which somebody has put one is opened.
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    fs::write(place.path().join("notes.txt"), "keep this").unwrap();
    reads_the_row(place.path());
    assert_eq!(
        fs::read(place.path().join("notes.txt")).unwrap(),
        b"keep this"
    );
}

/// A user who has lost the rest of a store still has its log.
#[test]
fn a_log_alone() {
    let place = tempfile::tempdir().unwrap();
    new_store(place.path());
    for file in ["checkpoint", "checkpoint.new", "pages", "pages.double"] {
        fs::remove_file(place.path().join(file)).unwrap();
    }
    refused(place.path(), "restore it from a backup");
}

/// The device of the pages or of the log is not mounted: no new files are made in the place of those on it.
#[test]
fn a_part_of_a_store_that_is_missing() {
    for closed in [true, false] {
        for (part, text) in [
            ("pages", "the page file is missing"),
            ("log-0", "all of the log is missing"),
        ] {
            let place = tempfile::tempdir().unwrap();
            new_store(place.path());
            if !closed {
                let store = Store::open(place.path(), settings()).unwrap();
                store.create_table(people("more people")).unwrap();
            }
            let elsewhere = tempfile::tempdir().unwrap();
            let (moved, part) = (elsewhere.path().join(part), place.path().join(part));
            fs::rename(&part, &moved).unwrap();
            refused(place.path(), text);
            if moved.is_dir() {
                // The mount point is there.
                fs::create_dir(&part).unwrap();
                refused(place.path(), text);
                fs::remove_dir(&part).unwrap();
            }
            fs::rename(&moved, &part).unwrap();
            reads_the_row(place.path());
        }
    }
}

/// Not even the lock is made.
#[test]
fn log_settings_that_cannot_be() {
    let least = 4096 + 2 * settings().log.block_bytes as u64;
    for bytes in [0, 1, 4096, least - 1, (1 << 40) + 1, u64::MAX] {
        let place = tempfile::tempdir().unwrap();
        let mut other = settings();
        other.log.segment_bytes = bytes;
        let error = Store::open(place.path(), other).err().unwrap().to_string();
        assert!(
            error.contains(&format!("a log file has {least} to")),
            "{error}"
        );
        assert!(everything(place.path()).is_empty());
    }
    let place = tempfile::tempdir().unwrap();
    let mut other = settings();
    other.log.segment_bytes = least;
    let store = Store::open(place.path(), other.clone()).unwrap();
    let error = store.change(Change::LogBlockBytes(2 * other.log.block_bytes));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("with blocks of"), "{error}");
    other.log.block_bytes = 1000;
    drop(store);
    let before = everything(place.path());
    let error = Store::open(place.path(), other).err().unwrap().to_string();
    assert!(error.contains("a power of two"), "{error}");
    assert!(before == everything(place.path()));
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
    let text = error.to_string();
    assert!(text.contains("give the path of a directory"), "{text}");
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
