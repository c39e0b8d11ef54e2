//! Disks that are full, broken or read-only: errors, and nothing lost that was promised.

mod fixture;

use std::time::Duration;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, NO_SPACE, Operation};
use evenkeel_log::{FlushPolicy, Log, LogError, LogSettings, Lsn, Recovered};
use fixture::{directories, open, plain, scan, settings};

fn commit_until_failure(log: &Log) -> (Vec<Lsn>, LogError) {
    let mut committed = Vec::new();
    loop {
        let commit = || {
            let lsn = log.append(&plain(1, &[7; 200]))?;
            log.commit(lsn)?;
            Ok(lsn)
        };
        match commit() {
            Ok(lsn) => committed.push(lsn),
            Err(error) => return (committed, error),
        }
    }
}

fn found(disk: &FaultDisk, streams: usize) -> Vec<Lsn> {
    let (_, recovered) = open(disk, streams, FlushPolicy::EagerFlush).unwrap();
    scan(&recovered, Lsn::ZERO)
        .unwrap()
        .iter()
        .map(|record| record.lsn)
        .collect()
}

#[test]
fn a_full_disk() {
    for streams in [1, 2] {
        let disk = FaultDisk::new();
        disk.set_capacity(Some(60_000));
        let (log, _) = open(&disk, streams, FlushPolicy::EagerFlush).unwrap();
        let (committed, error) = commit_until_failure(&log);
        let LogError::Failed { cause, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(cause.raw_os_error(), Some(NO_SPACE));
        assert!(committed.len() > 5);
        assert!(matches!(
            log.append(&plain(1, b"more")),
            Err(LogError::Failed { .. })
        ));
        assert!(matches!(log.flush_all(), Err(LogError::Failed { .. })));
        for image in 0..10 {
            let after = disk.after_power_failure(image);
            let found = found(&after, streams);
            assert!(committed.iter().all(|lsn| found.contains(lsn)));
        }
    }
}

/// Nothing is tried again after a failed sync: what the sync should have written is lost though a second one would
/// succeed.
#[test]
fn a_failed_sync_is_final() {
    for skip in 3..12 {
        let disk = FaultDisk::new();
        disk.inject(Fault {
            operation: Operation::Sync,
            name_contains: String::new(),
            skip,
            times: 1,
            error: IO_ERROR,
        });
        let (log, _) = open(&disk, 2, FlushPolicy::EagerFlush).unwrap();
        let (committed, error) = commit_until_failure(&log);
        assert!(matches!(error, LogError::Failed { .. }), "{error}");
        assert!(
            log.commit(Lsn(1)).is_err() && log.flush_to(Lsn(1)).is_err() && log.close().is_err()
        );
        for image in 0..5 {
            let found = found(&disk.after_power_failure(image), 2);
            assert!(
                committed.iter().all(|lsn| found.contains(lsn)),
                "{skip}: {committed:?} {found:?}"
            );
        }
    }
}

#[test]
fn a_read_only_directory() {
    let disk = FaultDisk::new();
    let (log, _) = open(&disk, 1, FlushPolicy::EagerFlush).unwrap();
    let lsn = log.append(&plain(1, b"x")).unwrap();
    log.commit(lsn).unwrap();
    let read_only = disk.after_kill();
    read_only.set_read_only(true);
    assert!(matches!(
        open(&read_only, 1, FlushPolicy::EagerFlush),
        Err(LogError::Io { .. })
    ));
    assert_eq!(found(&read_only.after_kill(), 1), [lsn]);
}

#[test]
fn files_are_used_again() {
    for streams in [1, 3] {
        let disk = FaultDisk::new();
        let (log, _) = open(&disk, streams, FlushPolicy::EagerFlush).unwrap();
        let mut most_files = 0;
        let mut last = Lsn::ZERO;
        for round in 0..400 {
            last = log.append(&plain(round, &[9; 200])).unwrap();
            log.commit(last).unwrap();
            if round % 10 == 9 {
                log.recycle_before(last).unwrap();
            }
            most_files = most_files.max(disk.files().len());
        }
        assert!(most_files < 12 * streams, "{most_files}");
        for image in 0..5 {
            let (_, recovered) = open(
                &disk.after_power_failure(image),
                streams,
                FlushPolicy::EagerFlush,
            )
            .unwrap();
            assert!(
                scan(&recovered, last)
                    .unwrap()
                    .iter()
                    .any(|record| record.lsn == last)
            );
            assert!(matches!(
                recovered.scan(Lsn(1)),
                Err(LogError::Recycled { wanted: Lsn(1), .. })
            ));
        }
    }
}

/// A file that cannot be recycled is tried again before any later one. Otherwise the next opening would take the gap
/// for a lost file.
#[test]
fn a_failure_of_recycling_leaves_no_gap() {
    for operation in [
        Operation::Rename,
        Operation::Remove,
        Operation::SyncDirectory,
    ] {
        let mut failures = 0;
        for skip in 0..6 {
            let disk = FaultDisk::new();
            let (log, _) = open(&disk, 1, FlushPolicy::EagerFlush).unwrap();
            let mut last = Lsn::ZERO;
            for round in 0..10 {
                for _ in 0..12 {
                    last = log.append(&plain(round, &[9; 200])).unwrap();
                    log.commit(last).unwrap();
                }
                if round == 1 {
                    disk.inject(Fault {
                        operation,
                        name_contains: String::new(),
                        skip,
                        times: 1,
                        error: IO_ERROR,
                    });
                }
                failures += u64::from(log.recycle_before(last).is_err());
                disk.heal();
            }
            log.flush_all().unwrap();
            for disk in [disk.after_kill(), disk.after_power_failure(skip)] {
                let (_, recovered) = open(&disk, 1, FlushPolicy::EagerFlush).unwrap();
                let found = scan(&recovered, last).unwrap();
                assert_eq!(found[0].lsn, last, "{operation:?} {skip}");
            }
        }
        assert!(failures > 0, "{operation:?} did not fail");
    }
}

#[test]
fn impossible_files_are_refused() {
    let disk = FaultDisk::new();
    let bad_block = LogSettings {
        block_bytes: 1000,
        ..settings(FlushPolicy::EagerFlush)
    };
    assert!(matches!(
        Log::open(directories(&disk, 1), bad_block),
        Err(LogError::BadBlock(1000))
    ));
    assert!(matches!(
        Log::open(Vec::new(), LogSettings::default()),
        Err(LogError::BadStreams(0))
    ));
    let (log, _) = open(&disk, 2, FlushPolicy::EagerFlush).unwrap();
    assert!(matches!(
        log.set_active_streams(3),
        Err(LogError::BadStreams(3))
    ));
    assert!(matches!(log.set_block_bytes(0), Err(LogError::BadBlock(0))));
    assert!(matches!(log.commit(Lsn(1)), Err(LogError::Unknown(Lsn(1)))));
    let long = vec![0; evenkeel_log::PAYLOAD_BYTES_MAX + 1];
    assert!(matches!(
        log.append(&plain(1, &long)),
        Err(LogError::TooLong(_))
    ));
}

/// A record longer than a file, and than the buffer.
#[test]
fn a_record_of_any_length_finds_room() {
    let disk = FaultDisk::new();
    let settings = LogSettings {
        buffer_bytes: 10_000,
        ..settings(FlushPolicy::LazyWrite)
    };
    let (log, _) = Log::open(directories(&disk, 2), settings).unwrap();
    let long = vec![5; 100_000];
    let lsn = log.append(&plain(1, &long)).unwrap();
    assert_eq!(
        log.statistics()
            .streams
            .iter()
            .map(|stream| stream.batches)
            .sum::<u64>(),
        1,
        "the buffer is full"
    );
    log.flush_to(lsn).unwrap();
    let (_, recovered) = open(&disk.after_power_failure(0), 2, FlushPolicy::EagerFlush).unwrap();
    assert_eq!(scan(&recovered, Lsn::ZERO).unwrap()[0].payload, long);
}

/// LSNs that somebody remembers are not given out again, though the files know of none of them.
#[test]
fn remembered_lsns_are_skipped() {
    let disk = FaultDisk::new();
    let (log, _) = open(&disk, 2, FlushPolicy::EagerFlush).unwrap();
    log.skip_to(Lsn(100));
    log.skip_to(Lsn(5));
    assert_eq!(log.last_lsn(), Lsn(100));
    log.flush_to(Lsn(100)).unwrap();
    let lsn = log.append(&plain(1, b"next")).unwrap();
    assert_eq!(lsn, Lsn(101));
    log.commit(lsn).unwrap();
    assert_eq!(found(&disk.after_power_failure(0), 2), [lsn]);
}

/// Blocks: what is written is a multiple of the block size, which may change from batch to batch.
#[test]
fn batches_are_padded_to_blocks() {
    let disk = FaultDisk::new();
    let settings = LogSettings {
        segment_bytes: 1 << 18,
        ..settings(FlushPolicy::EagerFlush)
    };
    let (log, _) = Log::open(directories(&disk, 1), settings).unwrap();
    let mut bytes = 0;
    let mut lsns = Vec::new();
    for block in [512, 8192, 1024, 65536, 512] {
        log.set_block_bytes(block).unwrap();
        let lsn = log.append(&plain(1, b"small")).unwrap();
        log.commit(lsn).unwrap();
        lsns.push(lsn);
        let written = log.statistics().streams[0].bytes - bytes;
        assert!(
            written > 0 && written <= block as u64 && written.is_multiple_of(512),
            "{block}: {written}"
        );
        bytes += written;
    }
    assert_eq!(found(&disk.after_power_failure(0), 1), lsns);
}

/// A sync fails, the log is opened again as the error advises, and then the power fails. On Linux a sync after a
/// failed one finds the pages clean, so opening must write again the data that it has read.
#[test]
fn records_reopened_after_a_failed_sync_survive_a_power_failure() {
    for streams in [1, 2, 4] {
        for skip in 2 * streams as u64..20 {
            let disk = FaultDisk::new();
            disk.set_seed(skip);
            disk.inject(Fault {
                operation: Operation::Sync,
                name_contains: String::new(),
                skip,
                times: 1,
                error: IO_ERROR,
            });
            let (log, _) = open(&disk, streams, FlushPolicy::EagerFlush).unwrap();
            let (committed, _) = commit_until_failure(&log);
            drop(log);
            let reopened = found(&disk, streams);
            assert!(committed.iter().all(|lsn| reopened.contains(lsn)));
            for image in 0..5 {
                assert_eq!(found(&disk.after_power_failure(image), streams), reopened);
            }
        }
    }
}

/// Reserved room is not given to anybody else, and it can be written even if the disk is full.
#[test]
fn reserved_room_is_reserved_once() {
    const RECORD: [u8; 900] = [7; 900];
    for streams in [1, 2] {
        let settings = LogSettings {
            segment_bytes: 4096 + 16 * 512,
            ..fixture::settings(FlushPolicy::EagerFlush)
        };
        let disk = FaultDisk::new();
        let (log, _) = Log::open(fixture::directories(&disk, streams), settings).unwrap();
        let used = |disk: &FaultDisk| disk.files().iter().map(|(_, len)| len).sum::<u64>();
        disk.set_capacity(Some(used(&disk) + 100_000));
        let reserve = || (0..1000).take_while(|_| log.reserve(1024).is_ok()).count();
        let reserved = reserve();
        assert!((1..1000).contains(&reserved), "{reserved}");
        log.release(1024);
        assert_eq!(reserve(), 1, "what was given back");
        disk.set_capacity(Some(used(&disk)));
        for txn in 0..reserved {
            let lsn = log.append(&plain(txn as u64, &RECORD)).unwrap();
            log.commit(lsn).unwrap();
        }
    }
}

/// An opening needs no further room, however often it is cut short. Without a second spare file the log continues in
/// its last one, and marks what was kept once.
#[test]
fn openings_take_no_room() {
    for streams in [1, 2, 4] {
        let settings = LogSettings {
            segment_bytes: 4096 + 64 * 512,
            ..fixture::settings(FlushPolicy::EagerFlush)
        };
        let open = |disk: &FaultDisk| {
            Log::open(fixture::directories(disk, streams), settings.clone()).unwrap()
        };
        let mut disk = FaultDisk::new();
        let (log, _) = open(&disk);
        log.reserve(4096).unwrap();
        let mut committed = Vec::new();
        for opening in 0..12 {
            let (log, recovered) = open(&disk);
            let files = disk.files();
            let used: u64 = files.iter().map(|(_, len)| len).sum();
            disk.set_capacity(Some(used));
            let found: Vec<Lsn> = scan(&recovered, Lsn::ZERO)
                .unwrap()
                .iter()
                .map(|record| record.lsn)
                .collect();
            assert_eq!(found, committed, "opening {opening} of {streams} streams");
            let lsn = log.append(&plain(1, b"undone")).unwrap();
            log.commit(lsn).unwrap();
            committed.push(lsn);
            assert_eq!(disk.files(), files, "it wrote to what there was");
            disk = match opening % 2 {
                0 => disk.after_kill(),
                _ => disk.after_power_failure(opening),
            };
            // Openings that are cut short.
            for operations in 1..6 {
                disk.cut_power_at(disk.operations() + operations);
                let _ = Log::open(fixture::directories(&disk, streams), settings.clone());
                disk = disk.after_kill();
            }
        }
    }
}

/// An opening that continues the last file removes discarded batches. If the sync of that fails, the next opening
/// does not see it any more, and the disk still has it.
#[test]
fn dropped_records_stay_away_even_if_the_sync_of_their_removal_failed() {
    let settings = LogSettings {
        segment_bytes: 4096 + 16 * 512,
        ..fixture::settings(FlushPolicy::EagerFlush)
    };
    let open = |disk: &FaultDisk| Log::open(fixture::directories(disk, 1), settings.clone());
    let commit = |log: &Log, payload: &[u8]| {
        let lsn = log.append(&plain(1, payload)).unwrap();
        log.commit(lsn).unwrap();
    };
    let payloads = |recovered: &Recovered| -> Vec<Vec<u8>> {
        let found = scan(recovered, Lsn::ZERO).unwrap();
        found.into_iter().map(|record| record.payload).collect()
    };
    let mut came_to_it = 0;
    for image in 0..200 {
        let disk = FaultDisk::new();
        let (log, _) = open(&disk).unwrap();
        commit(&log, b"durable");
        log.set_policy(FlushPolicy::LazyFlush);
        for payload in [&b"one"[..], b"two", b"three", b"four"] {
            commit(&log, payload);
        }
        drop(log);
        let disk = disk.after_power_failure(image);
        let (_, recovered) = open(&disk.after_kill()).unwrap();
        if recovered.discarded_bytes() == 0 {
            continue;
        }
        came_to_it += 1;
        let mut kept = payloads(&recovered);
        disk.set_seed(image);
        // The third sync of an opening: what was found and what is kept are synced before.
        disk.inject(Fault {
            operation: Operation::Sync,
            name_contains: String::new(),
            skip: 2,
            times: 1,
            error: IO_ERROR,
        });
        open(&disk).unwrap_err();
        let (log, recovered) = open(&disk).unwrap();
        assert_eq!(payloads(&recovered), kept, "image {image}");
        commit(&log, b"new");
        drop(log);
        kept.push(b"new".to_vec());
        let (_, recovered) = open(&disk.after_power_failure(image)).unwrap();
        assert_eq!(payloads(&recovered), kept, "image {image}");
    }
    assert!(came_to_it > 5, "{came_to_it}");
}

/// The flusher waits for ever, and still notices a change of its interval.
#[test]
fn the_longest_flush_interval() {
    let settings = LogSettings {
        flusher: true,
        flush_interval: Duration::MAX,
        ..settings(FlushPolicy::LazyFlush)
    };
    let disk = FaultDisk::new();
    let (log, _) = Log::open(directories(&disk, 1), settings).unwrap();
    let lsn = log.append(&plain(1, b"x")).unwrap();
    log.commit(lsn).unwrap();
    log.set_flush_interval(Duration::ZERO);
    while log.statistics().streams[0].syncs == 0 {
        std::thread::yield_now();
    }
}
