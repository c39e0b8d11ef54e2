//! Transactions that get in each other's way, until all have committed.

use std::sync::Arc;

use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Mode, Rules, ScheduleKind, SetSizes,
    TxnOptions, Victim,
};
use shuttle::thread;

use crate::shadow::Shadow;

const ITERATIONS: usize = 1000;

/// Runs `script` as one transaction until it commits.
fn run(locks: &LockManager<u64>, shadow: &Shadow, script: &[(u64, Mode)]) {
    let mut birth_ns = None;
    loop {
        let mut txn = locks.begin_with(TxnOptions {
            birth_ns,
            ..TxnOptions::default()
        });
        birth_ns = Some(txn.birth_ns());
        let outcome: Result<(), LockError> = script.iter().try_for_each(|(object, mode)| {
            txn.lock(object, *mode)?;
            let held = txn.mode_of(object).expect("just granted");
            shadow.enter(*object, txn.id(), held).expect("compatible");
            thread::yield_now();
            Ok(())
        });
        for (object, _) in script {
            shadow.leave(*object, txn.id());
        }
        txn.release_all();
        match outcome {
            Ok(()) => return,
            Err(error) => assert!(error.must_abort() || error == LockError::WouldBlock),
        }
        thread::yield_now();
    }
}

fn check(rules: Rules, scripts: &'static [&'static [(u64, Mode)]]) {
    shuttle::check_random(
        move || {
            let locks = LockManager::new(Config {
                shards: 2,
                rules,
                ..Config::new(rules.schedule)
            });
            let shadow = Arc::new(Shadow::new(3));
            let threads: Vec<_> = scripts
                .iter()
                .map(|script| {
                    let (locks, shadow) = (locks.clone(), Arc::clone(&shadow));
                    thread::spawn(move || run(&locks, &shadow, script))
                })
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
            assert_eq!(locks.locked_objects(), 0);
            assert!(locks.wait_for_graph().is_empty());
        },
        ITERATIONS,
    );
}

use Mode::{IS, IX, S, SIX, X};

/// Opposite orders, an upgrade, and a reader whose second holder closes the cycle.
const TANGLE: &[&[(u64, Mode)]] = &[
    &[(0, S), (1, X)],
    &[(1, S), (0, X)],
    &[(0, S), (2, S), (0, X)],
    &[(2, X), (0, S)],
];
/// Intention modes, where a waiter can add edges between others.
const INTENTIONS: &[&[(u64, Mode)]] = &[
    &[(0, S), (1, X)],
    &[(1, S), (0, IX)],
    &[(0, IX), (1, X), (0, S)],
    &[(0, IS), (1, SIX), (0, X)],
];

#[test]
fn every_schedule() {
    for schedule in ScheduleKind::ALL {
        check(Rules::new(schedule), TANGLE);
    }
}

#[test]
fn every_deadlock_policy() {
    for deadlocks in [
        DeadlockPolicy::Detect(Victim::FewestLocks),
        DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        DeadlockPolicy::WaitDie,
        DeadlockPolicy::WoundWait,
        DeadlockPolicy::NoWait,
    ] {
        let rules = Rules {
            deadlocks,
            ..Rules::new(ScheduleKind::Ldsf)
        };
        check(rules, TANGLE);
        check(rules, INTENTIONS);
    }
}

#[test]
fn intention_modes_under_every_schedule() {
    for schedule in ScheduleKind::ALL {
        let rules = Rules {
            sizes: SetSizes::Exact,
            ..Rules::new(schedule)
        };
        check(rules, INTENTIONS);
    }
}
