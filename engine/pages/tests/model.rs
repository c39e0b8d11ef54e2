//! The pool against a plain map, with a pool much smaller than the data.

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_log::Lsn;
use evenkeel_pages::{PageError, PageId, Pool, Replacement};
use fixture::{FakeLog, fill, open, settings, value};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Allocate,
    Write(usize),
    Read(usize),
    Free(usize),
    FlushSome(usize),
    FlushBefore(u64),
    FlushAll,
    Reopen,
    Replacement(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Allocate),
        6 => any::<usize>().prop_map(Step::Write),
        6 => any::<usize>().prop_map(Step::Read),
        1 => any::<usize>().prop_map(Step::Free),
        1 => (1usize..5).prop_map(Step::FlushSome),
        1 => (0u64..50).prop_map(Step::FlushBefore),
        1 => Just(Step::FlushAll),
        1 => Just(Step::Reopen),
        1 => any::<bool>().prop_map(Step::Replacement),
    ]
}

/// The pool, and what its pages should hold: their value and LSN.
struct Checked {
    disk: FaultDisk,
    log: Arc<FakeLog>,
    pool: Arc<Pool>,
    model: BTreeMap<PageId, (u64, Lsn)>,
}

impl Checked {
    fn pick(&self, which: usize) -> Option<PageId> {
        let count = self.model.len();
        (count > 0).then(|| *self.model.keys().nth(which % count).unwrap())
    }

    fn write(&mut self, mut page: evenkeel_pages::PageWrite<'_>, lsn: Lsn) {
        fill(&mut page, lsn.0);
        page.mark_dirty(lsn);
    }

    fn run(&mut self, step: Step) -> Result<(), PageError> {
        let pool = self.pool.clone();
        match step {
            Step::Allocate => {
                let log = self.log.clone();
                let page = pool.allocate(|allocation| {
                    assert_eq!(allocation.pages.len(), 1);
                    Ok::<Lsn, PageError>(log.append())
                })?;
                assert!(page.iter().all(|&byte| byte == 0));
                assert!(!self.model.contains_key(&page.id()), "given out twice");
                let lsn = self.log.append();
                self.model.insert(page.id(), (lsn.0, lsn));
                self.write(page, lsn);
            }
            Step::Write(which) => {
                let Some(id) = self.pick(which) else {
                    return Ok(());
                };
                let page = pool.write(id)?;
                assert_eq!((value(&page), page.lsn()), self.model[&id]);
                let lsn = self.log.append();
                self.model.insert(id, (lsn.0, lsn));
                self.write(page, lsn);
            }
            Step::Read(which) => {
                let Some(id) = self.pick(which) else {
                    return Ok(());
                };
                let page = pool.read(id)?;
                assert_eq!((value(&page), page.lsn()), self.model[&id]);
            }
            Step::Free(which) => {
                let Some(id) = self.pick(which) else {
                    return Ok(());
                };
                pool.free(id, |_| Ok::<Lsn, PageError>(self.log.append()))?;
                self.model.remove(&id);
            }
            Step::FlushSome(count) => drop(pool.flush_some(count)?),
            Step::FlushBefore(lsn) => {
                pool.flush_before(Lsn(lsn))?;
                assert!(
                    pool.dirty_pages()
                        .iter()
                        .all(|page| page.recovery_lsn >= Lsn(lsn))
                );
            }
            Step::FlushAll => {
                pool.flush_all()?;
                assert_eq!(pool.dirty_pages(), []);
                assert_eq!(pool.statistics().dirty, 0);
            }
            Step::Reopen => {
                pool.flush_all()?;
                self.disk = self.disk.after_power_failure(self.log.last().0);
                self.pool = open(&self.disk, 8, &self.log)?;
            }
            Step::Replacement(lazy) => {
                pool.set_replacement(if lazy {
                    Replacement::LazyLru
                } else {
                    Replacement::Lru
                });
            }
        }
        let statistics = pool.statistics();
        assert!(
            statistics.resident as usize <= pool.frames()
                && statistics.dirty <= statistics.resident
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn as_a_plain_map(steps in proptest::collection::vec(step(), 1..150)) {
        let disk = FaultDisk::new();
        let log = Arc::new(FakeLog::default());
        let pool = open(&disk, 8, &log).unwrap();
        let mut checked = Checked { disk, log, pool, model: BTreeMap::new() };
        for step in steps {
            checked.run(step).unwrap();
        }
        prop_assert_eq!(checked.pool.allocated_pages().unwrap(), checked.model.len() as u64);
        for (&id, &(expected, lsn)) in &checked.model {
            let page = checked.pool.read(id).unwrap();
            prop_assert_eq!((value(&page), page.lsn()), (expected, lsn));
        }
    }
}

#[test]
fn several_pages_by_one_record_lie_in_one_map() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    let pool = open(&disk, 16, &log).unwrap();
    let ids = |pages: &[evenkeel_pages::PageWrite<'_>]| {
        pages.iter().map(|page| page.id()).collect::<Vec<_>>()
    };
    let mut first = pool
        .allocate_many(3, |_| Ok::<_, PageError>(log.append()))
        .unwrap();
    assert_eq!(ids(&first), [PageId(2), PageId(3), PageId(4)]);
    first
        .iter_mut()
        .for_each(|page| page.mark_dirty(log.append()));
    drop(first);
    // A record that could not be appended changes nothing.
    let refused = pool.allocate(|_| Err(PageError::NeverWritten(PageId(0))));
    assert!(matches!(refused, Err(PageError::NeverWritten(_))));
    assert!(!pool.is_allocated(PageId(5)).unwrap());

    // Redo of both, twice, on a pool that has seen nothing of it.
    let fresh = FaultDisk::new();
    let redone = open(&fresh, 8, &log).unwrap();
    for _ in 0..2 {
        redone
            .redo_allocate(&[PageId(2), PageId(3), PageId(4)], Lsn(1))
            .unwrap();
        redone.redo_free(&[PageId(3)], Lsn(2)).unwrap();
    }
    let used: Vec<bool> = (2..6)
        .map(|page| redone.is_allocated(PageId(page)).unwrap())
        .collect();
    assert_eq!(used, [true, false, true, false]);
    let again = redone
        .allocate(|_| Ok::<_, PageError>(log.append()))
        .map(|mut page| {
            page.mark_dirty(log.append());
            page.id()
        });
    assert_eq!(again.unwrap(), PageId(3));
}

/// 4096-byte pages have maps of 8 x 4072 bits: the second region begins after them.
#[test]
fn a_full_region_is_followed_by_the_next() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    let pool = open(&disk, 8, &log).unwrap();
    let region = 8 * (4096 - 24);
    let all: Vec<PageId> = (2..region - 1).map(PageId).collect();
    pool.redo_allocate(&all, log.append()).unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
        page.mark_dirty(log.append());
        ids.push(page.id().0);
    }
    assert_eq!(
        ids,
        [region - 1, region + 2],
        "the last page of one, the first behind the map of the next"
    );
    pool.flush_all().unwrap();
    let pool = open(&disk, 8, &log).unwrap();
    assert_eq!(pool.allocated_pages().unwrap(), region - 2 + 1);
}

