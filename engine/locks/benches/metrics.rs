//! Cost of the metrics, on against off, in turn: `cargo bench -p evenkeel-locks --bench metrics`.
//!
//! Off (`Config::metrics`) omits the time spent on contended objects and the waits by object and holder. The plain
//! counters stay, so their cost for an uncontended lock (one addition in a cache line that it has just written) is in
//! both. The ratio for that lock shows how far a ratio of 1 can stray. One thread asks asynchronously, so that no
//! context switch hides the difference.

#[path = "support/statistics.rs"]
mod statistics;

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Instant;

use evenkeel_locks::{Config, LockManager, Mode, ScheduleKind};

use statistics::median;

/// Times each measurement is made of either kind.
const ROUNDS: usize = 4001;
/// Locks in one measurement: so few that most measurements are not interrupted on a busy machine.
const LOCKS: usize = 100;
/// Objects waited for: more than the metrics keep, so that new ones push others out.
const OBJECTS: u64 = 200;

fn manager(metrics: bool) -> LockManager<u64> {
    LockManager::new(Config {
        metrics,
        ..Config::new(ScheduleKind::Ldsf)
    })
}

/// Nanoseconds for a lock and its release, nobody else there.
fn uncontended_ns(locks: &LockManager<u64>) -> f64 {
    let mut txn = locks.begin();
    let started = Instant::now();
    for _ in 0..LOCKS {
        txn.lock(black_box(&7), Mode::X).expect("free");
        txn.release_all();
    }
    started.elapsed().as_nanos() as f64 / LOCKS as f64
}

/// Nanoseconds of a lock that another transaction waits for: lock, wait, release with the decision, the waiter's
/// notice, its release.
fn contended_ns(locks: &LockManager<u64>, objects: u64) -> f64 {
    let mut context = Context::from_waker(Waker::noop());
    let (mut holder, mut waiter) = (locks.begin(), locks.begin());
    let started = Instant::now();
    for at in 0..LOCKS as u64 {
        let object = at % objects;
        holder.lock(&object, Mode::X).expect("free");
        {
            let mut wait = pin!(waiter.lock_async(&object, Mode::X));
            assert!(wait.as_mut().poll(&mut context).is_pending());
            holder.release_all();
            assert!(wait.as_mut().poll(&mut context).is_ready());
        }
        waiter.release_all();
    }
    started.elapsed().as_nanos() as f64 / LOCKS as f64
}

fn compare(name: &str, measure: impl Fn(&LockManager<u64>) -> f64) {
    let (on, off) = (manager(true), manager(false));
    let (mut on_ns, mut off_ns, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Whichever goes first warms the caches for the other, so they take turns.
        let (with, without) = if round % 2 == 0 {
            let with = measure(&on);
            (with, measure(&off))
        } else {
            let without = measure(&off);
            (measure(&on), without)
        };
        on_ns.push(with);
        off_ns.push(without);
        ratios.push(with / without);
    }
    let ratio = median(&mut ratios);
    let (p10, p90) = (ratios[ROUNDS / 10], ratios[ROUNDS * 9 / 10]);
    println!(
        "{name:<34}{:>10.1}{:>10.1}{ratio:>9.3}{p10:>9.3}{p90:>9.3}",
        median(&mut on_ns),
        median(&mut off_ns)
    );
}

fn main() {
    println!(
        "{:<34}{:>10}{:>10}{:>9}{:>9}{:>9}",
        "ns", "on", "off", "ratio", "p10", "p90"
    );
    compare("lock and release, uncontended", uncontended_ns);
    compare("lock, wait, grant, one object", |locks| {
        contended_ns(locks, 1)
    });
    compare("lock, wait, grant, many objects", |locks| {
        contended_ns(locks, OBJECTS)
    });
}
