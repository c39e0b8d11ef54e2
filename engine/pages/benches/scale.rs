//! Queries about dirty pages in pools of very different sizes with equally many dirty pages: no answer may take
//! longer in a larger pool.
//!
//! `cargo bench -p evenkeel-pages --bench scale`

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_disk::faults::FaultDisk;
use evenkeel_log::{LogError, Lsn};
use evenkeel_pages::{LogBarrier, PageError, Pool, PoolSettings};

/// Sizes of the pools.
const FRAMES: [usize; 3] = [1_000, 30_000, 1_000_000];
/// Dirty pages in each pool: as many as are written in one batch.
const DIRTY: usize = 64;

struct NoLog;

impl LogBarrier for NoLog {
    fn flush_log_to(&self, _: Lsn) -> Result<(), LogError> {
        Ok(())
    }
}

/// A pool with a batch of dirty pages.
fn pool_of(frames: usize) -> Arc<Pool> {
    let settings = PoolSettings {
        frames,
        page_bytes: 4096,
        writer: false,
        ..PoolSettings::default()
    };
    let disk = FaultDisk::new();
    let pool = Pool::open(&*disk.root(), "data", settings, Arc::new(NoLog)).expect("a pool");
    for _ in 0..DIRTY {
        allocate(&pool);
    }
    pool
}

fn allocate(pool: &Pool) {
    static LSN: AtomicU64 = AtomicU64::new(0);
    let next = || Lsn(LSN.fetch_add(1, Ordering::Relaxed) + 1);
    let page = pool.allocate(|_| Ok::<_, PageError>(next()));
    page.expect("a page").mark_dirty(next());
}

fn questions(criterion: &mut Criterion) {
    for frames in FRAMES {
        let pool = pool_of(frames);
        let pages: Vec<_> = pool.dirty_pages().iter().map(|dirty| dirty.page).collect();
        let mut group = criterion.benchmark_group("64 dirty pages");
        group.bench_function(BenchmarkId::new("how many", frames), |bencher| {
            bencher.iter(|| black_box(&pool).statistics().dirty)
        });
        group.bench_function(BenchmarkId::new("which, since when", frames), |bencher| {
            bencher.iter(|| black_box(&pool).dirty_pages())
        });
        group.bench_function(
            BenchmarkId::new("those before an LSN, none", frames),
            |bencher| bencher.iter(|| black_box(&pool).flush_before(Lsn(1))),
        );
        group.bench_function(
            BenchmarkId::new("write the next batch", frames),
            |bencher| {
                bencher.iter(|| {
                    for &page in &pages {
                        let page = black_box(&pool).write(page);
                        page.expect("it is there").mark_dirty(Lsn(1 << 40));
                    }
                    pool.flush_some(DIRTY)
                })
            },
        );
        group.finish();
    }
}

criterion_group!(benches, questions);
criterion_main!(benches);
