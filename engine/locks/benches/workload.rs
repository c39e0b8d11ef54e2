//! The validation runner as a benchmark: what is measured is what is validated.
//!
//! Each plan is run once with every check before it is measured without them.

#[path = "../tests/validation/plan.rs"]
mod plan;
#[path = "../tests/validation/run.rs"]
mod run;
#[path = "../tests/validation/shadow.rs"]
mod shadow;
#[path = "../tests/validation/tally.rs"]
mod tally;
#[path = "../tests/validation/worker.rs"]
mod worker;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_locks::{Config, Rules, ScheduleKind};

use plan::Plan;
use run::run;

/// Transactions of each thread in the validating run.
const VALIDATED_TXNS_EACH: u64 = 2000;
/// More threads than processors, so that holders are interrupted, as in servers.
const THREADS: u64 = 4;

/// Four threads on eight objects in all modes, with upgrades, no timeouts: three requests a transaction at most, and up
/// to some microseconds of work after each.
fn plan(schedule: ScheduleKind) -> Plan {
    let rules = Rules::new(schedule);
    Plan {
        config: Config::new(schedule),
        threads: THREADS,
        txns_each: VALIDATED_TXNS_EACH,
        objects: 8,
        requests_max: 3,
        timeouts_percent: 0,
        tries_percent: 0,
        async_percent: 0,
        releases_percent: 0,
        yields_percent: 0,
        spins_end: 50,
        cancels: false,
        ..Plan::of(1, rules)
    }
}

/// Time for a transaction of every thread.
fn transactions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("validated workload");
    group.throughput(Throughput::Elements(THREADS));
    for schedule in ScheduleKind::ALL {
        let plan = plan(schedule);
        match run(plan.clone()) {
            Ok(validated) => println!("{}: {:?}", schedule.name(), validated.tally),
            Err(violation) => panic!("{}: {violation}", schedule.name()),
        }
        group.bench_function(schedule.name(), |bencher| {
            bencher.iter_custom(|iterations| {
                let measured = Plan {
                    txns_each: iterations,
                    checks: false,
                    ..plan.clone()
                };
                run(measured).expect("nothing left behind").elapsed
            });
        });
    }
    group.finish();
}

criterion_group!(benches, transactions);
criterion_main!(benches);
