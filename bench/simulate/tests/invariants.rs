//! Invariants of every setting: compatibility, conservation, determinism.

use std::num::NonZeroU32;

use evenkeel_locks::contention::Contention;
use evenkeel_locks::{AgePower, DeadlockPolicy, Mode, ScheduleKind, Starvation, Victim};
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::export::{Report, json};
use evenkeel_simulate::workload::{Listed, LockOrder, Step, Workload};
use evenkeel_simulate::{Arrivals, Config, Effort, Simulation, cases, run, sweep};
use proptest::prelude::*;

/// No two incompatible locks are held, by an independent table: two shared or one exclusive.
fn compatible(contention: &Contention) -> bool {
    let graph = contention.graph();
    graph.queue_indices().all(|index| {
        let granted = &graph.queue(index).granted;
        granted.len() <= 1 || granted.iter().all(|grant| grant.mode == Mode::S)
    })
}

fn settings() -> impl Strategy<Value = (Config, ScheduleKind)> {
    let policies = prop_oneof![
        Just(DeadlockPolicy::Detect(Victim::Youngest)),
        Just(DeadlockPolicy::Detect(Victim::FewestLocks)),
        Just(DeadlockPolicy::Detect(Victim::SmallestDependencySet)),
        Just(DeadlockPolicy::WaitDie),
        Just(DeadlockPolicy::WoundWait),
        Just(DeadlockPolicy::NoWait),
    ];
    let starvation = prop_oneof![
        Just(None),
        Just(Some(Starvation::None)),
        Just(Some(Starvation::BoundedBypass { overtakes_max: 3 })),
        Just(Some(Starvation::Ageing { size_per_ns: 1e-6 })),
    ];
    let order = prop_oneof![
        Just(LockOrder::Random),
        Just(LockOrder::Hashed),
        Just(LockOrder::HotLast)
    ];
    let arrivals = prop_oneof![
        (1u32..30).prop_map(|clients| Arrivals::Closed { clients }),
        (100.0..3000.0).prop_map(|rate| Arrivals::Poisson { rate }),
        (100.0..3000.0).prop_map(|rate| Arrivals::Bursty {
            rate,
            factor: 3.0,
            on: 1e7
        }),
    ];
    let numbers = (
        any::<u64>(),
        2u32..40,
        1u32..6,
        0.0..1.0f64,
        proptest::option::of(1u32..4),
    );
    let schedule = prop::sample::select(ScheduleKind::ALL.to_vec());
    (policies, starvation, order, arrivals, numbers, schedule).prop_map(
        |(
            deadlocks,
            starvation,
            order,
            arrivals,
            (seed, objects, locks, exclusive, cpus),
            schedule,
        )| {
            let mut config = Config {
                seed,
                arrivals,
                cpus,
                deadlocks,
                starvation,
                transactions: 150,
                warmup: 10,
                in_flight_limit: 40,
                measure_size_error: true,
                ..Config::micro()
            };
            let drawn = config.drawn_mut().expect("drawn");
            (drawn.objects, drawn.order) = (objects, order);
            (drawn.classes[0].locks, drawn.classes[0].exclusive) = (locks, exclusive);
            (config, schedule)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incompatible_locks_are_never_held_together_and_everybody_is_accounted_for((config, schedule) in settings()) {
        let mut simulation = Simulation::new(&config, schedule).expect("a sound setting");
        let mut last = 0;
        while simulation.step() {
            prop_assert!(compatible(simulation.contention()));
            prop_assert!(simulation.now() >= last, "time goes forward");
            last = simulation.now();
            if let Some(cpus) = config.cpus {
                prop_assert!(simulation.running() <= cpus);
            }
        }
        let (commits, rejected) = (simulation.commits(), simulation.rejected());
        let outcome = simulation.finish();
        match config.arrivals {
            Arrivals::Closed { clients } => {
                prop_assert_eq!(commits, config.warmup + config.transactions);
                // The client whose commit ended the run has not begun anew.
                prop_assert_eq!(outcome.unfinished, clients - 1);
                prop_assert_eq!(outcome.latency.count, config.transactions);
            }
            _ => {
                prop_assert_eq!(outcome.unfinished, 0);
                prop_assert_eq!(commits + rejected, config.transactions + 2 * config.warmup);
            }
        }
        // With shared locks the approximation is never below the exact size.
        prop_assert!(outcome.size_error.is_some_and(|error| error.count == 0 || error.max >= 1.0));
        if !matches!(config.deadlocks, DeadlockPolicy::Detect(_)) {
            prop_assert_eq!(outcome.window.deadlocks, 0);
        }
    }

    /// Little's law: from empty to empty, the time integral of the number in the system is the sum of the latencies.
    #[test]
    fn littles_law_holds_exactly(
        schedule in prop::sample::select(ScheduleKind::ALL.to_vec()),
        txns in proptest::collection::vec((0u64..50, proptest::collection::vec((0u32..6, any::<bool>(), 0u64..20), 1..5)), 1..30),
    ) {
        let mut listed: Vec<Listed> = txns
            .into_iter()
            .map(|(at, steps)| Listed {
                at,
                class: 0,
                steps: steps
                    .into_iter()
                    .map(|(object, exclusive, work)| Step { object, mode: if exclusive { Mode::X } else { Mode::S }, work })
                    .collect(),
            })
            .collect();
        listed.sort_by_key(|txn| txn.at);
        let count = listed.len() as u64;
        let config = Config { workload: Workload::Listed(listed), backoff: 5.0, ..Config::micro() };
        let outcome = run(&config, schedule).expect("a sound setting");
        prop_assert_eq!((outcome.unfinished, outcome.latency.count), (0, count));
        let integral = outcome.window.in_flight_mean * outcome.window.ticks as f64;
        let latencies = outcome.latency.mean * count as f64;
        prop_assert!((integral - latencies).abs() <= 1e-9 * latencies.max(1.0), "{integral} {latencies}");
    }
}

fn lines(schedules: &[ScheduleKind], threads: usize) -> String {
    let config = Config {
        transactions: 3_000,
        warmup: 300,
        ..Config::micro()
    };
    let axis: Axis = "clients=50,300".parse().expect("an axis");
    let effort = Effort {
        seeds: NonZeroU32::MIN,
        threads,
    };
    let cases = cases(&config, schedules, Some(&axis), effort, &|_| {});
    let cases = cases.expect("sound settings");
    let outcomes = sweep(&cases, threads, &|_| {}).expect("sound settings");
    json(&Report::new(&cases, &outcomes, 1, None))
}

#[test]
fn one_seed_gives_one_result_however_many_threads_run() {
    let all = &ScheduleKind::ALL;
    assert_eq!(lines(all, 1), lines(all, 3));
}

/// The same bytes on every machine. The numbers change only with the schedules, the presets or the fields of the
/// JSON: check the cause before replacing them. The papers' schedules have their own.
#[test]
fn the_results_are_the_golden_ones() {
    let others: Vec<ScheduleKind> = ScheduleKind::ALL
        .into_iter()
        .filter(|&kind| kind != ScheduleKind::Rs)
        .collect();
    let (papers, own) = others.split_at(9);
    let rs = &[ScheduleKind::Rs][..];
    let golden = [(papers, GOLDEN_PAPERS), (own, GOLDEN_OWN), (rs, GOLDEN_RS)];
    for (schedules, golden) in golden {
        let lines = lines(schedules, 2);
        assert_eq!(crc32fast::hash(lines.as_bytes()), golden, "{lines}");
    }
}

const GOLDEN_PAPERS: u32 = 4_220_438_147;
const GOLDEN_OWN: u32 = 2_443_269_102;
const GOLDEN_RS: u32 = 1_814_021_823;

/// Access in one order for all closes no cycle, whatever the schedule.
#[test]
fn ordered_access_has_no_deadlocks() {
    for order in [LockOrder::Hashed, LockOrder::HotLast] {
        let mut config = Config {
            transactions: 3_000,
            warmup: 300,
            ..Config::micro()
        };
        let drawn = config.drawn_mut().expect("drawn");
        (drawn.order, drawn.objects) = (order, 200);
        for schedule in ScheduleKind::ALL {
            let outcome = run(&config, schedule).expect("a sound setting");
            assert_eq!(outcome.window.deadlocks, 0, "{order:?} {schedule:?}");
        }
    }
}

/// At the papers' setting LDSF and bLDSF beat FIFO (section 4.6).
#[test]
fn ldsf_beats_fifo_on_the_microbenchmark() {
    let config = Config {
        transactions: 10_000,
        warmup: 1_000,
        ..Config::micro()
    };
    let mean = |schedule| {
        run(&config, schedule)
            .expect("a sound setting")
            .latency
            .mean
    };
    let fifo = mean(ScheduleKind::Fifo);
    assert!(mean(ScheduleKind::Ldsf) < fifo);
    assert!(mean(ScheduleKind::Bldsf(evenkeel_locks::DelayFactor::Log)) < fifo);
}

/// Near FIFO's saturation, on the same arrivals, weighing ages over dependency sets leaves less variance and a
/// shorter tail than LDSF, and no larger mean (bench/simulate/RESULTS.md has the table).
#[test]
fn ages_of_dependency_sets_beat_ldsf_in_variance_and_tail() {
    let mut config = Config {
        arrivals: Arrivals::Poisson { rate: 3_330.0 },
        transactions: 20_000,
        warmup: 2_000,
        ..Config::micro()
    };
    config.drawn_mut().expect("drawn").order = LockOrder::Hashed;
    let latency = |schedule| run(&config, schedule).expect("a sound setting").latency;
    let ldsf = latency(ScheduleKind::Ldsf);
    for schedule in [ScheduleKind::Edsf, ScheduleKind::Ldaf(AgePower::Square)] {
        let own = latency(schedule);
        assert!(own.sd < 0.9 * ldsf.sd, "{schedule:?}: {own:?} {ldsf:?}");
        assert!(own.p999 < ldsf.p999, "{schedule:?}: {own:?} {ldsf:?}");
        assert!(own.mean <= ldsf.mean, "{schedule:?}: {own:?} {ldsf:?}");
    }
}
