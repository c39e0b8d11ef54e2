//! Records a second through [`Analysis::push`], on one core.
//!
//! Intervals as a PostgreSQL statement makes them: some twenty nodes, a few of them called often. `waits` is the same
//! with intervals followed across threads, to the end of the walk.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_analysis::{Analysis, ProbeCost};
use evenkeel_wire::{Marker, ObjectKind, Record};

/// Records of intervals that call `outer` functions in turn; each of them calls `inner` others `repeats` times.
/// Durations come from a linear congruential generator.
fn records(intervals: u32, outer: u32, inner: u32, repeats: u32) -> Vec<Record> {
    let (mut records, mut now, mut state) = (Vec::new(), 1000, 1u64);
    let mut tick = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % limit
    };
    for _ in 0..intervals {
        records.push(Record::marker(Marker::Begin, now, 1 << 1 | 1));
        records.push(Record::from_label_chunk(b"END"));
        for function in 0..outer {
            let entered = now + tick(50);
            now = entered;
            for call in 0..inner * repeats {
                let ticks = tick(1000);
                let probe = outer + function * inner + call % inner;
                records.push(Record::new(now + 20, ticks, probe));
                now += 20 + ticks;
            }
            now += tick(50);
            records.push(Record::new(entered, now - entered, function));
        }
        now += tick(50);
        records.push(Record::marker(Marker::End, now, 1 << 1 | 1));
    }
    records
}

fn push(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("push");
    for (name, records) in [
        ("each_call_once", records(2000, 5, 4, 1)),
        ("calls_repeat", records(200, 5, 4, 20)),
        ("wide_function", records(200, 1, 100, 1)),
        ("tiny_intervals", records(20_000, 1, 1, 1)),
    ] {
        group.throughput(Throughput::Elements(records.len() as u64));
        group.bench_function(name, |bencher| {
            let mut analysis = Analysis::new(ProbeCost {
                outer_256: 2000,
                inner_256: 3000,
            });
            analysis.begin_round(1, 50);
            bencher.iter(|| analysis.push(1, black_box(&records)));
        });
    }
    group.finish();
}

/// Records of threads that take turns at one lock: each of `threads` has intervals with calls as above, waits for the
/// one before, and wakes the next. All in one stream a thread, so that a pass reads thousands of records of each.
fn contended(threads: u64, intervals: u64) -> Vec<Vec<Record>> {
    let object = Record::marker(Marker::Object, 7, ObjectKind::Mutex as u64);
    let one = |thread: u64| {
        let mut records = Vec::new();
        for turn in 0..intervals {
            // The threads' intervals lie 1000 ticks apart; each lasts until the next but three has begun.
            let begin = 1000 + 1000 * (turn * threads + thread);
            records.push(Record::marker(Marker::Begin, begin, 1 << 1 | 1));
            records.push(Record::from_label_chunk(b"UPDATE"));
            let calls = |from: u64, count: u64| {
                (0..count).map(move |at| Record::new(from + 20 * at, 15, at as u32 % 8))
            };
            records.extend(calls(begin + 10, 10));
            records.push(Record::marker(Marker::Wait, begin + 300, 1500));
            records.push(object);
            records.push(Record::new(begin + 290, 1520, 8));
            records.extend(calls(begin + 1900, 20));
            // Just before the next thread continues.
            records.push(Record::marker(Marker::Wake, begin + 2790, 1));
            records.push(object);
            records.push(Record::marker(Marker::Open, begin + 2700, 9));
            records.push(Record::new(begin + 2700, 100, 9));
            records.push(Record::marker(Marker::End, begin + 2900, 1 << 1 | 1));
        }
        records
    };
    (0..threads).map(one).collect()
}

fn waits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("waits");
    let alone = vec![records(2000, 5, 4, 1)];
    for (name, streams) in [("no_waits", alone), ("contended_lock", contended(8, 250))] {
        let count: usize = streams.iter().map(Vec::len).sum();
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(name, |bencher| {
            let mut analysis = Analysis::new(ProbeCost {
                outer_256: 2000,
                inner_256: 3000,
            });
            analysis.follow_waits();
            analysis.begin_round(1, 50);
            // Keys of threads are never used again, so each repetition has new threads.
            let mut first = 0;
            bencher.iter(|| {
                for (at, stream) in streams.iter().enumerate() {
                    analysis.push(first + at as u64, black_box(stream));
                }
                analysis.pass_ended();
                analysis.pass_ended();
                for at in 0..streams.len() {
                    analysis.thread_ended(first + at as u64);
                }
                first += streams.len() as u64;
            });
        });
    }
    group.finish();
}

criterion_group!(benches, push, waits);
criterion_main!(benches);
