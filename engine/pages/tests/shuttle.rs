//! Model checks of the pool under randomised thread schedules: pins, latches, replacement and writing. Run with
//! `cargo test -p evenkeel-pages --features shuttle --test shuttle`.
//!
//! A lost wake-up or a circular wait leaves every thread blocked, which shuttle reports as a deadlock.

#![cfg(feature = "shuttle")]

mod fixture;

use std::sync::Arc;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_pages::{PageError, PageId, Pool, Replacement};
use fixture::{FakeLog, fill, open, settings, value};
use shuttle::thread;

const ITERATIONS: usize = 500;
const FRAMES: usize = 8;

/// A pool over `pages` pages of value 0, all written.
fn pool_of(pages: u64, replacement: Replacement) -> (FaultDisk, Arc<FakeLog>, Arc<Pool>) {
    let (disk, log) = (FaultDisk::new(), Arc::new(FakeLog::default()));
    let pool = Pool::open(
        &*disk.root(),
        "data",
        settings(FRAMES, replacement),
        log.clone(),
    )
    .unwrap();
    for _ in 0..pages {
        let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
        page.mark_dirty(log.append());
    }
    pool.flush_all().unwrap();
    (disk, log, pool)
}

/// Adds one to a page, with the chance for others to run in between.
fn add_one(pool: &Pool, log: &FakeLog, page: PageId) {
    let mut page = pool.write(page).unwrap();
    let before = value(&page);
    page[0] ^= 0xFF;
    thread::yield_now();
    fill(&mut page, before + 1);
    page.mark_dirty(log.append());
}

/// More pages than frames: threads add to them, read them, and write them back; nothing is lost.
fn add_concurrently(replacement: Replacement) {
    const PAGES: u64 = 11;
    let (disk, log, pool) = pool_of(PAGES, replacement);
    let mut threads = Vec::new();
    for thread in 0..3u64 {
        let (pool, log) = (pool.clone(), log.clone());
        threads.push(thread::spawn(move || {
            for step in 0..4 {
                add_one(&pool, &log, PageId(2 + (thread * 3 + step * 4) % PAGES));
                value(&pool.read(PageId(2 + (thread + step * 5) % PAGES)).unwrap());
            }
        }));
    }
    {
        let (pool, log) = (pool.clone(), log.clone());
        threads.push(thread::spawn(move || {
            let before = log.last();
            pool.flush_before(before).unwrap();
            assert!(
                pool.dirty_pages()
                    .iter()
                    .all(|page| page.recovery_lsn >= before)
            );
            pool.flush_some(2).unwrap();
        }));
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let sum = |pool: &Pool| {
        (2..2 + PAGES)
            .map(|page| value(&pool.read(PageId(page)).unwrap()))
            .sum::<u64>()
    };
    assert_eq!(sum(&pool), 12);
    pool.flush_all().unwrap();
    assert_eq!(
        sum(&open(&disk.after_power_failure(1), FRAMES, &log).unwrap()),
        12
    );
}

#[test]
fn nothing_is_lost_under_lru() {
    shuttle::check_random(|| add_concurrently(Replacement::Lru), ITERATIONS);
}

#[test]
fn nothing_is_lost_under_lazy_lru() {
    shuttle::check_random(|| add_concurrently(Replacement::LazyLru), ITERATIONS);
}

#[test]
fn nothing_is_lost_by_priorities() {
    shuttle::check_pct(|| add_concurrently(Replacement::LazyLru), ITERATIONS, 3);
}

/// Latches are coupled down a list of pages that does not fit in the pool, while everything is being flushed.
#[test]
fn coupled_latches_and_flushing_do_not_wait_for_each_other() {
    shuttle::check_random(
        || {
            const PAGES: u64 = 12;
            let (_, log, pool) = pool_of(PAGES, Replacement::Lru);
            let mut threads = Vec::new();
            for _ in 0..2 {
                let (pool, log) = (pool.clone(), log.clone());
                threads.push(thread::spawn(move || {
                    let mut parent = pool.write(PageId(2)).unwrap();
                    for page in 3..2 + PAGES {
                        parent.fill(page as u8);
                        parent.mark_dirty(log.append());
                        parent = pool.write(PageId(page)).unwrap();
                    }
                }));
            }
            let flushed = pool.clone();
            threads.push(thread::spawn(move || flushed.flush_all().unwrap()));
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        },
        ITERATIONS,
    );
}

/// Several threads want a page that cannot be read at first: each gets the error or the page, and no frame is lost.
#[test]
fn a_page_that_cannot_be_read() {
    shuttle::check_random(
        || {
            let (disk, log, pool) = pool_of(12, Replacement::Lru);
            let fresh = disk.after_kill();
            drop(pool);
            let pool = open(&fresh, FRAMES, &log).unwrap();
            fresh.inject(Fault {
                operation: Operation::Read,
                name_contains: "data".into(),
                skip: 0,
                times: 1,
                error: IO_ERROR,
            });
            let read = || {
                let pool = pool.clone();
                thread::spawn(move || pool.read(PageId(5)).map(|page| value(&page)))
            };
            let threads: Vec<_> = (0..3).map(|_| read()).collect();
            let results: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            let failed = results
                .iter()
                .filter(|result| matches!(result, Err(PageError::Io { .. })))
                .count();
            assert_eq!(failed, 1, "{results:?}");
            let held: Vec<_> = (2..2 + FRAMES as u64)
                .map(|page| pool.read(PageId(page)).unwrap())
                .collect();
            assert_eq!(held.len(), FRAMES);
        },
        ITERATIONS,
    );
}

/// Two threads allocate and free; no page is given out twice.
#[test]
fn pages_are_given_out_once() {
    shuttle::check_random(
        || {
            let (_, log, pool) = pool_of(2, Replacement::Lru);
            let allocate = |count: u64| {
                let (pool, log) = (pool.clone(), log.clone());
                thread::spawn(move || {
                    (0..count)
                        .map(|_| {
                            let mut page =
                                pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
                            page.mark_dirty(log.append());
                            page.id()
                        })
                        .collect::<Vec<PageId>>()
                })
            };
            let threads = [allocate(3), allocate(3)];
            pool.free(PageId(2), |_| Ok::<_, PageError>(log.append()))
                .unwrap();
            let mut pages: Vec<PageId> = threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect();
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), 6);
            assert_eq!(pool.allocated_pages().unwrap(), 7);
        },
        ITERATIONS,
    );
}
