//! Defects other lock managers shipped, as tests; and the manager's promises on real threads.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Mode, Rules, ScheduleKind, Starvation,
    TxnOptions, Victim,
};

fn manager(schedule: ScheduleKind) -> LockManager<u64> {
    LockManager::new(Config::new(schedule))
}

/// Blocks until `count` transactions wait.
fn until_waiting(locks: &LockManager<u64>, count: usize) {
    while locks.wait_for_graph().len() < count {
        thread::yield_now();
    }
}

#[test]
fn reordering_never_grants_conflicting_exclusive_locks() {
    // MariaDB MDEV-16664: VATS granted a second exclusive lock after re-ordering the queue. Here an elder transaction
    // arrives behind a younger one, and the counter each increments without atomics would lose updates.
    struct Shared(std::cell::UnsafeCell<u64>);
    // SAFETY: accessed only under the exclusive lock on object 1, which is what the test is about.
    unsafe impl Sync for Shared {}
    for schedule in ScheduleKind::ALL {
        let locks = manager(schedule);
        let shared = Shared(std::cell::UnsafeCell::new(0));
        thread::scope(|scope| {
            for worker in 0..4u64 {
                let (locks, shared) = (&locks, &shared);
                scope.spawn(move || {
                    for round in 0..200 {
                        let birth_ns = Some((worker * 31 + round * 17) % 64);
                        let mut txn = locks.begin_with(TxnOptions {
                            birth_ns,
                            ..TxnOptions::default()
                        });
                        if txn.lock(&1, Mode::X).is_ok() {
                            // SAFETY: see above.
                            unsafe { *shared.0.get() += 1 };
                        }
                    }
                });
            }
        });
        assert_eq!(shared.0.into_inner(), 800, "{schedule:?}");
        assert_eq!(locks.locked_objects(), 0);
    }
}

