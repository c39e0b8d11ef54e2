//! Costs of the lock manager: uncontended locks, two threads, `try_lock` storms.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use evenkeel_locks::{Config, LockManager, Mode, ScheduleKind};

fn manager() -> LockManager<u64> {
    LockManager::new(Config::new(ScheduleKind::Ldsf))
}

/// One lock and its release, nobody else there: the target is 100 ns or less.
fn uncontended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("uncontended");
    let locks = manager();
    let mut txn = locks.begin();
    group.bench_function("lock and release", |bencher| {
        bencher.iter(|| {
            txn.lock(black_box(&7), Mode::X).expect("free");
            txn.release_all();
        });
    });
    group.bench_function("begin, ten locks, end", |bencher| {
        bencher.iter(|| {
            let mut txn = locks.begin();
            for object in 0..10 {
                txn.lock(black_box(&object), Mode::X).expect("free");
            }
        });
    });
    group.finish();
}

/// Time for each of two threads to lock and release `iterations` times, objects chosen by thread and iteration.
fn two_threads(iterations: u64, mode: Mode, object: impl Fn(u64, u64) -> u64 + Sync) -> Duration {
    let locks = manager();
    let start = Barrier::new(2);
    let run = |thread: u64| {
        let mut txn = locks.begin();
        start.wait();
        let started = Instant::now();
        for iteration in 0..iterations {
            txn.lock(&object(thread, iteration), mode)
                .expect("one lock at a time cannot deadlock");
            txn.release_all();
        }
        started.elapsed()
    };
    let times = thread::scope(|scope| {
        let run = &run;
        let threads = [0, 1].map(|thread| scope.spawn(move || run(thread)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    times[0].max(times[1])
}

fn two_threads_at_once(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("two threads");
    group.bench_function("disjoint objects", |bencher| {
        bencher.iter_custom(|iterations| {
            two_threads(iterations, Mode::X, |thread, at| (thread << 32) | (at % 64))
        });
    });
    group.bench_function("same object, shared", |bencher| {
        bencher.iter_custom(|iterations| two_threads(iterations, Mode::S, |_, _| 7));
    });
    group.bench_function("same object, exclusive", |bencher| {
        bencher.iter_custom(|iterations| two_threads(iterations, Mode::X, |_, _| 7));
    });
    group.finish();
}

/// Failing `try_lock`s on one object, with and without somebody waiting for it.
fn storm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("try_lock storm");
    let locks = manager();
    let mut holder = locks.begin();
    holder.lock(&7, Mode::X).expect("free");
    let mut txn = locks.begin();
    group.bench_function("held", |bencher| {
        bencher.iter(|| txn.try_lock(black_box(&7), Mode::X).is_err())
    });
    thread::scope(|scope| {
        let waiter = scope.spawn(|| locks.begin().lock(&7, Mode::X));
        while locks.wait_for_graph().is_empty() {
            thread::yield_now();
        }
        group.bench_function("waited for", |bencher| {
            bencher.iter(|| txn.try_lock(black_box(&7), Mode::X).is_err())
        });
        holder.release_all();
        waiter.join().expect("no panic").expect("granted");
    });
    group.finish();
}

criterion_group!(benches, uncontended, two_threads_at_once, storm);
criterion_main!(benches);
