//! Model checks of group commit under randomised thread schedules: nothing acknowledged too early, no lost wake-up.
//! Run with `cargo test -p evenkeel-log --features shuttle --test shuttle`.
//!
//! A lost wake-up leaves every thread blocked, which shuttle reports as a deadlock.

#![cfg(feature = "shuttle")]

mod fixture;

use std::sync::Arc;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_log::{Depends, FlushPolicy, Log, LogError, LogSettings, Lsn, NewRecord};
use fixture::{directories, open, plain, scan, settings};
use shuttle::thread;

const ITERATIONS: usize = 1000;

/// Three threads of two transactions each; the second record of each thread needs the first of the next thread.
fn commit_concurrently(streams: usize, policy: FlushPolicy) {
    let disk = FaultDisk::new();
    let (log, _) = open(&disk, streams, policy).unwrap();
    let first = log.append(&plain(9, b"first")).unwrap();
    let threads: Vec<_> = (0..3)
        .map(|txn| {
            let (log, disk) = (log.clone(), disk.clone());
            thread::spawn(move || {
                let mut last = first;
                for _ in 0..2 {
                    let record = NewRecord {
                        depends: Depends::On(&[last]),
                        ..plain(txn, b"record")
                    };
                    last = log.append(&record).unwrap();
                    log.commit(last).unwrap();
                    assert_survives(&disk, streams, policy, last);
                }
                log.flush_to(last).unwrap();
                assert_survives(&disk, streams, FlushPolicy::EagerFlush, last);
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

fn assert_survives(disk: &FaultDisk, streams: usize, policy: FlushPolicy, lsn: Lsn) {
    let after = match policy {
        FlushPolicy::EagerFlush => disk.after_power_failure(lsn.0),
        FlushPolicy::LazyFlush => disk.after_kill(),
        FlushPolicy::LazyWrite => return,
    };
    let (_, recovered) = open(&after, streams, policy).unwrap();
    let found = scan(&recovered, Lsn::ZERO).unwrap();
    assert!(
        found.iter().any(|record| record.lsn == lsn),
        "{lsn} was acknowledged and is lost"
    );
}

#[test]
fn one_stream() {
    shuttle::check_random(
        || commit_concurrently(1, FlushPolicy::EagerFlush),
        ITERATIONS,
    );
}

#[test]
fn two_streams() {
    shuttle::check_random(
        || commit_concurrently(2, FlushPolicy::EagerFlush),
        ITERATIONS,
    );
}

#[test]
fn two_streams_by_priorities() {
    shuttle::check_pct(
        || commit_concurrently(2, FlushPolicy::EagerFlush),
        ITERATIONS,
        3,
    );
}

#[test]
fn lazily_flushed() {
    shuttle::check_random(
        || commit_concurrently(2, FlushPolicy::LazyFlush),
        ITERATIONS,
    );
}

/// All waiters of a failed batch get its error, and so do all later callers.
#[test]
fn a_failure_wakes_everybody() {
    shuttle::check_random(
        || {
            let disk = FaultDisk::new();
            let (log, _) = open(&disk, 2, FlushPolicy::EagerFlush).unwrap();
            disk.inject(Fault {
                operation: Operation::Sync,
                name_contains: String::new(),
                skip: 1,
                times: u64::MAX,
                error: IO_ERROR,
            });
            let threads: Vec<_> = (0..4)
                .map(|txn| {
                    let log: Arc<Log> = log.clone();
                    thread::spawn(move || {
                        let commit = || log.commit(log.append(&plain(txn, b"x"))?);
                        (commit().is_ok(), commit().is_ok())
                    })
                })
                .collect();
            let results: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            // One sync succeeds, and nobody's second commit can be in it.
            assert!(results.iter().all(|(_, second)| !second));
            assert!(log.flush_all().is_err());
        },
        ITERATIONS,
    );
}

/// One thread syncs a file while another writes and syncs its next batch. If one sync fails, the other finds nothing
/// to write and succeeds: its thread must not take its record for durable.
#[test]
fn a_sync_beside_a_failed_one_acknowledges_nothing() {
    shuttle::check_random(
        || {
            let disk = FaultDisk::new();
            let (log, _) = open(&disk, 1, FlushPolicy::LazyFlush).unwrap();
            let first = log.append(&plain(1, b"written")).unwrap();
            log.commit(first).unwrap();
            disk.inject(Fault {
                operation: Operation::Sync,
                name_contains: String::new(),
                skip: 0,
                times: 1,
                error: IO_ERROR,
            });
            let flush = |lsn: Lsn| {
                let (log, disk) = (log.clone(), disk.clone());
                thread::spawn(move || {
                    if log.flush_to(lsn).is_ok() {
                        assert_survives(&disk, 1, FlushPolicy::EagerFlush, lsn);
                    }
                })
            };
            let syncing = flush(first);
            // Nothing is taken in any more once the first sync has failed.
            let writing = log.append(&plain(2, b"collected")).ok().map(flush);
            syncing.join().unwrap();
            if let Some(writing) = writing {
                writing.join().unwrap();
            }
        },
        ITERATIONS,
    );
}

/// Three threads make room at the same time, on a disk that has it for some of them only, while their commits begin
/// one file after the other. A thread with reserved room can write even on a full disk; a refused one leaves the log
/// unchanged. All room that was made is counted, so the last to ask gets the right answer.
fn reserve_concurrently(streams: usize) {
    const RECORD: [u8; 900] = [7; 900];
    let disk = FaultDisk::new();
    let settings = LogSettings {
        segment_bytes: 4096 + 16 * 512,
        ..settings(FlushPolicy::EagerFlush)
    };
    let segment_bytes = settings.segment_bytes;
    let (log, _) = Log::open(directories(&disk, streams), settings).unwrap();
    let used = |disk: &FaultDisk| disk.files().iter().map(|(_, len)| len).sum::<u64>();
    let room = 3 * segment_bytes + 1000;
    disk.set_capacity(Some(used(&disk) + room));
    let reserve_and_commit = move |log: &Log, disk: &FaultDisk, txn: u64| match log.reserve(1024) {
        Ok(()) => {
            let lsn = log.append(&plain(txn, &RECORD)).unwrap();
            log.commit(lsn).unwrap();
            log.release(1024);
            assert_survives(disk, streams, FlushPolicy::EagerFlush, lsn);
            true
        }
        Err(LogError::Io { cause, .. }) => {
            assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
            log.flush_all().unwrap();
            false
        }
        Err(error) => panic!("{error}"),
    };
    let threads: Vec<_> = (0..3)
        .map(|txn| {
            let (log, disk) = (log.clone(), disk.clone());
            thread::spawn(move || {
                for _ in 0..4 {
                    reserve_and_commit(&log, &disk, txn);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let spares = log.statistics().streams;
    let spares: usize = spares.iter().map(|stream| stream.spare_files).sum();
    let listed = disk.files().into_iter();
    let listed = listed.filter(|(name, _)| name.ends_with(".spare")).count();
    assert_eq!(spares, listed, "spare files that nobody knows of");
    disk.set_capacity(Some(used(&disk)));
    let mut committed = 0;
    while reserve_and_commit(&log, &disk, 9) {
        committed += 1;
        assert!(committed < 100, "room that does not end");
    }
}

#[test]
fn room_is_made_by_several() {
    for streams in [1, 2] {
        shuttle::check_random(move || reserve_concurrently(streams), ITERATIONS / 2);
        shuttle::check_pct(move || reserve_concurrently(streams), ITERATIONS / 4, 3);
    }
}
