//! The pool and the log on a real directory, with their threads, and direct I/O if the file system has it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use evenkeel_disk::RealDirectory;
use evenkeel_log::{Depends, Log, LogError, LogSettings, Lsn, NewRecord};
use evenkeel_pages::{PageError, PageId, Pool, PoolSettings, Replacement};

const PAGES: u64 = 60;
const THREADS: u64 = 4;
const ADDITIONS: u64 = 200;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Log(#[from] LogError),
}

fn record(depends: &[Lsn]) -> NewRecord<'_> {
    NewRecord {
        txn: 1,
        prev: Lsn::ZERO,
        kind: 0,
        depends: Depends::On(depends),
        payload: b"changed",
    }
}

fn counter(body: &[u8]) -> u64 {
    u64::from_le_bytes(body[..8].try_into().unwrap())
}

fn add_one(pool: &Pool, log: &Log, page: PageId) -> Result<(), Error> {
    let mut page = pool.write(page)?;
    let lsn = log.append(&record(&[page.lsn()]))?;
    let sum = counter(&page) + 1;
    page[..8].copy_from_slice(&sum.to_le_bytes());
    page.mark_dirty(lsn);
    Ok(())
}

#[test]
fn threads_add_to_pages_while_they_are_written_in_the_background() {
    let place = tempfile::tempdir().unwrap();
    let directory = RealDirectory::open(place.path()).unwrap();
    let open = || {
        let settings = LogSettings {
            segment_bytes: 1 << 20,
            ..LogSettings::default()
        };
        let (log, _) = Log::open(vec![directory.subdirectory("log").unwrap()], settings).unwrap();
        let settings = PoolSettings {
            frames: 24,
            replacement: Replacement::LazyLru,
            writer_interval: Duration::from_millis(1),
            ..PoolSettings::default()
        };
        let pool = Pool::open(&*directory, "data", settings, log.clone()).unwrap();
        (log, pool)
    };
    {
        let (log, pool): (Arc<Log>, Arc<Pool>) = open();
        for _ in 0..PAGES {
            let page = pool
                .allocate(|allocation| Ok::<_, Error>(log.append(&record(&[allocation.map_lsn]))?));
            let mut page = page.unwrap();
            page.mark_dirty(log.append(&record(&[])).unwrap());
        }
        thread::scope(|threads| {
            for thread in 0..THREADS {
                let (log, pool) = (&log, &pool);
                threads.spawn(move || {
                    for step in 0..ADDITIONS {
                        add_one(pool, log, PageId(2 + (thread * 7 + step * 11) % PAGES)).unwrap();
                    }
                });
            }
            threads.spawn(|| pool.flush_before(log.last_lsn()).unwrap());
        });
        pool.flush_all().unwrap();
        assert!(pool.statistics().evicted > 0 && pool.statistics().written > 0);
    }
    let (_, pool) = open();
    let sum: u64 = (2..2 + PAGES)
        .map(|page| counter(&pool.read(PageId(page)).unwrap()))
        .sum();
    assert_eq!(sum, THREADS * ADDITIONS);
    assert_eq!(pool.repaired_pages(), 0);
}
