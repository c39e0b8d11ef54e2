//! Histories of random transactions over the lock manager are serializable: shared and exclusive locks with upgrades,
//! and intention locks over tables and rows.

mod history;
mod store;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use evenkeel_locks::rng::Rng;
use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Rules, ScheduleKind, TxnOptions, Victim,
};

use history::{Committed, check};
use store::{ROWS, Store, StoreTxn, TABLES};

const WORKERS: u64 = 4;
const TXNS_EACH: u64 = 300;

/// Three random steps. Reading a row and then writing it upgrades S to X (and the table's IS to IX). Scanning a table
/// and then writing one of its rows upgrades the table's S to SIX.
fn steps(txn: &mut StoreTxn<'_>, rng: &mut Rng) -> Result<(), LockError> {
    for _ in 0..3 {
        let table = rng.below(TABLES as u64) as usize;
        let row = table * ROWS + rng.below(ROWS as u64) as usize;
        match rng.below(10) {
            0..=2 => txn.read(row)?,
            3..=4 => txn.write(row)?,
            5..=6 => {
                txn.read(row)?;
                txn.write(row)?;
            }
            7 => txn.scan(table)?,
            8 => {
                txn.scan(table)?;
                txn.write(row)?;
            }
            _ => txn.rewrite(table)?,
        }
    }
    Ok(())
}

/// Runs one transaction to its commit, retrying with its age kept.
fn commit(store: &Store, numbers: &AtomicU64, rng: &mut Rng) -> Committed {
    let mut birth_ns = None;
    for attempt in 0u32.. {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let locks = store.locks.begin_with(TxnOptions {
            birth_ns,
            class: number as u32 % 3,
            ..TxnOptions::default()
        });
        birth_ns = Some(locks.birth_ns());
        let mut txn = store.begin(number, locks);
        match steps(&mut txn, rng) {
            Ok(()) => {
                let seen = std::mem::take(&mut txn.seen);
                return Committed { number, seen };
            }
            Err(_) => txn.undo(),
        }
        drop(txn);
        // Longer after each attempt; yielding takes long on a busy machine, so only when spinning does not help.
        for _ in 0..rng.below(2 << attempt.min(8)) {
            std::hint::spin_loop();
        }
        if attempt > 8 {
            thread::yield_now();
        }
    }
    unreachable!("attempts do not run out")
}

fn assert_serializable(rules: Rules) {
    let config = Config::new(rules.schedule);
    let store = Store::new(LockManager::new(Config { rules, ..config }));
    let numbers = AtomicU64::new(1);
    let work = |worker: u64| {
        let mut rng = Rng::new(worker);
        (0..TXNS_EACH)
            .map(|_| commit(&store, &numbers, &mut rng))
            .collect::<Vec<_>>()
    };
    let committed: Vec<Committed> = thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panic"))
            .collect()
    });
    assert_eq!(store.locks.locked_objects(), 0);
    assert_eq!(check(&committed, &store.into_rows()), Ok(()), "{rules:?}");
}

#[test]
fn histories_under_every_schedule_are_serializable() {
    for schedule in ScheduleKind::ALL {
        assert_serializable(Rules::new(schedule));
    }
}

#[test]
fn histories_under_every_deadlock_policy_are_serializable() {
    for deadlocks in [
        DeadlockPolicy::Detect(Victim::FewestLocks),
        DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        DeadlockPolicy::WaitDie,
        DeadlockPolicy::WoundWait,
        DeadlockPolicy::NoWait,
    ] {
        for schedule in [ScheduleKind::Fifo, ScheduleKind::Ldsf] {
            assert_serializable(Rules {
                deadlocks,
                ..Rules::new(schedule)
            });
        }
    }
}
