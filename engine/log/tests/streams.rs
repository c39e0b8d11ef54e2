//! Committers of several threads, on streams whose syncs take as long as the test wants.

mod fixture;
#[path = "fixture/gate.rs"]
mod gate;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::with_syncs;
use evenkeel_log::{Depends, FlushPolicy, Log, LogSettings, Lsn, NewRecord, Record};
use fixture::{History, directories, open, plain, scan, settings};
use gate::Gate;

fn gated(disk: &FaultDisk, streams: usize) -> (Arc<Log>, Vec<Arc<Gate>>) {
    let gates: Vec<Arc<Gate>> = (0..streams).map(|_| Arc::default()).collect();
    let gated = directories(disk, streams)
        .into_iter()
        .zip(&gates)
        .map(|(directory, gate)| {
            let gate = gate.clone();
            with_syncs(directory, move |file| {
                gate.pass();
                file.sync_data()
            })
        })
        .collect();
    let settings = LogSettings {
        segment_bytes: 1 << 16,
        ..settings(FlushPolicy::EagerFlush)
    };
    (Log::open(gated, settings).unwrap().0, gates)
}

fn independent(txn: u64) -> NewRecord<'static> {
    NewRecord {
        depends: Depends::On(&[]),
        ..plain(txn, b"independent")
    }
}

fn waiters(log: &Log) -> Vec<usize> {
    log.statistics()
        .streams
        .iter()
        .map(|stream| stream.waiters)
        .collect()
}

fn await_waiters(log: &Log, expected: &[usize]) {
    while waiters(log) != expected {
        thread::yield_now();
    }
}

/// While one stream is being synced, a committer takes the other and is through first, unless it needs what the first
/// committer wrote.
#[test]
fn a_committer_takes_a_free_stream_and_waits_only_for_what_it_needs() {
    let disk = FaultDisk::new();
    let (log, gates) = gated(&disk, 2);
    gates[0].close();
    let slow = log.append(&independent(1)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| log.commit(slow).unwrap());
        gates[0].await_waiting();
        let quick = log.append(&independent(2)).unwrap();
        log.commit(quick).unwrap();

        let needs = NewRecord {
            depends: Depends::On(&[slow]),
            ..plain(3, b"needs the slow one")
        };
        let needing = log.append(&needs).unwrap();
        let (log, done) = (&log, &done);
        threads.spawn(move || {
            log.commit(needing).unwrap();
            done.store(true, Ordering::SeqCst);
        });
        // It has written its own record to the free stream and waits for the other.
        await_waiters(log, &[1, 0]);
        assert!(!done.load(Ordering::SeqCst));

        // Were the power to fail now, the quick one would survive alone.
        let survivors = |image: u64| {
            let (_, recovered) =
                open(&disk.after_power_failure(image), 2, FlushPolicy::EagerFlush).unwrap();
            scan(&recovered, Lsn::ZERO)
                .unwrap()
                .iter()
                .map(|record| record.lsn)
                .collect::<Vec<_>>()
        };
        let survivors: Vec<Vec<Lsn>> = (0..20).map(survivors).collect();
        assert!(survivors.contains(&vec![quick]));
        assert!(survivors.contains(&vec![slow, quick, needing]));
        assert!(
            survivors
                .iter()
                .all(|lsns| lsns.contains(&quick) && lsns.len() != 2)
        );
        gates[0].open();
    });
    assert!(done.load(Ordering::SeqCst));
}

/// With every stream busy, committers join the one with the fewest waiters.
#[test]
fn with_no_stream_free_the_one_with_the_fewest_waiters_is_chosen() {
    let disk = FaultDisk::new();
    let (log, gates) = gated(&disk, 2);
    gates.iter().for_each(|gate| gate.close());
    thread::scope(|threads| {
        let commit = |txn| {
            let log = &log;
            threads.spawn(move || {
                let lsn = log.append(&independent(txn)).unwrap();
                log.commit(lsn).unwrap();
            })
        };
        for (txn, gate) in gates.iter().enumerate() {
            commit(txn as u64);
            gate.await_waiting();
        }
        for (txn, expected) in [[1, 0], [1, 1], [2, 1], [2, 2]].iter().enumerate() {
            commit(10 + txn as u64);
            await_waiters(&log, expected);
        }
        gates.iter().for_each(|gate| gate.open());
    });
    let statistics = log.statistics();
    // Two each that found the stream busy were written together: group commit.
    let batches: Vec<u64> = statistics
        .streams
        .iter()
        .map(|stream| stream.batches)
        .collect();
    assert_eq!(batches, [2, 2]);
    assert_eq!((statistics.records, statistics.commits), (6, 6));
}

