//! Power failures at every write and sync: no torn page is ever read, nothing is on the disk before its log record,
//! and what was flushed stays.

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, NO_SPACE, Operation};
use evenkeel_log::Lsn;
use evenkeel_pages::{PageError, PageId, Pool};
use fixture::{FakeLog, PAGE_BYTES, fill, open, value};

/// The history: for each page all its versions, the newest last.
#[derive(Default)]
struct History {
    versions: BTreeMap<PageId, Vec<u64>>,
    /// The newest version of each page when everything was last flushed.
    flushed: BTreeMap<PageId, u64>,
}

/// Changes pages, in a pool half as large as the data, until the power fails; whether it did not.
fn run(disk: &FaultDisk, log: &Arc<FakeLog>, history: &mut History) -> Result<(), PageError> {
    let pool = open(disk, 8, log)?;
    for round in 0..8 {
        for _ in 0..4 {
            let page = pool.allocate(|_| Ok::<_, PageError>(log.append()))?;
            change(page, log, history);
        }
        let pages: Vec<PageId> = history.versions.keys().copied().collect();
        for page in pages.iter().skip(round % 3).step_by(3) {
            change(pool.write(*page)?, log, history);
        }
        if round % 2 == 0 {
            pool.flush_some(3)?;
        } else {
            pool.flush_all()?;
            let newest =
                |(page, versions): (&PageId, &Vec<u64>)| (*page, *versions.last().unwrap());
            history.flushed = history.versions.iter().map(newest).collect();
        }
    }
    Ok(())
}

fn change(mut page: evenkeel_pages::PageWrite<'_>, log: &FakeLog, history: &mut History) {
    let lsn = log.append();
    history.versions.entry(page.id()).or_default().push(lsn.0);
    fill(&mut page, lsn.0);
    page.mark_dirty(lsn);
}

/// Opens what is left and checks every page; how many pages were torn and repaired.
fn check(disk: &FaultDisk, log: &Arc<FakeLog>, history: &History, what: &str) -> u64 {
    let pool = open(disk, 8, log).unwrap_or_else(|error| panic!("{what}: {error}"));
    for (&page, versions) in &history.versions {
        let left = match pool.read(page) {
            Ok(left) => {
                assert_eq!(left.lsn().0, value(&left), "{what}: {page}");
                assert!(
                    left.lsn() <= log.flushed(),
                    "{what}: {page} was written before the log"
                );
                left.lsn().0
            }
            Err(PageError::NeverWritten(_)) => 0,
            Err(error) => panic!("{what}: {error}"),
        };
        assert!(
            left == 0 || versions.contains(&left),
            "{what}: {page} holds {left}, which it never did"
        );
        let flushed = history.flushed.get(&page).copied().unwrap_or(0);
        assert!(
            left >= flushed,
            "{what}: {page} holds {left}, {flushed} had been flushed"
        );
    }
    pool.repaired_pages()
}

#[test]
fn at_every_operation() {
    let mut repaired = 0;
    for cut in 1.. {
        let (disk, log) = (FaultDisk::new(), Arc::new(FakeLog::default()));
        disk.cut_power_at(cut);
        let mut history = History::default();
        let finished = run(&disk, &log, &mut history).is_ok();
        for image in 0..6 {
            let after = disk.after_power_failure(cut * 6 + image);
            let what = format!("cut {cut}, image {image}");
            // Again, with the power failing during the repair.
            let again = after.after_kill();
            again.cut_power_at(again.operations() + 1 + image);
            let _ = open(&again, 8, &log);
            check(
                &again.after_power_failure(image),
                &log,
                &history,
                &format!("{what}, again"),
            );
            repaired += check(&after, &log, &history, &what);
        }
        if finished {
            assert!(cut > 100);
            break;
        }
    }
    assert!(
        repaired > 0,
        "the test is of nothing unless pages were torn"
    );
}

/// A kill interrupts the making of the files, and a power failure the first batches. The files then found there are
/// not taken for foreign, though the killed process' writes may have been in the operating system's cache only.
#[test]
fn a_kill_while_the_files_are_made_and_then_a_power_failure() {
    let log = Arc::new(FakeLog::default());
    let work = |disk: &FaultDisk| {
        // It is to be cut short.
        let _ = run(disk, &log, &mut History::default());
    };
    for kill in 1..10 {
        let disk = FaultDisk::new();
        disk.cut_power_at(kill);
        work(&disk);
        for cut in 1..10 {
            let again = disk.after_kill();
            again.cut_power_at(again.operations() + cut);
            work(&again);
            for image in 0..60 {
                let opened = open(&again.after_power_failure(image), 8, &log);
                opened.unwrap_or_else(|error| panic!("{kill}, {cut}, {image}: {error}"));
            }
        }
    }
}

