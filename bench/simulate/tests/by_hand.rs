//! Schedules small enough to work out by hand.

use evenkeel_locks::Mode::{self, S, X};
use evenkeel_locks::{DeadlockPolicy, ScheduleKind, SetSizes, Starvation};
use evenkeel_simulate::workload::{Listed, Step, Workload};
use evenkeel_simulate::{Config, Outcome, run};

fn txn(at: u64, steps: &[(u32, Mode, u64)]) -> Listed {
    let step = |&(object, mode, work): &(u32, Mode, u64)| Step { object, mode, work };
    Listed {
        at,
        steps: steps.iter().map(step).collect(),
        class: 0,
    }
}

fn listed(txns: Vec<Listed>) -> Config {
    Config {
        workload: Workload::Listed(txns),
        sizes: SetSizes::Exact,
        starvation: Some(Starvation::None),
        ..Config::micro()
    }
}

fn simulated(config: &Config, schedule: ScheduleKind) -> Outcome {
    let outcome = run(config, schedule).expect("a sound setting");
    assert_eq!(outcome.unfinished, 0);
    outcome
}

/// An exclusive object, held from 0 to 10; then two wait in the order of arrival.
///
/// t0: 0 to 10, latency 10. t1 arrives at 2, runs 10 to 15: 13. t2 arrives at 4, runs 15 to 18: 14.
#[test]
fn first_come_first_served() {
    let config = listed(vec![
        txn(0, &[(0, X, 10)]),
        txn(2, &[(0, X, 5)]),
        txn(4, &[(0, X, 3)]),
    ]);
    let outcome = simulated(&config, ScheduleKind::Fifo);
    assert_eq!(
        (outcome.latency.mean, outcome.latency.max),
        (37.0 / 3.0, 14)
    );
    assert_eq!(
        (outcome.window.decisions, outcome.window.queue_mean),
        (2, 1.5)
    );
    assert_eq!(
        (
            outcome.window.in_flight_max,
            outcome.window.grants,
            outcome.window.waits
        ),
        (3, 3, 2)
    );
}

/// With readers instead, nobody waits.
#[test]
fn readers_share() {
    let config = listed(vec![
        txn(0, &[(0, S, 10)]),
        txn(2, &[(0, S, 5)]),
        txn(4, &[(0, S, 3)]),
    ]);
    let outcome = simulated(&config, ScheduleKind::Fifo);
    assert_eq!((outcome.latency.mean, outcome.window.waits), (6.0, 0));
}

/// A chain: two transactions wait for the holder of object 0. A loner came first, and three others wait for the
/// second on object 1 (sections 4.3 and 4.4: progress for the most transactions).
///
/// ```text
/// t0  at 0: X(0) for 10
/// t1  at 1: X(1) for 1, then X(0) for 4      requests 0 at 2
/// t2  at 1: X(2) for 0, then X(0) for 4      requests 0 at 1, so first in the queue of 0
/// t3, t4, t5 at 3: S(1) for 1                wait for t1
/// ```
/// FIFO: t2 10-14, t1 14-18, t3-t5 18-19. Latencies 10, 17, 13, 16, 16, 16: sum 88.
/// LDSF: t1 10-14, t2 14-18, t3-t5 14-15. Latencies 10, 13, 17, 12, 12, 12: sum 76.
#[test]
fn the_larger_dependency_set_first_helps_everybody_behind_it() {
    let config = listed(vec![
        txn(0, &[(0, X, 10)]),
        txn(1, &[(1, X, 1), (0, X, 4)]),
        txn(1, &[(2, X, 0), (0, X, 4)]),
        txn(3, &[(1, S, 1)]),
        txn(3, &[(1, S, 1)]),
        txn(3, &[(1, S, 1)]),
    ]);
    let sum = |schedule| simulated(&config, schedule).latency.mean * 6.0;
    assert_eq!(sum(ScheduleKind::Fifo), 88.0);
    for schedule in [
        ScheduleKind::Ldsf,
        ScheduleKind::Bldsf(evenkeel_locks::DelayFactor::Log),
        ScheduleKind::Mblf,
        ScheduleKind::Ddf,
    ] {
        assert_eq!(sum(schedule), 76.0, "{schedule:?}");
    }
}

/// VATS: the oldest first, though it came to the queue last. t1 (born at 1) works elsewhere until 6; t2 (born at 3)
/// queues at 3. Object 0 is free at 10: t1 10-12, t2 12-14; under FIFO the other way round.
#[test]
fn the_eldest_first() {
    let config = listed(vec![
        txn(0, &[(0, X, 10)]),
        txn(1, &[(1, X, 5), (0, X, 2)]),
        txn(3, &[(0, X, 2)]),
    ]);
    assert_eq!(simulated(&config, ScheduleKind::Vats).latency.max, 11);
    assert_eq!(simulated(&config, ScheduleKind::Fifo).latency.max, 13);
}

