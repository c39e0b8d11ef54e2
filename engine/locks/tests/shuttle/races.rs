//! Two or three ends of one wait at the same time: a grant, a timeout, a cancellation, a deadlock, a dropped future,
//! a change of rules. Whichever comes first, the wait ends once, and leaves nothing behind.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use evenkeel_locks::Mode::{IX, S, X};
use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Rules, ScheduleKind, Transaction, Victim,
};
use shuttle::thread;

const ITERATIONS: usize = 2000;
/// Any timeout but zero: a modelled deadline passes whenever it likes.
const SOON: Duration = Duration::from_nanos(1);

fn manager(schedule: ScheduleKind) -> LockManager<u64> {
    LockManager::new(Config {
        shards: 2,
        ..Config::new(schedule)
    })
}

/// The transaction holds the lock exactly if the outcome is a grant.
fn assert_outcome_holds(txn: &Transaction<u64>, outcome: &Result<(), LockError>) {
    assert_eq!(txn.mode_of(&0).is_some(), outcome.is_ok(), "{outcome:?}");
}

fn assert_nothing_left(locks: &LockManager<u64>) {
    assert_eq!(locks.locked_objects(), 0);
    assert!(locks.wait_for_graph().is_empty());
    let mut txn = locks.begin();
    assert_eq!(txn.try_lock(&0, X), Ok(()), "a lock was leaked");
}

#[test]
fn a_timeout_with_the_grant() {
    for schedule in [ScheduleKind::Fifo, ScheduleKind::Vats, ScheduleKind::Ldsf] {
        shuttle::check_random(
            move || {
                let locks = manager(schedule);
                let mut holder = locks.begin();
                holder.lock(&0, X).expect("free");
                let hasty = locks.clone();
                let hasty = thread::spawn(move || {
                    let mut txn = hasty.begin();
                    let outcome = txn.lock_timeout(&0, X, SOON);
                    assert!(matches!(outcome, Ok(()) | Err(LockError::Timeout)));
                    assert_outcome_holds(&txn, &outcome);
                });
                // Whatever becomes of the hasty one, the patient one is granted.
                let patient = locks.clone();
                let patient = thread::spawn(move || patient.begin().lock(&0, X));
                holder.release_all();
                hasty.join().expect("no panic");
                assert_eq!(patient.join().expect("no panic"), Ok(()));
                assert_nothing_left(&locks);
            },
            ITERATIONS,
        );
    }
}

#[test]
fn a_timeout_lets_those_it_held_back_go() {
    // Only the timed-out writer is in the reader's way, and the first reader stays until the second has read: a
    // waiter that leaves the queue must grant later ones.
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Fifo);
            let mut first = locks.begin();
            first.lock(&0, S).expect("free");
            let writer = locks.clone();
            let writer = thread::spawn(move || writer.begin().lock_timeout(&0, X, SOON));
            let second = locks.clone();
            let second = thread::spawn(move || second.begin().lock(&0, S));
            assert_eq!(second.join().expect("no panic"), Ok(()));
            let timed_out = writer.join().expect("no panic");
            assert_eq!(timed_out, Err(LockError::Timeout));
            drop(first);
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn a_cancellation_with_the_grant() {
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Fifo);
            let (mut holder, mut txn) = (locks.begin(), locks.begin());
            holder.lock(&0, X).expect("free");
            let canceller = txn.canceller();
            let cancelled = thread::spawn(move || {
                let outcome = txn.lock(&0, X);
                assert!(matches!(outcome, Ok(()) | Err(LockError::Cancelled)));
                assert_outcome_holds(&txn, &outcome);
            });
            let behind = locks.clone();
            let behind = thread::spawn(move || behind.begin().lock(&0, X));
            let releases = thread::spawn(move || holder.release_all());
            canceller.cancel();
            releases.join().expect("no panic");
            cancelled.join().expect("no panic");
            assert_eq!(behind.join().expect("no panic"), Ok(()));
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn a_cancellation_with_a_timeout_and_the_grant() {
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Ldsf);
            let (mut holder, mut txn) = (locks.begin(), locks.begin());
            holder.lock(&0, X).expect("free");
            let canceller = txn.canceller();
            let waits = thread::spawn(move || {
                let outcome = txn.lock_timeout(&0, X, SOON);
                let ends = [LockError::Timeout, LockError::Cancelled].map(Err);
                assert!(outcome.is_ok() || ends.contains(&outcome));
                assert_outcome_holds(&txn, &outcome);
            });
            let cancels = thread::spawn(move || canceller.cancel());
            holder.release_all();
            waits.join().expect("no panic");
            cancels.join().expect("no panic");
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

