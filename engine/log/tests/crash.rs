//! Power failures at every write and sync, with one, two and four streams: what is recovered is closed under what
//! records need, and has everything that was promised.

mod fixture;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_log::{FlushPolicy, Lsn};
use fixture::{History, Workload, open, plain, scan};

const STEPS: usize = 40;
const IMAGES: u64 = 3;

/// Runs until the end or the power failure; what was promised by then.
fn run(disk: &FaultDisk, streams: usize, workload: &mut Workload) -> bool {
    let Ok((log, _)) = open(disk, streams, FlushPolicy::LazyFlush) else {
        return false;
    };
    (0..STEPS).all(|_| workload.step(&log).is_ok())
}

fn crash_everywhere(streams: usize, seed: u64, everything: bool) -> Tally {
    let mut tally = Tally::default();
    for cut in 1.. {
        let disk = FaultDisk::new();
        disk.cut_power_at(cut);
        let mut workload = Workload::new(seed, everything, History::default());
        let finished = run(&disk, streams, &mut workload);
        for image in 0..IMAGES {
            let what = format!("{streams} streams, seed {seed}, cut {cut}, image {image}");
            let disk = disk.after_power_failure(cut * IMAGES + image);
            recover_twice(&disk, streams, workload.history.clone(), &what, &mut tally);
        }
        let what = format!("{streams} streams, seed {seed}, killed at {cut}");
        let (_, recovered) =
            open(&disk.after_kill(), streams, FlushPolicy::EagerFlush).expect(&what);
        let found = scan(&recovered, Lsn::ZERO).unwrap();
        workload
            .history
            .check(&found, &workload.history.durable, &what);
        if finished {
            workload
                .history
                .check(&found, &workload.history.written, &what);
            return tally;
        }
    }
    tally
}

#[derive(Default)]
struct Tally {
    /// Images in which a record was lost though a later one was kept.
    with_gaps: u64,
    discarded_bytes: u64,
}

/// Recovers, works on, loses power again, and recovers again.
fn recover_twice(
    disk: &FaultDisk,
    streams: usize,
    mut history: History,
    what: &str,
    tally: &mut Tally,
) {
    let (log, recovered) = open(disk, streams, FlushPolicy::EagerFlush).expect(what);
    let found = scan(&recovered, Lsn::ZERO).unwrap();
    history.check(&found, &history.durable, what);
    tally.discarded_bytes += recovered.discarded_bytes();
    tally.with_gaps += u64::from(
        found
            .last()
            .is_some_and(|last| last.lsn.0 > found.len() as u64),
    );
    history.retain(&found);

    disk.cut_power_at(disk.operations() + 9);
    let mut workload = Workload::new(disk.operations(), false, history);
    while workload.step(&log).is_ok() {}
    for image in 0..2 {
        let again = disk.after_power_failure(image);
        let (_, recovered) = open(&again, streams, FlushPolicy::EagerFlush).expect(what);
        let found = scan(&recovered, Lsn::ZERO).unwrap();
        workload.history.check(
            &found,
            &workload.history.durable,
            &format!("{what}, again {image}"),
        );
    }
}

#[test]
fn one_stream() {
    for seed in 0..4 {
        let tally = crash_everywhere(1, seed, seed % 2 == 0);
        assert_eq!(tally.with_gaps, 0, "one stream is lost from its end only");
    }
}

#[test]
fn two_streams() {
    let tallies: Vec<Tally> = (0..4)
        .map(|seed| crash_everywhere(2, seed, false))
        .collect();
    // The test is of nothing unless streams do lose different amounts.
    assert!(tallies.iter().any(|tally| tally.with_gaps > 0));
    assert!(tallies.iter().any(|tally| tally.discarded_bytes > 0));
}

#[test]
fn four_streams() {
    let tallies: Vec<Tally> = (0..3)
        .map(|seed| crash_everywhere(4, seed, false))
        .collect();
    assert!(tallies.iter().any(|tally| tally.with_gaps > 0));
    assert!(tallies.iter().any(|tally| tally.discarded_bytes > 0));
}

/// Records that need everything before them leave no gap.
#[test]
fn needing_everything_gives_a_prefix() {
    let run = |(streams, seed)| crash_everywhere(streams, seed, true);
    let tallies: Vec<Tally> = [(2, 7), (2, 8), (4, 7), (4, 8)].map(run).into();
    assert!(tallies.iter().all(|tally| tally.with_gaps == 0));
    assert!(tallies.iter().any(|tally| tally.discarded_bytes > 0));
}

/// Recovery builds upon records that it has found. So they must not vanish later, even if they were only in a cache
/// when the process was killed.
#[test]
fn records_found_after_a_kill_survive_a_power_failure() {
    for streams in [1, 2] {
        let disk = FaultDisk::new();
        let (log, _) = open(&disk, streams, FlushPolicy::LazyFlush).unwrap();
        for txn in 0..8 {
            let lsn = log.append(&plain(txn, b"in the cache")).unwrap();
            log.commit(lsn).unwrap();
        }
        let killed = disk.after_kill();
        let (_, recovered) = open(&killed, streams, FlushPolicy::LazyFlush).unwrap();
        let found = scan(&recovered, Lsn::ZERO).unwrap();
        assert_eq!(found.len(), 8);
        for image in 0..20 {
            let after = killed.after_power_failure(image);
            let (_, recovered) = open(&after, streams, FlushPolicy::LazyFlush).unwrap();
            assert_eq!(scan(&recovered, Lsn::ZERO).unwrap(), found);
        }
    }
}
