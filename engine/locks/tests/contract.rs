//! The lock manager's contract with its embedder, on real threads.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use evenkeel_locks::{
    Canceller, Config, ConfigError, DeadlockPolicy, DelayFactor, LockError, LockFuture,
    LockManager, Mode, Rules, ScheduleKind, Starvation, Transaction, TxnOptions,
};

fn manager(schedule: ScheduleKind) -> LockManager<u64> {
    LockManager::new(Config::new(schedule))
}

fn manager_with(deadlocks: DeadlockPolicy) -> LockManager<u64> {
    let config = Config::new(ScheduleKind::Ldsf);
    LockManager::new(Config {
        rules: Rules {
            deadlocks,
            ..config.rules
        },
        ..config
    })
}

/// Blocks until `count` transactions wait.
fn until_waiting(locks: &LockManager<u64>, count: usize) {
    while locks.wait_for_graph().len() < count {
        thread::yield_now();
    }
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
    let locks = manager_with(DeadlockPolicy::NoWait);
    let (mut older, mut younger) = (locks.begin(), locks.begin());
    older.lock(&1, Mode::X).expect("free");
    assert_eq!(younger.lock(&1, Mode::X), Err(LockError::WouldBlock));

    let locks = manager_with(DeadlockPolicy::WaitDie);
    let (mut older, mut younger) = (locks.begin(), locks.begin());
    older.lock(&1, Mode::X).expect("free");
    assert_eq!(
        younger.lock(&1, Mode::X),
        Err(LockError::Died { older: older.id() })
    );

    let locks = manager_with(DeadlockPolicy::WoundWait);
    let (mut older, mut younger) = (locks.begin(), locks.begin());
    let older_id = older.id();
    younger.lock(&1, Mode::X).expect("free");
    thread::scope(|scope| {
        let wait = scope.spawn(|| older.lock(&1, Mode::X));
        until_waiting(&locks, 1);
        assert_eq!(
            younger.lock(&2, Mode::S),
            Err(LockError::Wounded { older: older_id })
        );
        younger.release_all();
        assert_eq!(wait.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn blocking_and_asynchronous_waiters_share_a_queue() {
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

/// Under such a rule bLDSF would grant nobody although somebody can be granted.
#[test]
fn an_ageing_rule_that_is_negative_or_no_number_is_refused() {
    let rules = |size_per_ns| Rules {
        starvation: Starvation::Ageing { size_per_ns },
        ..Rules::new(ScheduleKind::Bldsf(DelayFactor::Log))
    };
    for size_per_ns in [-1.0, f64::NAN, f64::INFINITY] {
        let locks = manager(ScheduleKind::Fifo);
        let config = Config {
            rules: rules(size_per_ns),
            ..locks.config()
        };
        assert!(matches!(config.check(), Err(ConfigError::Ageing { .. })));
        let before = locks.config().rules;
        assert!(locks.set_rules(rules(size_per_ns)).is_err());
        assert_eq!(locks.config().rules, before);
    }
    let locks = manager(ScheduleKind::Fifo);
    locks.set_rules(rules(1e-4)).expect("a sound rule");
    let mut holder = locks.begin();
    holder.lock(&1, Mode::X).expect("free");
    thread::scope(|scope| {
        let waits = [(); 2].map(|()| scope.spawn(|| locks.begin().lock(&1, Mode::S)));
        until_waiting(&locks, 2);
        holder.release_all();
        assert!(
            waits
                .into_iter()
                .all(|wait| wait.join().expect("no panic").is_ok())
        );
    });
}

#[test]
fn a_wound_received_by_its_own_request_is_not_forgotten() {
    // The older reader waits for the IX holder alone, until the younger IS holder asks for X: then for both.
    let locks = manager_with(DeadlockPolicy::WoundWait);
    let (mut holder, mut older, mut younger) = (locks.begin(), locks.begin(), locks.begin());
    let wounded = Err(LockError::Wounded { older: older.id() });
    holder.lock(&1, Mode::IX).expect("free");
    younger.lock(&1, Mode::IS).expect("compatible");
    thread::scope(|scope| {
        let wait = scope.spawn(|| older.lock(&1, Mode::S));
        until_waiting(&locks, 1);
        assert_eq!(younger.lock(&1, Mode::X), wounded);
        assert_eq!(younger.lock(&2, Mode::S), wounded);
        younger.release_all();
        holder.release_all();
        assert_eq!(wait.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn a_forgotten_future_does_not_wait_for_ever() {
    let locks = manager(ScheduleKind::Fifo);
    let (mut holder, mut txn) = (locks.begin(), locks.begin());
    holder.lock(&1, Mode::X).expect("free");
    let mut context = Context::from_waker(Waker::noop());
    let mut forget = |txn: &mut Transaction<u64>, object: u64| {
        let mut future = Box::pin(txn.lock_async(&object, Mode::X));
        assert!(future.as_mut().poll(&mut context).is_pending());
        std::mem::forget(future);
    };
    // The next request takes the wait back.
    forget(&mut txn, 1);
    txn.lock(&2, Mode::X).expect("free");
    assert!(locks.wait_for_graph().is_empty());
    assert_eq!(txn.locks_held(), 1);
    // The end releases too; a lock granted in between is released.
    forget(&mut txn, 1);
    holder.release_all();
    assert_eq!(locks.locked_objects(), 2);
    drop(txn);
    assert_eq!(locks.locked_objects(), 0);
}

#[test]
fn the_schedule_can_be_changed_while_transactions_wait() {
    let locks = manager(ScheduleKind::Fifo);
    let mut holder = locks.begin();
    holder.lock(&1, Mode::X).expect("free");
    let born = |birth_ns| {
        locks.begin_with(TxnOptions {
            birth_ns: Some(birth_ns),
            ..TxnOptions::default()
        })
    };
    let (mut younger, mut older) = (born(2), born(1));
    let mut context = Context::from_waker(Waker::noop());
    let mut first = pin!(younger.lock_async(&1, Mode::X));
    let mut second = pin!(older.lock_async(&1, Mode::X));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    locks.set_schedule(ScheduleKind::Vats);
    assert_eq!(locks.config().rules, Rules::new(ScheduleKind::Vats));
    holder.release_all();
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    let counted = locks.metrics().contention.by_schedule;
    let counted: Vec<_> = counted
        .iter()
        .map(|of| (of.schedule, of.decisions))
        .collect();
    assert_eq!(counted, [(ScheduleKind::Fifo, 0), (ScheduleKind::Vats, 1)]);
}

#[test]
fn a_wait_that_a_new_deadlock_policy_forbids_ends_with_its_error() {
    let locks = manager(ScheduleKind::Fifo);
    let (mut older, mut younger) = (locks.begin(), locks.begin());
    older.lock(&1, Mode::X).expect("free");
    thread::scope(|scope| {
        let wait = scope.spawn(|| younger.lock(&1, Mode::X));
        until_waiting(&locks, 1);
        let rules = Rules {
            deadlocks: DeadlockPolicy::WaitDie,
            ..Rules::new(ScheduleKind::Fifo)
        };
        locks.set_rules(rules).expect("sound rules");
        let died = LockError::Died { older: older.id() };
        assert!(died.is_victim() && died.must_abort());
        assert_eq!(wait.join().expect("no panic"), Err(died));
    });
}

#[test]
fn the_metrics_count_waits_by_object_and_holder_class() {
    for metrics in [true, false] {
        let locks = LockManager::new(Config {
            metrics,
            ..Config::new(ScheduleKind::Fifo)
        });
        let mut holder = locks.begin_with(TxnOptions {
            class: 5,
            ..TxnOptions::default()
        });
        holder.lock(&7, Mode::X).expect("free");
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut waiter = locks.begin();
            let mut wait = pin!(waiter.lock_async(&7, Mode::S));
            assert!(wait.as_mut().poll(&mut context).is_pending());
        }
        let counted = locks.metrics();
        let (objects, classes) = match metrics {
            true => (vec![(7, 3)], vec![(5, 3)]),
            false => (vec![], vec![]),
        };
        assert_eq!(counted.waits_by_object, objects);
        assert_eq!(counted.waits_by_holder_class, classes);
        // Each was the only one to wait, and was dropped before it was granted.
        assert_eq!(
            (
                counted.contention.waits,
                counted.contention.queue_lengths[0]
            ),
            (3, 3)
        );
        assert_eq!(
            (
                counted.uncontended_grants,
                counted.contention.scheduled_grants
            ),
            (1, 0)
        );
    }
}

#[test]
fn handles_go_from_thread_to_thread() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<LockManager<String>>();
    shared::<Canceller<String>>();
    sent::<Transaction<String>>();
    sent::<LockFuture<'_, String>>();
}
