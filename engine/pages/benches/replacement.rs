//! LRU against Lazy LRU Update: threads read pages of a working set larger than the young 5/8 of the pool, so old
//! pages are promoted all the time.
//!
//! `cargo bench -p evenkeel-pages -- [SECONDS]` prints one line for each number of threads, working set and policy.
//! It has reads a second, mean, standard deviation and 99.9th percentile of a read's latency, hit ratio, and
//! promotions deferred and dropped. The policies are interleaved in rounds, and the medians over rounds printed. The
//! data is on a disk in memory, so the pool is measured.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_disk::faults::FaultDisk;
use evenkeel_log::{LogError, Lsn};
use evenkeel_pages::{
    LogBarrier, PageError, PageId, Pool, PoolSettings, PoolStatistics, Replacement,
};

const ROUNDS: usize = 3;
const FRAMES: usize = 4096;

struct NoLog;

impl LogBarrier for NoLog {
    fn flush_log_to(&self, _: Lsn) -> Result<(), LogError> {
        Ok(())
    }
}

/// A pool over `pages` pages.
fn pool_of(pages: usize) -> Arc<Pool> {
    let settings = PoolSettings {
        frames: FRAMES,
        page_bytes: 4096,
        writer: false,
        ..PoolSettings::default()
    };
    let pool =
        Pool::open(&*FaultDisk::new().root(), "data", settings, Arc::new(NoLog)).expect("a pool");
    let lsn = AtomicU64::new(0);
    let next = || Lsn(lsn.fetch_add(1, Ordering::Relaxed) + 1);
    for _ in 0..pages {
        let mut page = pool
            .allocate(|_| Ok::<_, PageError>(next()))
            .expect("a page");
        page.mark_dirty(next());
    }
    pool.flush_all().expect("a flush");
    pool
}

#[derive(Clone, Copy)]
struct Outcome {
    per_s: f64,
    mean_ns: f64,
    sd_ns: f64,
    p999_ns: f64,
    before: PoolStatistics,
    after: PoolStatistics,
}

fn run(pool: &Pool, pages: usize, threads: usize, policy: Replacement, time: Duration) -> Outcome {
    pool.set_replacement(policy);
    let before = pool.statistics();
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let mut latencies: Vec<u32> = thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|reader| {
                let stop = &stop;
                scope.spawn(move || read_until(pool, stop, pages, reader as u64))
            })
            .collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .flat_map(|reader| reader.join().expect("a reader"))
            .collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let count = latencies.len() as f64;
    let mean = latencies
        .iter()
        .map(|&latency| f64::from(latency))
        .sum::<f64>()
        / count;
    let squares = latencies
        .iter()
        .map(|&latency| (f64::from(latency) - mean).powi(2))
        .sum::<f64>();
    Outcome {
        per_s: count / seconds,
        mean_ns: mean,
        sd_ns: (squares / count).sqrt(),
        p999_ns: f64::from(latencies[(latencies.len() - 1) / 1000 * 999]),
        before,
        after: pool.statistics(),
    }
}

fn read_until(pool: &Pool, stop: &AtomicBool, pages: usize, seed: u64) -> Vec<u32> {
    let mut state = seed + 1;
    let mut latencies = Vec::with_capacity(1 << 20);
    while !stop.load(Ordering::Relaxed) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let page = PageId(2 + (state >> 33) % pages as u64);
        let begun = Instant::now();
        black_box(pool.read(page).expect("a page")[0]);
        latencies.push(begun.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32);
    }
    latencies
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let seconds = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(1.0));
    println!(
        "{:>7} {:>8} {:>8} {:>10} {:>8} {:>8} {:>9} {:>6} {:>10} {:>9} {:>9}",
        "threads",
        "set/pool",
        "policy",
        "reads/s",
        "mean ns",
        "sd ns",
        "p99.9 ns",
        "hits",
        "promoted",
        "deferred",
        "dropped"
    );
    for (threads, percent) in [(1, 90), (2, 90), (8, 90), (32, 90), (8, 50), (8, 120)] {
        let pages = FRAMES * percent / 100;
        // More than the pool holds, as the old part is 3/8 of what is in memory.
        let pool = pool_of(pages.max(FRAMES * 3 / 2));
        let policies = [Replacement::Lru, Replacement::LazyLru];
        let mut outcomes: [Vec<Outcome>; 2] = Default::default();
        for _ in 0..ROUNDS {
            for (policy, outcomes) in policies.iter().zip(&mut outcomes) {
                outcomes.push(run(&pool, pages, threads, *policy, time));
            }
        }
        for (policy, outcomes) in policies.iter().zip(&outcomes) {
            let of = |pick: fn(&Outcome) -> f64| median(outcomes.iter().map(pick));
            println!(
                "{threads:7} {percent:7}% {:>8} {:10.0} {:8.0} {:8.0} {:9.0} {:6.3} {:10.0} {:9.0} {:9.0}",
                if *policy == Replacement::Lru {
                    "LRU"
                } else {
                    "LLU"
                },
                of(|o| o.per_s),
                of(|o| o.mean_ns),
                of(|o| o.sd_ns),
                of(|o| o.p999_ns),
                of(|o| {
                    let hits = (o.after.hits - o.before.hits) as f64;
                    hits / (hits + (o.after.misses - o.before.misses) as f64)
                }),
                of(|o| (o.after.promoted - o.before.promoted) as f64),
                of(|o| (o.after.deferred - o.before.deferred) as f64),
                of(|o| (o.after.dropped - o.before.dropped) as f64),
            );
        }
    }
}
