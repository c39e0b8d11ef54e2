//! Costs of the lock manager: uncontended locks, two threads, decisions by queue length, `try_lock` storms.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::graph::{QueueIndex, TxnIndex, TxnMeta};
use evenkeel_locks::{Config, LockManager, Mode, ScheduleKind, SetSizes, Starvation};

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

/// A hot object with `length` waiters, every other one shared, each with a transaction waiting for it.
fn contended(
    schedule: ScheduleKind,
    sizes: SetSizes,
    length: usize,
) -> (Contention, QueueIndex, TxnIndex) {
    let rules = Rules {
        sizes,
        starvation: Starvation::Unprevented,
        ..Rules::new(schedule)
    };
    let mut contention = Contention::new(rules);
    let mut effects = Effects::default();
    let mut id = 0;
    let mut begin = |contention: &mut Contention| {
        id += 1;
        let birth_ns = id * 7919 % 1009;
        contention.add_txn(TxnMeta {
            id,
            birth_ns,
            class: 0,
            expected_remaining_ns: Some(1.0),
        })
    };
    let hot = contention.add_queue();
    let holder = begin(&mut contention);
    contention
        .request(holder, hot, Mode::X, 0, 0, &mut effects)
        .expect("free");
    for at in 0..length {
        let (waiter, dependent, own) = (
            begin(&mut contention),
            begin(&mut contention),
            contention.add_queue(),
        );
        contention
            .request(waiter, own, Mode::X, 0, 0, &mut effects)
            .expect("free");
        contention
            .request(dependent, own, Mode::X, 0, 0, &mut effects)
            .expect("waits");
        let mode = if at % 2 == 0 { Mode::X } else { Mode::S };
        contention
            .request(waiter, hot, mode, 1, 0, &mut effects)
            .expect("waits");
    }
    (contention, hot, holder)
}

/// One decision: release, choose, grant; then everything granted releases and waits again, untimed.
fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decision");
    for (sizes, label) in [(SetSizes::Approximate, ""), (SetSizes::Exact, " exact")] {
        for schedule in ScheduleKind::ALL {
            if sizes == SetSizes::Exact && !schedule.needs_sizes() {
                continue;
            }
            for length in [1, 10, 100, 1000] {
                group.throughput(Throughput::Elements(length as u64));
                let id = BenchmarkId::new(format!("{}{label}", schedule.name()), length);
                group.bench_function(id, |bencher| {
                    let mut prepared = contended(schedule, sizes, length);
                    bencher.iter_custom(|iterations| decide(&mut prepared, iterations));
                });
            }
        }
    }
    group.finish();
}

fn decide(
    (contention, hot, holder): &mut (Contention, QueueIndex, TxnIndex),
    iterations: u64,
) -> Duration {
    let mut effects = Effects::default();
    let mut deciding = Duration::ZERO;
    for now_ns in 0..iterations {
        let started = Instant::now();
        contention.release(*holder, *hot, now_ns, &mut effects);
        deciding += started.elapsed();
        // The queue gets its length back before the next decision.
        let granted: Vec<_> = effects.granted.drain(..).collect();
        effects.clear();
        let mut back: Vec<_> = granted
            .iter()
            .map(|granted| (granted.txn, granted.mode))
            .collect();
        for granted in granted {
            contention.release(granted.txn, *hot, now_ns, &mut effects);
        }
        // Releasing the last reader may have granted a writer, and so on, until the queue is at rest again.
        while let Some(next) = effects.granted.pop() {
            back.push((next.txn, next.mode));
            contention.release(next.txn, *hot, now_ns, &mut effects);
        }
        contention
            .request(*holder, *hot, Mode::X, 0, now_ns, &mut effects)
            .expect("everybody left");
        for (txn, mode) in back {
            contention
                .request(txn, *hot, mode, 1, now_ns, &mut effects)
                .expect("waits");
        }
        effects.clear();
    }
    deciding
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

criterion_group!(benches, uncontended, two_threads_at_once, storm, decisions);
criterion_main!(benches);
