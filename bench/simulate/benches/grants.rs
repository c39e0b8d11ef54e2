//! Lock grants a second on one core. The targets are one million for FIFO and half of that for LDSF, at 300 clients.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_locks::ScheduleKind;
use evenkeel_simulate::{Config, run};

fn grants(criterion: &mut Criterion) {
    let config = Config {
        transactions: 20_000,
        warmup: 1_000,
        ..Config::micro()
    };
    let mut group = criterion.benchmark_group("grants, 300 clients");
    group.sample_size(10);
    for schedule in ScheduleKind::ALL {
        let grants = run(&config, schedule)
            .expect("a sound setting")
            .window
            .grants;
        group.throughput(Throughput::Elements(grants));
        group.bench_function(schedule.name(), |bencher| {
            bencher.iter(|| run(black_box(&config), schedule));
        });
    }
    group.finish();
}

criterion_group!(benches, grants);
criterion_main!(benches);