fn filled(pages: u64) -> (FaultDisk, Arc<FakeLog>, Arc<Pool>) {
    let (disk, log) = (FaultDisk::new(), Arc::new(FakeLog::default()));
    let pool = open(&disk, 16, &log).unwrap();
    for _ in 0..pages {
        let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
        fill(&mut page, 1);
        page.mark_dirty(log.append());
    }
    pool.flush_all().unwrap();
    (disk, log, pool)
}

/// Whatever byte of a page is damaged, and whichever page is put in the place of another: an error, never a wrong
/// answer.
#[test]
fn damaged_pages_give_errors() {
    let (disk, log, _) = filled(3);
    for offset in (0..PAGE_BYTES as u64).step_by(61) {
        let damaged = disk.after_kill();
        damaged.damage("data", 3 * PAGE_BYTES as u64 + offset, 0x20);
        // The double-write area still has the page and would repair it, as it cannot tell.
        damaged.root().remove("data.double").unwrap();
        let pool = open(&damaged, 8, &log).unwrap();
        assert!(matches!(
            pool.read(PageId(3)),
            Err(PageError::Corrupt {
                page: PageId(3),
                ..
            })
        ));
        assert!(matches!(
            pool.write(PageId(3)),
            Err(PageError::Corrupt { .. })
        ));
        assert!(matches!(
            pool.write_for_redo(PageId(3)),
            Err(PageError::Corrupt { .. })
        ));
        assert_eq!(
            value(&pool.read(PageId(2)).unwrap()),
            1,
            "the others are as they were"
        );
    }
    let damaged = disk.after_kill();
    damaged.damage("data", 30, 1);
    assert!(matches!(
        open(&damaged, 8, &log),
        Err(PageError::NoPageFile(_))
    ));
}

#[test]
fn pages_never_written() {
    let (_, _, pool) = filled(1);
    assert!(matches!(
        pool.read(PageId(77)),
        Err(PageError::NeverWritten(PageId(77)))
    ));
    let page = pool.write_for_redo(PageId(77)).unwrap();
    assert_eq!(
        (page.lsn(), page.iter().all(|&byte| byte == 0)),
        (Lsn::ZERO, true)
    );
}

/// The disk fills up: allocations fail, existing pages can be changed and flushed, and with room allocations succeed.
#[test]
fn a_full_disk() {
    let (disk, log, pool) = filled(2);
    let used: u64 = disk.files().iter().map(|(_, len)| len).sum();
    disk.set_capacity(Some(used + 100_000));
    let allocate = |count| {
        (0..count).try_for_each(|_| {
            let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append()))?;
            fill(&mut page, 2);
            page.mark_dirty(log.append());
            Ok(())
        })
    };
    let refused: Result<(), PageError> = allocate(10_000);
    assert!(
        matches!(&refused, Err(PageError::Io { cause, .. }) if cause.raw_os_error() == Some(NO_SPACE)),
        "{refused:?}"
    );
    let before = pool.allocated_pages().unwrap();
    assert!(
        before > 250,
        "the megabyte by which the file had grown is used up first"
    );
    let mut page = pool.write(PageId(2)).unwrap();
    fill(&mut page, 3);
    page.mark_dirty(log.append());
    drop(page);
    pool.flush_all().unwrap();
    let reopened = open(&disk.after_power_failure(1), 8, &log).unwrap();
    assert_eq!(value(&reopened.read(PageId(2)).unwrap()), 3);
    disk.set_capacity(None);
    allocate(10).unwrap();
    assert_eq!(pool.allocated_pages().unwrap(), before + 10);
}

/// A power failure may shorten the file. What redo puts there has room before anybody else can take it.
#[test]
fn a_full_disk_after_redo() {
    let (disk, log, pool) = filled(2);
    let beyond = PageId(1000);
    assert!(pool.read(beyond).is_err());
    let mut page = pool.write_for_redo(beyond).unwrap();
    fill(&mut page, 5);
    page.mark_dirty(log.append());
    drop(page);
    let used: u64 = disk.files().iter().map(|(_, len)| len).sum();
    disk.set_capacity(Some(used));
    pool.flush_all().unwrap();
    assert!(pool.write_for_redo(PageId(100_000)).is_err());
}

