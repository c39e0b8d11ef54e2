//! Pages and log together: the power fails at every operation, with one, two and four log streams. Repeating the
//! log's history on the remaining pages gives the state of all records that were kept.

mod fixture;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_log::{
    Depends, FlushPolicy, Log, LogError, LogSettings, Lsn, NewRecord, Record, Recovered,
};
use evenkeel_pages::{PageError, PageId, PageWrite, Pool, Replacement};
use fixture::{fill, settings, value};

const ALLOCATED: u8 = 1;
const FILLED: u8 = 2;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Log(#[from] LogError),
}

fn open(disk: &FaultDisk, streams: usize) -> Result<(Arc<Log>, Recovered, Arc<Pool>), Error> {
    let directories = (0..streams)
        .map(|stream| {
            disk.root()
                .subdirectory(&format!("log{stream}"))
                .map_err(|_| PageError::NoPageFile("off".into()))
        })
        .collect::<Result<Vec<_>, PageError>>()?;
    let log_settings = LogSettings {
        policy: FlushPolicy::LazyFlush,
        block_bytes: 512,
        segment_bytes: 16384,
        flusher: false,
        ..LogSettings::default()
    };
    let (log, recovered) = Log::open(directories, log_settings)?;
    let pool = Pool::open(
        &*disk.root(),
        "data",
        settings(8, Replacement::Lru),
        log.clone(),
    )?;
    Ok((log, recovered, pool))
}

/// Appends "page `page` was allocated" or "was filled with its record's LSN", which needs the change before.
fn append(log: &Log, kind: u8, page: PageId, before: Lsn) -> Result<Lsn, LogError> {
    log.append(&NewRecord {
        txn: page.0,
        prev: Lsn::ZERO,
        kind,
        depends: Depends::On(&[before]),
        payload: &page.0.to_le_bytes(),
    })
}

fn change(log: &Log, mut page: PageWrite<'_>) -> Result<Lsn, LogError> {
    let lsn = append(log, FILLED, page.id(), page.lsn())?;
    fill(&mut page, lsn.0);
    page.mark_dirty(lsn);
    Ok(lsn)
}

/// Works until the end or the power failure; notes what was promised to be durable.
fn run(disk: &FaultDisk, streams: usize, promised: &mut Vec<Lsn>) -> Result<(), Error> {
    let (log, _, pool) = open(disk, streams)?;
    let mut pages = Vec::new();
    for round in 0..6 {
        for _ in 0..3 {
            let mut allocated = Lsn::ZERO;
            let page = pool.allocate(|allocation| {
                allocated = append(&log, ALLOCATED, allocation.pages[0], allocation.map_lsn)?;
                Ok::<Lsn, Error>(allocated)
            })?;
            pages.push(page.id());
            let lsn = append(&log, FILLED, page.id(), allocated)?;
            let mut page = page;
            fill(&mut page, lsn.0);
            page.mark_dirty(lsn);
            log.commit(lsn)?;
        }
        for &page in pages.iter().skip(round % 2).step_by(2) {
            let lsn = change(&log, pool.write(page)?)?;
            log.commit(lsn)?;
        }
        let lsn = change(&log, pool.write(pages[round])?)?;
        log.flush_to(lsn)?;
        promised.push(lsn);
        if round == 3 {
            pool.flush_before(lsn)?;
        }
    }
    Ok(())
}

/// Repeats history.
fn redo(pool: &Pool, found: &[Record]) -> Result<(), PageError> {
    for record in found {
        let page = PageId(u64::from_le_bytes(
            record.payload[..].try_into().expect("a page's number"),
        ));
        if record.kind == ALLOCATED {
            pool.redo_allocate(&[page], record.lsn)?;
            continue;
        }
        let mut page = pool.write_for_redo(page)?;
        if page.lsn() < record.lsn {
            fill(&mut page, record.lsn.0);
            page.mark_dirty(record.lsn);
        }
    }
    Ok(())
}

