//! Defects other lock managers shipped, as tests.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Mode, Rules, ScheduleKind, TxnOptions, Victim,
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
    // MariaDB MDEV-16664: VATS granted a second exclusive lock after re-ordering the queue. Here an older transaction
    // arrives after a younger one. Each increments the counter without atomics, which would lose updates.
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
    let (mut older, mut younger) = (locks.begin(), locks.begin());
    let older_id = older.id();
    older.lock(&1, Mode::S).expect("free");
    younger.lock(&1, Mode::S).expect("shared");
    thread::scope(|scope| {
        let upgrade = scope.spawn(|| older.lock(&1, Mode::X));
        until_waiting(&locks, 1);
        assert_eq!(
            younger.lock(&1, Mode::X),
            Err(LockError::UpgradeConflict { with: older_id })
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
            // The writer is the youngest, and so the victim.
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

/// Counts how often it is woken.
#[derive(Default)]
struct Alarm(AtomicU32);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn exactly_the_granted_waiters_wake() {
    // RocksDB wakes all waiters of a stripe. Here a release wakes only those that it granted: one of the writers, or
    // both readers.
    let locks = manager(ScheduleKind::Fifo);
    let mut holder = locks.begin();
    holder.lock(&1, Mode::X).expect("free");
    let modes = [Mode::X, Mode::S, Mode::S, Mode::X];
    let alarms = [(); 4].map(|()| Arc::new(Alarm::default()));
    let mut txns = [(); 4].map(|()| locks.begin());
    let mut waits: Vec<_> = txns
        .iter_mut()
        .zip(modes)
        .map(|(txn, mode)| Box::pin(txn.lock_async(&1, mode)))
        .collect();
    for (wait, alarm) in waits.iter_mut().zip(&alarms) {
        let waker = Waker::from(Arc::clone(alarm));
        let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    let woken = || {
        alarms
            .each_ref()
            .map(|alarm| alarm.0.load(Ordering::Relaxed))
    };
    assert_eq!(woken(), [0, 0, 0, 0]);
    holder.release_all();
    assert_eq!(woken(), [1, 0, 0, 0]);
    drop(waits);
    // Dropping the other waits took them back; nobody was woken for that.
    assert_eq!(woken(), [1, 0, 0, 0]);
    assert_eq!(txns[0].mode_of(&1), Some(Mode::X));

    // Two readers at once, and not the writer after them.
    let [first, second, third, fourth] = &mut txns;
    let mut waits = [
        Box::pin(second.lock_async(&1, Mode::S)),
        Box::pin(third.lock_async(&1, Mode::S)),
        Box::pin(fourth.lock_async(&1, Mode::X)),
    ];
    for (wait, alarm) in waits.iter_mut().zip(&alarms[1..]) {
        let waker = Waker::from(Arc::clone(alarm));
        let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    first.release_all();
    assert_eq!(woken(), [1, 1, 1, 0]);
}
