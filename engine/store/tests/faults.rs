//! Damaged files, full and read-only disks, and operations that fail: errors, never wrong answers, and nothing is lost.

#[path = "support/bank.rs"]
mod bank;
mod support;

use bank::{check, contents, run, states};
use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_store::StoreError;
use support::{open, small_settings};

#[test]
fn damage_anywhere_is_an_error_or_does_not_matter() {
    let settings = small_settings(2);
    let states = states(&settings);
    let disk = FaultDisk::new();
    let store = open(&disk, settings.clone()).unwrap();
    run(&store, true, |_| ()).unwrap();
    drop(store);
    let (mut refused, mut harmless) = (0, 0);
    for (file, len) in disk.files() {
        for part in 0..40 {
            let left = disk.after_kill();
            let offset = part * len / 40 + part * 13 % 97;
            if offset >= len {
                continue;
            }
            left.damage(&file, offset, 1 << (part % 8));
            // Reading is what finds it, at the latest; a store that answers must answer right.
            let answer = std::panic::catch_unwind(|| {
                open(&left, settings.clone()).and_then(|store| try_contents(&store))
            });
            match answer.unwrap_or_else(|_| panic!("{file} damaged at {offset}: a panic")) {
                Ok(found) => {
                    assert_eq!(
                        found,
                        *states.last().unwrap(),
                        "{file} damaged at {offset}: a wrong answer"
                    );
                    harmless += 1;
                }
                Err(error) => {
                    assert!(error.is_fatal(), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 20 && harmless > 20,
        "{refused} refused, {harmless} harmless"
    );
}

/// The contents, or the error met on the way.
fn try_contents(store: &evenkeel_store::Store) -> Result<bank::Contents, StoreError> {
    for name in store.table_names() {
        let table = store.table(&name).unwrap();
        let mut txn = store.begin(Default::default());
        txn.scan(&table, &evenkeel_store::Scan::all())?;
        for index in table.indexes() {
            txn.scan(
                &table,
                &evenkeel_store::Scan::all().on(table.index(&index.name).unwrap()),
            )?;
        }
    }
    Ok(contents(store))
}

#[test]
fn a_full_disk_is_an_error_and_after_making_room_everything_is_there() {
    let settings = small_settings(1);
    let states = states(&settings);
    let mut full = 0;
    for capacity in (4 << 10..600 << 10).step_by(8 << 10) {
        let disk = FaultDisk::new();
        disk.set_capacity(Some(capacity));
        let mut acknowledged = 0;
        let result = open(&disk, settings.clone())
            .and_then(|store| run(&store, true, |_| acknowledged += 1));
        match result {
            Ok(()) => assert_eq!(acknowledged, states.len()),
            Err(error) => {
                full += 1;
                assert!(error.is_fatal(), "{error}");
                let cause = error.disk_error().map(std::io::Error::kind);
                assert_eq!(cause, Some(std::io::ErrorKind::StorageFull), "{error}");
            }
        }
        disk.set_capacity(None);
        for left in [disk.after_kill(), disk.after_power_failure(capacity)] {
            check_or_end(
                &left,
                &settings,
                &states,
                acknowledged,
                &format!("{capacity} bytes"),
            );
        }
    }
    assert!(full > 5, "the disk was full {full} times only");
}

/// As [`check`], but all transactions may have been acknowledged before the failure.
fn check_or_end(
    disk: &FaultDisk,
    settings: &evenkeel_store::Settings,
    states: &[bank::Contents],
    acknowledged: usize,
    what: &str,
) {
    check(disk, settings, states, acknowledged.min(states.len()), what);
}

#[test]
fn a_read_only_disk_is_an_error_and_loses_nothing() {
    let settings = small_settings(1);
    let states = states(&settings);
    let disk = FaultDisk::new();
    disk.set_read_only(true);
    let refused = open(&disk, settings.clone())
        .err()
        .expect("a read-only disk is refused");
    let cause = refused.disk_error().map(std::io::Error::kind);
    assert_eq!(
        cause,
        Some(std::io::ErrorKind::ReadOnlyFilesystem),
        "{refused}"
    );
    disk.set_read_only(false);
    let store = open(&disk, settings.clone()).unwrap();
    let mut acknowledged = 0;
    let result = run(&store, true, |_| {
        acknowledged += 1;
        disk.set_read_only(acknowledged == 10);
    });
    assert!(result.unwrap_err().is_fatal());
    assert!(matches!(
        store.begin(Default::default()).commit(),
        Ok(()) | Err(StoreError::Stopped(_))
    ));
    drop(store);
    assert!(open(&disk.after_kill(), settings.clone()).is_ok());
    assert_eq!(acknowledged, 10);
    check(
        &disk.after_kill(),
        &settings,
        &states,
        acknowledged,
        "read-only",
    );
}

/// After this many runs in a row without an error, the run has no such operation left. Some may fail unnoticed, such
/// as the removal of a file.
const UNHARMED_MAX: u32 = 5;

#[test]
fn every_operation_may_fail_once() {
    let settings = small_settings(2);
    let states = states(&settings);
    let mut failed = 0;
    for operation in [
        Operation::Write,
        Operation::Sync,
        Operation::Create,
        Operation::Rename,
        Operation::SyncDirectory,
        Operation::SetLen,
    ] {
        let mut unharmed = 0;
        for skip in (0..).step_by(if operation == Operation::Write { 2 } else { 1 }) {
            let disk = FaultDisk::new();
            disk.inject(Fault {
                operation,
                name_contains: String::new(),
                skip,
                times: 1,
                error: IO_ERROR,
            });
            let mut acknowledged = 0;
            let what = format!("{operation:?} {skip} fails");
            let store = open(&disk, settings.clone());
            let result = store.and_then(|store| run(&store, true, |_| acknowledged += 1));
            disk.heal();
            let left = disk.after_power_failure(skip);
            check(&left, &settings, &states, acknowledged, &what);
            if let Err(error) = result {
                assert!(error.is_fatal(), "{what}: {error}");
                failed += 1;
                unharmed = 0;
                continue;
            }
            unharmed += 1;
            if unharmed == UNHARMED_MAX {
                break;
            }
        }
    }
    assert!(failed > 100, "{failed} runs failed");
}

#[test]
fn a_store_is_open_once_at_a_time() {
    let disk = FaultDisk::new();
    let store = open(&disk, small_settings(1)).unwrap();
    assert!(matches!(
        open(&disk, small_settings(1)),
        Err(StoreError::InUse)
    ));
    store.close().unwrap();
    drop(store);
    open(&disk, small_settings(1)).unwrap();
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let settings = small_settings(1);
    let disk = FaultDisk::new();
    let store = open(&disk, settings.clone()).unwrap();
    run(&store, true, |_| ()).unwrap();
    drop(store);
    for missing in ["checkpoint", "pages"] {
        let left = disk.after_kill();
        left.root().remove(missing).unwrap();
        let error = open(&left, settings.clone())
            .and_then(|store| try_contents(&store))
            .unwrap_err();
        assert!(error.is_fatal(), "{missing}: {error}");
    }
}