/// Two transactions in opposite order; the older one's second wait may time out, and it may be cancelled.
fn victim_race(deadlocks: DeadlockPolicy, cancel: bool) {
    shuttle::check_random(
        move || {
            let config = Config::new(ScheduleKind::Ldsf);
            let rules = Rules {
                deadlocks,
                ..config.rules
            };
            let locks = LockManager::new(Config { rules, ..config });
            let (mut older, mut younger) = (locks.begin(), locks.begin());
            older.lock(&0, X).expect("free");
            younger.lock(&1, X).expect("free");
            let canceller = older.canceller();
            let older = thread::spawn(move || {
                let outcome = older.lock_timeout(&1, X, SOON);
                assert_eq!(older.mode_of(&1).is_some(), outcome.is_ok());
                outcome
            });
            let younger = thread::spawn(move || {
                let outcome = younger.lock(&0, X);
                assert_eq!(younger.mode_of(&0).is_some(), outcome.is_ok());
                outcome
            });
            if cancel {
                canceller.cancel();
            }
            let (older, younger) = (
                older.join().expect("no panic"),
                younger.join().expect("no panic"),
            );
            match younger {
                // The victim is the younger one, whose locks go to the older, unless that gave up before.
                Ok(()) | Err(LockError::Deadlock { .. }) => {}
                Err(LockError::Died { .. } | LockError::Wounded { .. }) => {}
                other => panic!("{other:?}"),
            }
            match older {
                Ok(()) | Err(LockError::Timeout) => {}
                Err(LockError::Cancelled) => assert!(cancel),
                other => panic!("{other:?}"),
            }
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn a_victim_with_a_timeout() {
    for victim in [
        Victim::Youngest,
        Victim::FewestLocks,
        Victim::SmallestDependencySet,
    ] {
        victim_race(DeadlockPolicy::Detect(victim), false);
    }
    victim_race(DeadlockPolicy::WaitDie, false);
    victim_race(DeadlockPolicy::WoundWait, false);
}

#[test]
fn a_victim_with_a_timeout_and_a_cancellation() {
    victim_race(DeadlockPolicy::Detect(Victim::Youngest), true);
    victim_race(DeadlockPolicy::WoundWait, true);
}

#[test]
fn a_dropped_future_with_the_grant() {
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Fifo);
            let (mut holder, mut txn) = (locks.begin(), locks.begin());
            holder.lock(&0, X).expect("free");
            let drops = thread::spawn(move || {
                let polled = {
                    let mut future = pin!(txn.lock_async(&0, X));
                    let polled = future
                        .as_mut()
                        .poll(&mut Context::from_waker(Waker::noop()));
                    thread::yield_now();
                    polled
                };
                if let Poll::Ready(outcome) = polled {
                    assert_outcome_holds(&txn, &outcome);
                }
                // Granted at the same time or not, it is held exactly if the transaction says so.
                let held = txn.mode_of(&0).is_some();
                assert_eq!(txn.release(&0), held);
                assert_eq!(txn.locks_held(), 0);
            });
            let behind = locks.clone();
            let behind = thread::spawn(move || behind.begin().lock(&0, X));
            holder.release_all();
            drops.join().expect("no panic");
            assert_eq!(behind.join().expect("no panic"), Ok(()));
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn an_asynchronous_waiter_is_woken() {
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Fifo);
            let mut holder = locks.begin();
            holder.lock(&0, X).expect("free");
            let waits: Vec<_> = (0..2)
                .map(|_| {
                    let mut txn = locks.begin();
                    thread::spawn(move || shuttle::future::block_on(txn.lock_async(&0, X)))
                })
                .collect();
            holder.release_all();
            for wait in waits {
                assert_eq!(wait.join().expect("no panic"), Ok(()));
            }
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn early_release_with_an_upgrade_and_a_newcomer() {
    shuttle::check_random(
        || {
            let locks = manager(ScheduleKind::Ldsf);
            let (mut reader, mut upgrader) = (locks.begin(), locks.begin());
            reader.lock(&0, S).expect("free");
            upgrader.lock(&0, S).expect("shared");
            let upgrades = thread::spawn(move || upgrader.lock(&0, X));
            let newcomer = locks.clone();
            let newcomer = thread::spawn(move || newcomer.begin().lock(&0, IX));
            assert!(reader.release(&0));
            assert_eq!(upgrades.join().expect("no panic"), Ok(()));
            assert_eq!(newcomer.join().expect("no panic"), Ok(()));
            assert_nothing_left(&locks);
        },
        ITERATIONS,
    );
}

#[test]
fn a_change_of_rules_with_waits() {
    let policies = [
        DeadlockPolicy::Detect(Victim::Youngest),
        DeadlockPolicy::WaitDie,
        DeadlockPolicy::WoundWait,
        DeadlockPolicy::NoWait,
    ];
    for deadlocks in policies {
        shuttle::check_random(
            move || {
                let locks = manager(ScheduleKind::Fifo);
                let threads: Vec<_> = [[0, 1], [1, 0], [0, 1]]
                    .into_iter()
                    .map(|objects| {
                        let mut txn = locks.begin();
                        thread::spawn(move || objects.iter().try_for_each(|at| txn.lock(at, X)))
                    })
                    .collect();
                let switch = locks.clone();
                let switch = thread::spawn(move || {
                    let rules = Rules {
                        deadlocks,
                        ..Rules::new(ScheduleKind::Hldsf)
                    };
                    switch.set_rules(rules).expect("sound rules");
                    switch.set_schedule(ScheduleKind::Ldsf);
                });
                for thread in threads {
                    let _ = thread.join().expect("no panic");
                }
                switch.join().expect("no panic");
                assert_eq!(locks.config().rules.schedule, ScheduleKind::Ldsf);
                assert_nothing_left(&locks);
            },
            ITERATIONS,
        );
    }
}