/// A scan of many pages once does not push out what is used again and again.
#[test]
fn scans_do_not_push_out_the_young() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    let pool = open(&disk, 64, &log).unwrap();
    for _ in 0..500 {
        let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
        page.mark_dirty(log.append());
    }
    pool.flush_all().unwrap();
    let hot: Vec<PageId> = (2..32).map(PageId).collect();
    let use_hot = || hot.iter().for_each(|&page| drop(pool.read(page).unwrap()));
    // Twice in a row each: in circles they would push out each other, as the old part has room for 24.
    for &page in &hot {
        (0..2).for_each(|_| drop(pool.read(page).unwrap()));
    }
    (100..500).for_each(|page| drop(pool.read(PageId(page)).unwrap()));
    let before = pool.statistics();
    use_hot();
    let after = pool.statistics();
    assert_eq!(
        (after.misses - before.misses, after.hits - before.hits),
        (0, 30)
    );
    assert!(after.promoted > 0 && after.young > 30 && after.hit_ratio() < 1.0);
}

#[test]
fn a_pool_too_small_for_the_pages_held_says_so() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    let pool = open(&disk, 8, &log).unwrap();
    for _ in 0..12 {
        let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
        page.mark_dirty(log.append());
    }
    let held: Vec<_> = (2..10)
        .map(|page| pool.read(PageId(page)).unwrap())
        .collect();
    assert!(matches!(
        pool.read(PageId(11)),
        Err(PageError::Exhausted { frames: 8 })
    ));
    drop(held);
    pool.read(PageId(11)).unwrap();
}

#[test]
fn a_guard_passes_from_writing_to_reading() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    let pool = open(&disk, 8, &log).unwrap();
    let mut page = pool.allocate(|_| Ok::<_, PageError>(log.append())).unwrap();
    fill(&mut page, 7);
    let lsn = log.append();
    page.mark_dirty(lsn);
    let id = page.id();
    let reading = page.downgrade();
    let other = pool.read(id).unwrap();
    assert_eq!(
        (value(&reading), value(&other), reading.lsn(), other.id()),
        (7, 7, lsn, id)
    );
}

#[test]
fn wrong_sizes_are_refused() {
    let disk = FaultDisk::new();
    let log = Arc::new(FakeLog::default());
    drop(open(&disk, 8, &log).unwrap());
    let open_with = |frames, page_bytes| {
        let settings = evenkeel_pages::PoolSettings {
            page_bytes,
            ..settings(frames, Replacement::Lru)
        };
        Pool::open(&*disk.root(), "data", settings, log.clone()).map(drop)
    };
    assert!(matches!(
        open_with(8, 16384),
        Err(PageError::PageSize {
            file: 4096,
            wanted: 16384
        })
    ));
    assert!(matches!(
        open_with(8, 5000),
        Err(PageError::BadSettings { .. })
    ));
    assert!(matches!(
        open_with(1, 4096),
        Err(PageError::BadSettings { .. })
    ));
}