fn check(disk: &FaultDisk, streams: usize, promised: &[Lsn], what: &str) -> u64 {
    let (_, recovered, pool) = open(disk, streams).expect(what);
    let found: Vec<Record> = recovered
        .scan(Lsn::ZERO)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let lsns: BTreeSet<Lsn> = found.iter().map(|record| record.lsn).collect();
    assert!(
        promised.iter().all(|lsn| lsns.contains(lsn)),
        "{what}: a promise is broken"
    );
    redo(&pool, &found).expect(what);

    let mut expected: BTreeMap<PageId, Lsn> = BTreeMap::new();
    for record in &found {
        let page = PageId(u64::from_le_bytes(record.payload[..].try_into().unwrap()));
        expected.insert(page, record.lsn);
        assert!(
            pool.is_allocated(page).unwrap(),
            "{what}: {page} is in use and not in the map"
        );
    }
    assert_eq!(
        pool.allocated_pages().unwrap(),
        expected.len() as u64,
        "{what}"
    );
    let filled: BTreeSet<Lsn> = found
        .iter()
        .filter(|record| record.kind == FILLED)
        .map(|record| record.lsn)
        .collect();
    for (page, lsn) in expected.into_iter().filter(|(_, lsn)| filled.contains(lsn)) {
        let page = pool.read(page).expect(what);
        assert_eq!(
            (page.lsn(), value(&page)),
            (lsn, lsn.0),
            "{what}: {}",
            page.id()
        );
    }
    pool.flush_all().expect(what);
    recovered.discarded_bytes()
}

fn crash_everywhere(streams: usize) -> u64 {
    let mut discarded = 0;
    for cut in 1.. {
        let disk = FaultDisk::new();
        disk.cut_power_at(cut);
        let mut promised = Vec::new();
        let finished = run(&disk, streams, &mut promised).is_ok();
        for image in 0..4 {
            let what = format!("{streams} streams, cut {cut}, image {image}");
            let after = disk.after_power_failure(4 * cut + image);
            discarded += check(&after, streams, &promised, &what);
            // What was recovered and flushed is there the next time.
            check(
                &after.after_power_failure(image),
                streams,
                &promised,
                &format!("{what}, again"),
            );
        }
        if finished {
            break;
        }
    }
    discarded
}

#[test]
fn one_stream() {
    crash_everywhere(1);
}

#[test]
fn two_streams() {
    assert!(
        crash_everywhere(2) > 0,
        "the streams never lost different amounts"
    );
}

#[test]
fn four_streams() {
    assert!(
        crash_everywhere(4) > 0,
        "the streams never lost different amounts"
    );
}

/// A change that describes a whole page need not know its earlier content: the file may hold something newer, or be
/// damaged there. In memory the page has the content repeated so far.
#[test]
fn a_page_is_made_anew_without_reading_it() {
    let disk = FaultDisk::new();
    let (log, _, pool) = open(&disk, 1).unwrap();
    let allocated = |allocation: &evenkeel_pages::Allocation| {
        append(&log, ALLOCATED, allocation.pages[0], allocation.map_lsn)
    };
    let page = pool
        .allocate(|allocation| allocated(allocation).map_err(Error::from))
        .unwrap();
    let id = page.id();
    change(&log, page).unwrap();
    pool.flush_all().unwrap();
    drop((pool, log));
    disk.damage("data", id.0 * fixture::PAGE_BYTES as u64 + 1000, 1);
    disk.root().remove("data.double").unwrap();
    let (log, _, pool) = open(&disk, 1).unwrap();
    let read = pool.write_for_redo(id).err();
    assert!(matches!(read, Some(PageError::Corrupt { .. })), "{read:?}");
    let page = pool.write_anew_for_redo(id).unwrap();
    assert_eq!((page.lsn(), value(&page)), (Lsn::ZERO, 0));
    let lsn = change(&log, page).unwrap();
    let again = pool.write_anew_for_redo(id).unwrap();
    assert_eq!((again.lsn(), value(&again)), (lsn, lsn.0));
}