#[test]
fn an_upgrade_is_not_its_own_deadlock() {
    // RocksDB #13575.
    let locks = manager(ScheduleKind::Fifo);
    let mut txn = locks.begin();
    txn.lock(&1, Mode::S).expect("free");
    txn.lock(&1, Mode::X)
        .expect("its own shared lock is no obstacle");
    assert_eq!(txn.mode_of(&1), Some(Mode::X));

    // Nor when it has to wait for another reader.
    let (mut upgrader, mut reader) = (locks.begin(), locks.begin());
    upgrader.lock(&2, Mode::S).expect("free");
    reader.lock(&2, Mode::S).expect("shared");
    thread::scope(|scope| {
        let upgrade = scope.spawn(|| upgrader.lock(&2, Mode::X));
        until_waiting(&locks, 1);
        let wait = &locks.wait_for_graph()[0];
        assert!(wait.upgrade);
        assert_eq!(wait.waits_for, [reader.id()]);
        reader.release_all();
        assert_eq!(upgrade.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn two_upgrades_of_one_object_are_an_upgrade_conflict() {
    let locks = manager(ScheduleKind::Fifo);
    let (mut elder, mut younger) = (locks.begin(), locks.begin());
    let elder_id = elder.id();
    elder.lock(&1, Mode::S).expect("free");
    younger.lock(&1, Mode::S).expect("shared");
    thread::scope(|scope| {
        let upgrade = scope.spawn(|| elder.lock(&1, Mode::X));
        until_waiting(&locks, 1);
        assert_eq!(
            younger.lock(&1, Mode::X),
            Err(LockError::UpgradeConflict { with: elder_id })
        );
        younger.release_all();
        assert_eq!(upgrade.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn upgraders_go_before_newcomers() {
    let locks = manager(ScheduleKind::Fifo);
    let (mut first, mut second) = (locks.begin(), locks.begin());
    first.lock(&1, Mode::S).expect("free");
    second.lock(&1, Mode::S).expect("shared");
    let (sender, order) = mpsc::channel();
    thread::scope(|scope| {
        let newcomer_sends = sender.clone();
        let newcomer = locks.begin();
        scope.spawn(move || {
            let mut newcomer = newcomer;
            newcomer.lock(&1, Mode::X).expect("granted in the end");
            newcomer_sends.send("newcomer").expect("listened to");
        });
        until_waiting(&locks, 1);
        scope.spawn(move || {
            first.lock(&1, Mode::X).expect("granted");
            sender.send("upgrader").expect("listened to");
        });
        until_waiting(&locks, 2);
        second.release_all();
    });
    assert_eq!(
        order.into_iter().collect::<Vec<_>>(),
        ["upgrader", "newcomer"]
    );
}

#[test]
fn an_expired_timeout_returns_even_at_the_lock_limit() {
    // RocksDB #13585: an endless loop when the lock limit was reached and the timeout had passed.
    let locks = LockManager::new(Config {
        locks_max: 1,
        ..Config::new(ScheduleKind::Ldsf)
    });
    let (mut holder, mut txn) = (locks.begin(), locks.begin());
    holder.lock(&1, Mode::X).expect("free");
    assert_eq!(
        txn.lock_timeout(&1, Mode::X, Duration::ZERO),
        Err(LockError::Timeout)
    );
    assert_eq!(
        txn.lock_timeout(&1, Mode::X, Duration::from_nanos(1)),
        Err(LockError::Timeout)
    );
    txn.lock(&2, Mode::X).expect("free");
    let full = Err(LockError::TooManyLocks { locks_max: 1 });
    assert_eq!(txn.lock_timeout(&1, Mode::X, Duration::ZERO), full);
    assert_eq!(txn.lock_timeout(&3, Mode::X, Duration::from_nanos(1)), full);
    // A timeout takes the request out of the queue: nobody waits, and the lock is free after its holder.
    holder.release_all();
    txn.release_all();
    assert_eq!(txn.try_lock(&1, Mode::X), Ok(()));
    assert!(locks.wait_for_graph().is_empty());
}

#[test]
fn a_cycle_through_the_second_of_two_readers_is_found() {
    // MySQL and MariaDB kept one blocking edge a waiter: with two readers, only one of them was followed.
    for blocked_reader in [0, 1] {
        let locks = manager(ScheduleKind::Fifo);
        let mut readers = [locks.begin(), locks.begin()];
        for reader in &mut readers {
            reader.lock(&1, Mode::S).expect("shared");
        }
        let mut writer = locks.begin();
        writer.lock(&2, Mode::X).expect("free");
        let ids = [readers[0].id(), readers[1].id()];
        thread::scope(|scope| {
            let [first, second] = &mut readers;
            let (waits, other) = if blocked_reader == 0 {
                (first, second)
            } else {
                (second, first)
            };
            let blocked = scope.spawn(move || {
                let outcome = waits.lock(&2, Mode::X);
                waits.release_all();
                outcome
            });
            until_waiting(&locks, 1);
            // The writer is the youngest, hence the victim.
            let error = writer.lock(&1, Mode::X).expect_err("a deadlock");
            let LockError::Deadlock { cycle } = &error else {
                panic!("{error:?}")
            };
            assert!(
                cycle.contains(&writer.id())
                    && cycle.contains(&ids[blocked_reader])
                    && cycle.len() == 2
            );
            assert!(error.must_abort());
            writer.release_all();
            assert_eq!(blocked.join().expect("no panic"), Ok(()));
            other.release_all();
        });
    }
}

#[test]
fn every_cycle_one_wait_closes_is_broken() {
    // The writer's wait closes a cycle with each reader; with the readers as victims both must go.
    let locks = LockManager::new(Config {
        rules: Rules {
            deadlocks: DeadlockPolicy::Detect(Victim::FewestLocks),
            ..Rules::new(ScheduleKind::Ldsf)
        },
        ..Config::new(ScheduleKind::Ldsf)
    });
    let mut writer = locks.begin();
    for object in 2..6 {
        writer.lock(&object, Mode::X).expect("free");
    }
    let mut readers = [locks.begin(), locks.begin()];
    for reader in &mut readers {
        reader.lock(&1, Mode::S).expect("shared");
    }
    thread::scope(|scope| {
        let waits: Vec<_> = readers
            .iter_mut()
            .zip(2..)
            .map(|(reader, object)| {
                scope.spawn(move || {
                    let outcome = reader.lock(&object, Mode::X);
                    reader.release_all();
                    outcome
                })
            })
            .collect();
        until_waiting(&locks, 2);
        assert_eq!(writer.lock(&1, Mode::X), Ok(()));
        for wait in waits {
            assert!(matches!(
                wait.join().expect("no panic"),
                Err(LockError::Deadlock { .. })
            ));
        }
    });
    assert_eq!(locks.metrics().contention.deadlocks, 2);
}

#[test]
fn exactly_the_granted_waiters_wake() {
    // RocksDB wakes everybody on a stripe. Here each exclusive release ends one wait, so with n waiters there are n
    // grants and no request is made twice.
    let locks = manager(ScheduleKind::Fifo);
    let mut holder = locks.begin();
    holder.lock(&1, Mode::X).expect("free");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| locks.begin().lock(&1, Mode::X).expect("granted"));
        }
        until_waiting(&locks, 8);
        holder.release_all();
    });
    let counters = locks.metrics().contention;
    assert_eq!(
        (counters.requests, counters.waits, counters.scheduled_grants),
        (8, 8, 8)
    );
    assert_eq!(locks.metrics().waits_by_object, [(1, 8)]);
}

#[test]
fn a_waiter_can_be_cancelled_and_stays_cancelled() {
    let locks = manager(ScheduleKind::Ldsf);
    let (mut holder, mut txn) = (locks.begin(), locks.begin());
    holder.lock(&1, Mode::X).expect("free");
    let canceller = txn.canceller();
    thread::scope(|scope| {
        let wait = scope.spawn(|| {
            let outcome = txn.lock(&1, Mode::X);
            (outcome, txn.lock(&2, Mode::X))
        });
        until_waiting(&locks, 1);
        canceller.cancel();
        assert_eq!(
            wait.join().expect("no panic"),
            (Err(LockError::Cancelled), Err(LockError::Cancelled))
        );
    });
}

#[test]
fn early_release_lets_the_next_one_in() {
    let locks = manager(ScheduleKind::Vats);
    let mut txn = locks.begin();
    txn.lock(&1, Mode::S).expect("free");
    txn.lock(&2, Mode::S).expect("free");
    assert!(locks.begin().try_lock(&1, Mode::X).is_err());
    assert!(txn.release(&1));
    assert!(!txn.release(&1));
    assert_eq!(locks.begin().try_lock(&1, Mode::X), Ok(()));
    assert_eq!(txn.locks_held(), 1);
}

#[test]
fn the_prevention_policies_refuse_by_age() {
    let with = |deadlocks| {
        let config = Config::new(ScheduleKind::Ldsf);
        LockManager::<u64>::new(Config {
            rules: Rules {
                deadlocks,
                ..config.rules
            },
            ..config
        })
    };
    let locks = with(DeadlockPolicy::NoWait);
    let (mut elder, mut younger) = (locks.begin(), locks.begin());
    elder.lock(&1, Mode::X).expect("free");
    assert_eq!(younger.lock(&1, Mode::X), Err(LockError::WouldBlock));

    let locks = with(DeadlockPolicy::WaitDie);
    let (mut elder, mut younger) = (locks.begin(), locks.begin());
    elder.lock(&1, Mode::X).expect("free");
    assert_eq!(
        younger.lock(&1, Mode::X),
        Err(LockError::Died { elder: elder.id() })
    );

    let locks = with(DeadlockPolicy::WoundWait);
    let (mut elder, mut younger) = (locks.begin(), locks.begin());
    let elder_id = elder.id();
    younger.lock(&1, Mode::X).expect("free");
    thread::scope(|scope| {
        let wait = scope.spawn(|| elder.lock(&1, Mode::X));
        until_waiting(&locks, 1);
        assert_eq!(
            younger.lock(&2, Mode::S),
            Err(LockError::Wounded { elder: elder_id })
        );
        younger.release_all();
        assert_eq!(wait.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn blocking_and_asynchronous_waiters_share_a_queue() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let locks = manager(ScheduleKind::Fifo);
    let (mut holder, mut asynchronous, mut dropped) = (locks.begin(), locks.begin(), locks.begin());
    holder.lock(&1, Mode::X).expect("free");
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut future = pin!(dropped.lock_async(&1, Mode::X));
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_eq!(locks.wait_for_graph().len(), 1);
    }
    assert!(
        locks.wait_for_graph().is_empty(),
        "a dropped future waits no longer"
    );
    thread::scope(|scope| {
        let mut future = Box::pin(asynchronous.lock_async(&1, Mode::X));
        assert!(future.as_mut().poll(&mut context).is_pending());
        let blocking = scope.spawn(|| locks.begin().lock(&1, Mode::X));
        until_waiting(&locks, 2);
        holder.release_all();
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        drop(future);
        until_waiting(&locks, 1);
        asynchronous.release_all();
        assert_eq!(blocking.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn memory_is_kept_only_for_locked_objects() {
    let locks = LockManager::new(Config {
        rules: Rules {
            starvation: Starvation::BoundedBypass { overtakes_max: 3 },
            ..Rules::new(ScheduleKind::Mlf)
        },
        ..Config::new(ScheduleKind::Mlf)
    });
    let mut txn = locks.begin();
    for object in 0..1000u64 {
        txn.lock(&object, Mode::X).expect("free");
        assert_eq!(
            locks
                .begin()
                .lock_timeout(&object, Mode::S, Duration::from_nanos(1)),
            Err(LockError::Timeout)
        );
    }
    assert_eq!(locks.locked_objects(), 1000);
    txn.release_all();
    assert_eq!(locks.locked_objects(), 0);
}
