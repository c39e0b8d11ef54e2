//! Model checks of the lock manager under randomised thread schedules: no two incompatible grants, no lost wake-up,
//! every cycle resolved. Run with `cargo test --features shuttle --test shuttle`.
//!
//! A lost wake-up or an unresolved cycle leaves every thread blocked, which shuttle reports as a deadlock.

#![cfg(feature = "shuttle")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Mode, Rules, ScheduleKind, SetSizes,
    TxnOptions, Victim,
};
use shuttle::thread;

const ITERATIONS: usize = 1000;

/// What the holders of one object are doing: -1 for a writer, otherwise the number of readers.
#[derive(Default)]
struct Holders(AtomicI64);

impl Holders {
    fn enter(&self, mode: Mode) {
        if mode == Mode::X {
            let before = self.0.swap(-1, Ordering::SeqCst);
            assert_eq!(before, 0, "exclusive beside others");
        } else {
            let before = self.0.fetch_add(1, Ordering::SeqCst);
            assert!(before >= 0, "shared beside exclusive");
        }
        thread::yield_now();
    }

    fn leave(&self, mode: Mode) {
        if mode == Mode::X {
            assert_eq!(self.0.swap(0, Ordering::SeqCst), -1);
        } else {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Runs `script` as one transaction until it commits.
fn run(locks: &LockManager<usize>, holders: &[Holders], script: &[(usize, Mode)]) {
    let mut birth_ns = None;
    loop {
        let mut txn = locks.begin_with(TxnOptions {
            birth_ns,
            ..TxnOptions::default()
        });
        birth_ns = Some(txn.birth_ns());
        let mut entered: Vec<(usize, Mode)> = Vec::new();
        let mut error = None;
        for &(object, mode) in script {
            match txn.lock(&object, mode) {
                Ok(()) => {
                    if let Some(held) = entered.iter_mut().find(|held| held.0 == object) {
                        holders[object].leave(held.1);
                        held.1 = held.1.supremum(mode);
                    } else {
                        entered.push((object, mode));
                    }
                    let held = entered
                        .iter()
                        .find(|held| held.0 == object)
                        .expect("just entered");
                    holders[object].enter(held.1);
                }
                Err(refusal) => {
                    error = Some(refusal);
                    break;
                }
            }
        }
        for (object, mode) in entered {
            holders[object].leave(mode);
        }
        txn.release_all();
        match error {
            None => return,
            Some(error) => assert!(error.must_abort() || error == LockError::WouldBlock),
        }
        thread::yield_now();
    }
}

fn check(rules: Rules, scripts: &'static [&'static [(usize, Mode)]]) {
    shuttle::check_random(
        move || {
            let locks = LockManager::new(Config {
                shards: 2,
                rules,
                ..Config::new(rules.schedule)
            });
            let holders: Arc<Vec<Holders>> = Arc::new((0..3).map(|_| Holders::default()).collect());
            let threads: Vec<_> = scripts
                .iter()
                .map(|script| {
                    let (locks, holders) = (locks.clone(), Arc::clone(&holders));
                    thread::spawn(move || run(&locks, &holders, script))
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

use Mode::{IX, S, X};

/// Opposite orders, an upgrade, and a reader whose second holder closes the cycle.
const TANGLE: &[&[(usize, Mode)]] = &[
    &[(0, S), (1, X)],
    &[(1, S), (0, X)],
    &[(0, S), (2, S), (0, X)],
    &[(2, X), (0, S)],
];
/// Intention modes, where a waiter can add edges between others.
const INTENTIONS: &[&[(usize, Mode)]] = &[
    &[(0, S), (1, X)],
    &[(1, S), (0, IX)],
    &[(0, IX), (1, X)],
    &[(0, X)],
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
        check(
            Rules {
                deadlocks,
                ..Rules::new(ScheduleKind::Ldsf)
            },
            TANGLE,
        );
    }
}

#[test]
fn intention_modes() {
    // Readers and IX holders exclude each other only through X here; conflicts of S and IX are checked by the manager.
    let rules = Rules {
        sizes: SetSizes::Exact,
        ..Rules::new(ScheduleKind::Ldsf)
    };
    shuttle::check_random(
        move || {
            let locks = LockManager::new(Config {
                shards: 2,
                rules,
                ..Config::new(rules.schedule)
            });
            let threads: Vec<_> = INTENTIONS
                .iter()
                .map(|script| {
                    let locks = locks.clone();
                    thread::spawn(move || {
                        let mut txn = locks.begin();
                        let _ = script
                            .iter()
                            .try_for_each(|(object, mode)| txn.lock(object, *mode));
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
            assert_eq!(locks.locked_objects(), 0);
        },
        ITERATIONS,
    );
}

#[test]
fn a_cancellation_races_with_the_grant() {
    shuttle::check_random(
        || {
            let locks: LockManager<usize> = LockManager::new(Config::new(ScheduleKind::Fifo));
            let (mut holder, mut waiter) = (locks.begin(), locks.begin());
            holder.lock(&0, X).expect("free");
            let canceller = waiter.canceller();
            let waits = thread::spawn(move || {
                let outcome = waiter.lock(&0, X);
                assert!(matches!(outcome, Ok(()) | Err(LockError::Cancelled)));
                assert_eq!(waiter.locks_held(), usize::from(outcome.is_ok()));
            });
            let releases = thread::spawn(move || holder.release_all());
            canceller.cancel();
            releases.join().expect("no panic");
            waits.join().expect("no panic");
            assert_eq!(locks.locked_objects(), 0);
        },
        500,
    );
}
