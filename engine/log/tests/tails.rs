//! Where a log ends: every truncation is a torn tail, damage before it is an error.

mod fixture;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Access, Create};
use evenkeel_log::{FlushPolicy, Log, LogError, LogSettings, Lsn};
use fixture::{directories, open, plain, scan, settings};

/// One file that holds ten records, each in a separate batch; a power failure does not change it.
fn ten_records() -> FaultDisk {
    let disk = FaultDisk::new();
    let settings = LogSettings {
        segment_bytes: 4096 + 16 * 512,
        ..settings(FlushPolicy::EagerFlush)
    };
    let (log, _) = Log::open(directories(&disk, 1), settings).unwrap();
    for txn in 0..10 {
        let lsn = log.append(&plain(txn, &[txn as u8; 50])).unwrap();
        log.commit(lsn).unwrap();
    }
    disk
}

const FILE: &str = "stream0/00-0000000000000001.log";

fn recovered_lsns(disk: &FaultDisk) -> Result<Vec<u64>, LogError> {
    let (_, recovered) = open(disk, 1, FlushPolicy::EagerFlush)?;
    Ok(scan(&recovered, Lsn::ZERO)?
        .iter()
        .map(|record| record.lsn.0)
        .collect())
}

fn cut(disk: &FaultDisk, len: u64) {
    let file = disk.root().open(
        FILE.split('/').next_back().unwrap(),
        Access::Buffered,
        Create::Never,
    );
    assert!(file.is_err(), "in a subdirectory");
    let directory = disk.root().subdirectory("stream0").unwrap();
    let file = directory
        .open("00-0000000000000001.log", Access::Buffered, Create::Never)
        .unwrap();
    file.set_len(len).unwrap();
    file.sync_data().unwrap();
}

/// Every batch says that those before it were durable, so only the last may be missing; cut where one begins, or
/// anywhere in it.
#[test]
fn every_truncation() {
    let end = 4096 + 10 * 512;
    for len in (0..=end).step_by(8) {
        let disk = ten_records().after_kill();
        cut(&disk, len);
        let found = recovered_lsns(&disk);
        // A batch of 50 bytes of payload ends after 72 + 29 + 50 bytes; the rest is padding.
        let whole = |batch: u64| len >= 4096 + batch * 512 + 151;
        let count = (0..10).take_while(|&batch| whole(batch)).count() as u64;
        if len < 4096 {
            // What follows the header's fields is zeros, so a cut there changes nothing of it.
            assert!(
                matches!(
                    found.as_deref(),
                    Ok([]) | Err(LogError::Corrupt { stream: 0, .. })
                ),
                "{len}"
            );
        } else {
            assert_eq!(found.unwrap(), (1..=count).collect::<Vec<_>>(), "{len}");
        }
    }
}

/// A broken batch in the middle: the later batches show that it was durable.
#[test]
fn damage_in_the_middle_is_an_error_and_at_the_end_a_torn_tail() {
    for batch in 0..10 {
        for offset in [0, 5, 30, 60, 80, 150] {
            let disk = ten_records().after_kill();
            disk.damage(FILE, 4096 + batch * 512 + offset, 0x10);
            let found = recovered_lsns(&disk);
            if batch == 9 {
                assert_eq!(found.unwrap(), (1..=9).collect::<Vec<_>>());
            } else {
                assert!(
                    matches!(found, Err(LogError::Corrupt { stream: 0, .. })),
                    "{batch} {offset}: {found:?}"
                );
            }
        }
    }
}

/// After closing, the mark vouches for the last batch, too.
#[test]
fn after_closing_damage_to_the_last_record_is_noticed() {
    let disk = FaultDisk::new();
    let settings = LogSettings {
        segment_bytes: 1 << 14,
        ..settings(FlushPolicy::LazyWrite)
    };
    let (log, _) = Log::open(directories(&disk, 1), settings).unwrap();
    let lsn = log.append(&plain(1, b"the only one")).unwrap();
    log.commit(lsn).unwrap();
    log.close().unwrap();
    assert_eq!(recovered_lsns(&disk.after_power_failure(1)).unwrap(), [1]);
    let damaged = disk.after_kill();
    damaged.damage(FILE, 4096 + 100, 1);
    assert!(matches!(
        recovered_lsns(&damaged),
        Err(LogError::Corrupt { .. })
    ));
}