/// Figure 4.20's point: a long transaction with a larger dependency set against a short one. The holder leaves at 10.
/// t1 needs 100 and has two waiting readers; t2 needs 1 and has one. LDSF takes t1 first. hLDSF, which divides 3 by
/// 100 and 2 by 1, takes t2.
#[test]
fn the_faster_progress_first() {
    let config = Config {
        remaining: evenkeel_simulate::config::Remaining::Known,
        ..listed(vec![
            txn(0, &[(0, X, 10)]),
            txn(0, &[(1, X, 0), (0, X, 100)]),
            txn(0, &[(2, X, 0), (0, X, 1)]),
            txn(5, &[(1, S, 1)]),
            txn(5, &[(1, S, 1)]),
            txn(5, &[(2, S, 1)]),
        ])
    };
    // LDSF: t1 10-110, readers of 1 until 111 (106 each); t2 110-111, reader of 2 until 112 (107).
    assert_eq!(
        simulated(&config, ScheduleKind::Ldsf).latency.mean * 6.0,
        10.0 + 110.0 + 2.0 * 106.0 + 111.0 + 107.0
    );
    // hLDSF: t2 10-11, its reader until 12 (7); t1 11-111, readers until 112 (107 each).
    assert_eq!(
        simulated(&config, ScheduleKind::Hldsf).latency.mean * 6.0,
        10.0 + 11.0 + 7.0 + 111.0 + 2.0 * 107.0
    );
}

/// Two transactions lock two objects in opposite orders. At 5 both hold one, at 6 the second request closes the cycle.
/// The younger is the victim, backs off, and commits in the end.
#[test]
fn a_deadlock_is_broken_and_its_victim_retried() {
    let config = listed(vec![
        txn(0, &[(0, X, 5), (1, X, 5)]),
        txn(1, &[(1, X, 5), (0, X, 5)]),
    ]);
    let outcome = simulated(&config, ScheduleKind::Fifo);
    assert_eq!(
        (
            outcome.window.deadlocks,
            outcome.window.aborts,
            outcome.window.commits
        ),
        (1, 1, 2)
    );
    // The older waits from 5 to 6 for object 1.
    assert_eq!(outcome.latency.p50, 11);
}

/// With prevention instead: wait-die aborts the younger, wound-wait has the older abort it, no-wait lets nobody wait.
/// No policy leaves a cycle.
#[test]
fn prevention_leaves_no_cycle() {
    for (deadlocks, older_latency) in [
        // The older waits at 5 and gets object 1 when the younger dies at 6.
        (DeadlockPolicy::WaitDie, 11),
        // The older wounds the younger at 5.
        (DeadlockPolicy::WoundWait, 10),
    ] {
        let config = Config {
            deadlocks,
            ..listed(vec![
                txn(0, &[(0, X, 5), (1, X, 5)]),
                txn(1, &[(1, X, 5), (0, X, 5)]),
            ])
        };
        let outcome = simulated(&config, ScheduleKind::Fifo);
        assert_eq!(
            (outcome.window.deadlocks, outcome.window.commits),
            (0, 2),
            "{deadlocks:?}"
        );
        assert_eq!(outcome.latency.p50, older_latency, "{deadlocks:?}");
    }
    let config = Config {
        deadlocks: DeadlockPolicy::NoWait,
        ..listed(vec![
            txn(0, &[(0, X, 5), (1, X, 5)]),
            txn(1, &[(1, X, 5), (0, X, 5)]),
        ])
    };
    let outcome = simulated(&config, ScheduleKind::Fifo);
    assert_eq!((outcome.window.waits, outcome.window.commits), (0, 2));
    assert!(outcome.window.aborts >= 1);
}

/// Two processors, three transactions of 10 without a common object: the third waits for a processor.
#[test]
fn processors_can_be_short() {
    let config = Config {
        cpus: Some(2),
        ..listed((0..3).map(|object| txn(0, &[(object, X, 10)])).collect())
    };
    let outcome = simulated(&config, ScheduleKind::Fifo);
    assert_eq!(
        (outcome.latency.mean, outcome.latency.max),
        (40.0 / 3.0, 20)
    );
    assert_eq!(
        simulated(
            &Config {
                cpus: None,
                ..config
            },
            ScheduleKind::Fifo
        )
        .latency
        .max,
        10
    );
}

/// A reader of an object that upgrades waits for the other reader only, neither for itself nor for the queue.
///
/// t0 reads 0 to 4 then asks for X; t1 reads until 6; t2 asks for X at 1. t0 is granted at 6 before t2: until 8.
#[test]
fn an_upgrade_goes_before_newcomers() {
    let config = listed(vec![
        txn(0, &[(0, S, 4), (0, X, 2)]),
        txn(0, &[(0, S, 6)]),
        txn(1, &[(0, X, 1)]),
    ]);
    let outcome = simulated(&config, ScheduleKind::Fifo);
    // t0: 8, t1: 6, t2: 8 to 9, latency 8.
    assert_eq!((outcome.latency.mean, outcome.latency.max), (22.0 / 3.0, 8));
}
