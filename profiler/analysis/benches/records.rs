//! Records a second through [`Analysis::push`], on one core.
//!
//! Intervals as a PostgreSQL statement makes them: some twenty nodes, a few of them called often.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_analysis::{Analysis, ProbeCost};
use evenkeel_wire::{Marker, Record};

/// Records of intervals that call `outer` functions in turn, each of which calls `inner` others `repeats` times. Durations
/// come from a linear congruential generator.
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

criterion_group!(benches, push);
criterion_main!(benches);