/// Recovery writes down what it kept, so a later loss is damage.
#[test]
fn a_kept_record_must_stay() {
    let disk = ten_records().after_kill();
    assert_eq!(recovered_lsns(&disk).unwrap().len(), 10);
    disk.damage(FILE, 4096 + 9 * 512 + 100, 1);
    assert!(matches!(
        recovered_lsns(&disk.after_kill()),
        Err(LogError::Corrupt { .. })
    ));
}

/// One stream proves the records of the other.
#[test]
fn a_missing_stream_is_noticed() {
    let disk = FaultDisk::new();
    let (log, _) = open(&disk, 2, FlushPolicy::EagerFlush).unwrap();
    for txn in 0..4 {
        let lsn = log.append(&plain(txn, b"x")).unwrap();
        log.commit(lsn).unwrap();
    }
    assert!(matches!(
        open(&disk.after_kill(), 1, FlushPolicy::EagerFlush),
        Err(LogError::MissingStreams {
            written: 2,
            given: 1
        })
    ));
    let without = disk.after_kill();
    let directory = without.root().subdirectory("stream1").unwrap();
    for name in directory.list().unwrap() {
        directory.remove(&name).unwrap();
    }
    assert!(matches!(
        open(&without, 2, FlushPolicy::EagerFlush),
        Err(LogError::Corrupt { stream: 1, .. })
    ));
}

/// Streams can be added.
#[test]
fn a_log_can_gain_streams() {
    let disk = FaultDisk::new();
    let mut expected = Vec::new();
    for streams in [1, 2, 4] {
        let (log, recovered) = open(&disk.clone(), streams, FlushPolicy::EagerFlush).unwrap();
        let found: Vec<Lsn> = scan(&recovered, Lsn::ZERO)
            .unwrap()
            .iter()
            .map(|record| record.lsn)
            .collect();
        assert_eq!(found, expected);
        // New streams are used from when there is room in them, as before each change of a store.
        log.reserve(1).unwrap();
        for txn in 0..5 {
            let lsn = log.append(&plain(txn, b"x")).unwrap();
            log.commit(lsn).unwrap();
            expected.push(lsn);
        }
        if streams == 4 {
            let used = log
                .statistics()
                .streams
                .iter()
                .filter(|stream| stream.batches > 0)
                .count();
            assert_eq!(used, 4);
        }
    }
    assert_eq!(
        recovered_lsns(&disk.after_kill()).ok(),
        None,
        "but not lose them"
    );
}

#[test]
fn scanning_begins_where_it_is_asked_to() {
    let disk = ten_records();
    let (_, recovered) = open(&disk, 1, FlushPolicy::EagerFlush).unwrap();
    assert_eq!((recovered.end(), recovered.is_empty()), (Lsn(10), false));
    for from in 0..=11 {
        let found: Vec<u64> = scan(&recovered, Lsn(from))
            .unwrap()
            .iter()
            .map(|record| record.lsn.0)
            .collect();
        assert_eq!(found, (from.max(1)..=10).collect::<Vec<_>>());
    }
}

#[test]
fn streams_may_share_a_directory() {
    let disk = FaultDisk::new();
    let shared = || vec![disk.root(), disk.root(), disk.root()];
    for round in 0..3 {
        let (log, recovered) = Log::open(shared(), settings(FlushPolicy::EagerFlush)).unwrap();
        assert_eq!(scan(&recovered, Lsn::ZERO).unwrap().len(), 6 * round);
        for txn in 0..6 {
            let lsn = log.append(&plain(txn, b"shared")).unwrap();
            log.commit(lsn).unwrap();
        }
    }
}