/// After a failed sync nobody knows what the file holds: everything later fails, though the disk would do it.
#[test]
fn a_failed_sync_is_final() {
    for operation in [Operation::Sync, Operation::Write] {
        for file in ["data", "data.double"] {
            let (disk, log, pool) = filled(4);
            let mut page = pool.write(PageId(2)).unwrap();
            fill(&mut page, 9);
            page.mark_dirty(log.append());
            drop(page);
            let name_contains = file.into();
            disk.inject(Fault {
                operation,
                name_contains,
                skip: 0,
                times: 1,
                error: IO_ERROR,
            });
            assert!(matches!(pool.flush_all(), Err(PageError::Failed { .. })));
            assert!(
                matches!(pool.flush_all(), Err(PageError::Failed { .. })),
                "not tried again"
            );
            assert_eq!(
                pool.dirty_pages().len(),
                1,
                "still dirty, so no checkpoint passes it"
            );
            for image in 0..10 {
                let reopened = open(&disk.after_power_failure(image), 8, &log).unwrap();
                let left = value(&reopened.read(PageId(2)).unwrap());
                assert!(left == 1 || left == 9);
            }
        }
    }
}

#[test]
fn a_read_only_disk() {
    let (disk, log, _) = filled(2);
    disk.set_read_only(true);
    let fresh = FaultDisk::new();
    fresh.set_read_only(true);
    assert!(matches!(open(&fresh, 8, &log), Err(PageError::Io { .. })));
    assert!(disk.files().len() == 2);
}

/// Changes every page in use, in one pool after the other, and notes what each holds when all is flushed.
fn change_all(pool: &Pool, log: &FakeLog, history: &mut History) -> Result<(), PageError> {
    let pages: Vec<PageId> = history.versions.keys().copied().collect();
    for page in pages {
        change(pool.write_for_redo(page)?, log, history);
    }
    pool.flush_all()?;
    let newest = |(page, versions): (&PageId, &Vec<u64>)| (*page, *versions.last().unwrap());
    history.flushed = history.versions.iter().map(newest).collect();
    Ok(())
}

fn allocate(
    pool: &Pool,
    log: &FakeLog,
    count: usize,
    history: &mut History,
) -> Result<(), PageError> {
    for _ in 0..count {
        change(
            pool.allocate(|_| Ok::<_, PageError>(log.append()))?,
            log,
            history,
        );
    }
    Ok(())
}

/// The power fails in the batch after the file has grown, so that the images repaired lie beyond the end that is left.
/// Whatever grows the file next must not take them for room.
#[test]
fn repaired_pages_are_not_grown_over() {
    const FIRST_GROWTH: usize = 256;
    let mut repaired = 0;
    for image in 0..40 {
        let (disk, log) = (FaultDisk::new(), Arc::new(FakeLog::default()));
        let mut history = History::default();
        let pool = open(&disk, 64, &log).unwrap();
        allocate(&pool, &log, FIRST_GROWTH - 12, &mut history).unwrap();
        change_all(&pool, &log, &mut history).unwrap();
        allocate(&pool, &log, 30, &mut history).unwrap();
        // The batch's area, its sync, its pages: in the midst of these, or at their sync.
        disk.cut_power_at(disk.operations() + 4 + image % 31);
        assert!(pool.flush_all().is_err());
        let left = disk.after_power_failure(image);
        let pool = open(&left, 64, &log).unwrap();
        repaired += pool.repaired_pages();
        // What is read now has to stay: redo does not repeat it.
        for &page in history.versions.keys() {
            if let Ok(read) = pool.read(page) {
                history.flushed.insert(page, value(&read));
            }
        }
        allocate(&pool, &log, FIRST_GROWTH, &mut history).unwrap();
        pool.flush_all().unwrap();
        drop(pool);
        check(&left, &log, &history, &format!("image {image}"));
    }
    assert!(repaired > 0, "nothing was torn");
}

/// Redo believes the pages that opening shows. So they must stay, even if a kill or a failed sync has left them in
/// the cache only.
#[test]
fn pages_read_after_a_kill_or_a_failed_sync_survive_a_power_failure() {
    for at in 0..40 {
        for kill in [true, false] {
            let (disk, log) = (FaultDisk::new(), Arc::new(FakeLog::default()));
            disk.set_seed(at);
            let mut history = History::default();
            let pool = open(&disk, 64, &log).unwrap();
            allocate(&pool, &log, 20, &mut history).unwrap();
            change_all(&pool, &log, &mut history).unwrap();
            if kill {
                disk.cut_power_at(disk.operations() + 1 + at);
            } else {
                disk.inject(Fault {
                    operation: Operation::Sync,
                    name_contains: "data".into(),
                    skip: at % 4,
                    times: 1,
                    error: IO_ERROR,
                });
            }
            while change_all(&pool, &log, &mut history).is_ok() {}
            let again = disk.after_kill();
            let pool = open(&again, 64, &log).unwrap();
            for &page in history.versions.keys() {
                let held = pool.read(page).unwrap().lsn().0;
                history.flushed.insert(page, held);
            }
            for image in 0..5 {
                check(
                    &again.after_power_failure(image),
                    &log,
                    &history,
                    &format!("killed: {kill}, at {at}, image {image}"),
                );
            }
        }
    }
}