/// Many threads, changing pages under latches and committing; every stream loses what it likes.
#[test]
fn acknowledged_records_survive() {
    for (streams, policy) in [
        (1, FlushPolicy::EagerFlush),
        (2, FlushPolicy::EagerFlush),
        (4, FlushPolicy::EagerFlush),
        (4, FlushPolicy::LazyFlush),
    ] {
        let disk = FaultDisk::new();
        let (log, _) = open(&disk, streams, policy).unwrap();
        let pages: Vec<parking_lot::Mutex<Lsn>> =
            (0..8).map(|_| parking_lot::Mutex::new(Lsn::ZERO)).collect();
        let history = parking_lot::Mutex::new(History::default());
        thread::scope(|threads| {
            for txn in 0..6u64 {
                let (log, pages, history) = (&log, &pages, &history);
                threads.spawn(move || run_transactions(log, pages, history, txn));
            }
        });
        let mut history = history.into_inner();
        let promised = if policy == FlushPolicy::EagerFlush {
            history.written.clone()
        } else {
            Vec::new()
        };
        for image in 0..10 {
            let (_, recovered) = open(&disk.after_power_failure(image), streams, policy).unwrap();
            history.check(
                &scan(&recovered, Lsn::ZERO).unwrap(),
                &promised,
                &format!("{streams} {policy:?} {image}"),
            );
        }
        let (_, recovered) = open(&disk.after_kill(), streams, policy).unwrap();
        history.check(
            &scan(&recovered, Lsn::ZERO).unwrap(),
            &history.written,
            "killed",
        );
        log.close().unwrap();
        let (_, recovered) = open(&disk.after_power_failure(1), streams, policy).unwrap();
        history.durable = history.records.keys().copied().collect();
        history.check(
            &scan(&recovered, Lsn::ZERO).unwrap(),
            &history.durable,
            "closed",
        );
    }
}

fn run_transactions(
    log: &Log,
    pages: &[parking_lot::Mutex<Lsn>],
    history: &parking_lot::Mutex<History>,
    txn: u64,
) {
    let append = |prev: Lsn, page: Lsn| {
        let payload = txn.to_le_bytes();
        let record = NewRecord {
            txn,
            prev,
            kind: 0,
            depends: Depends::On(&[page]),
            payload: &payload,
        };
        let lsn = log.append(&record).unwrap();
        let record = Record {
            lsn,
            txn,
            prev,
            kind: 0,
            payload: payload.to_vec(),
        };
        let needs = [prev, page]
            .into_iter()
            .filter(|&need| need > Lsn::ZERO)
            .collect();
        history.lock().records.insert(lsn, (record, needs));
        lsn
    };
    for round in 0..20 {
        let mut prev = Lsn::ZERO;
        for step in 0..3 {
            let mut page = pages[((txn * 5 + round * 3 + step) % 8) as usize].lock();
            prev = append(prev, *page);
            *page = prev;
        }
        let commit = append(prev, Lsn::ZERO);
        log.commit(commit).unwrap();
        history.lock().written.push(commit);
    }
}

/// The flusher of the lazy policies, on a log that is used no more than once.
#[test]
fn the_flusher_makes_durable_what_was_acknowledged_before() {
    for policy in [FlushPolicy::LazyFlush, FlushPolicy::LazyWrite] {
        let disk = FaultDisk::new();
        let settings = LogSettings {
            flusher: true,
            flush_interval: std::time::Duration::from_millis(1),
            ..settings(policy)
        };
        let (log, _) = Log::open(directories(&disk, 2), settings).unwrap();
        let lsn = log.append(&plain(1, b"lazy")).unwrap();
        log.commit(lsn).unwrap();
        let survives = || {
            let (_, recovered) = open(&disk.after_power_failure(0), 2, policy).unwrap();
            recovered.end() == lsn
        };
        while !survives() {
            thread::yield_now();
        }
    }
}

/// Files so small that the flusher and the committers make new ones all the time, at the same time.
#[test]
fn files_made_by_flusher_and_committers_are_not_confused() {
    let disk = FaultDisk::new();
    let settings = LogSettings {
        flusher: true,
        flush_interval: std::time::Duration::from_micros(100),
        ..settings(FlushPolicy::EagerFlush)
    };
    let (log, _) = Log::open(directories(&disk, 2), settings).unwrap();
    let committed = parking_lot::Mutex::new(Vec::new());
    thread::scope(|threads| {
        for txn in 0..3 {
            let (log, committed) = (&log, &committed);
            threads.spawn(move || {
                for _ in 0..300 {
                    let lsn = log.append(&plain(txn, &[3; 200])).unwrap();
                    log.commit(lsn).unwrap();
                    committed.lock().push(lsn);
                }
            });
        }
    });
    let mut committed = committed.into_inner();
    committed.sort_unstable();
    let (_, recovered) = open(&disk.after_power_failure(3), 2, FlushPolicy::EagerFlush).unwrap();
    let found: Vec<Lsn> = scan(&recovered, Lsn::ZERO)
        .unwrap()
        .iter()
        .map(|record| record.lsn)
        .collect();
    assert_eq!(found, committed);
}
