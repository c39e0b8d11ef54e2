//! Histories of random transactions over the lock manager are serializable.
//!
//! In the manner of Elle (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
//! VLDB 2020): every object is a list, a write appends the transaction's number, a read returns the list. The lists give
//! the order of versions, hence the write-write, write-read and read-write dependencies; a serializable history has no
//! cycle of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;

use evenkeel_locks::draws::Draws;
use evenkeel_locks::{
    Config, DeadlockPolicy, LockError, LockManager, Mode, Rules, ScheduleKind, TxnOptions, Victim,
};

const OBJECTS: u64 = 6;
const WORKERS: u64 = 4;
const TXNS_EACH: u64 = 150;

/// What a committed transaction saw: per object the list read, after its own append if it wrote.
struct Committed {
    number: u64,
    reads: Vec<(u64, Vec<u64>)>,
}

/// Runs one transaction to its commit, retrying with its age kept.
fn run(
    locks: &LockManager<u64>,
    lists: &[Mutex<Vec<u64>>],
    number: u64,
    draws: &mut Draws,
) -> Committed {
    let mut birth_ns = None;
    loop {
        let mut txn = locks.begin_with(TxnOptions {
            birth_ns,
            class: number as u32 % 3,
            ..TxnOptions::default()
        });
        birth_ns = Some(txn.birth_ns());
        let mut reads = Vec::new();
        let mut writes = BTreeSet::new();
        let outcome: Result<(), LockError> = (|| {
            for _ in 0..3 {
                let object = draws.below(OBJECTS);
                let write = draws.below(2) == 0;
                // Half of the writes read first and upgrade.
                if draws.below(2) == 0 || !write {
                    txn.lock(&object, Mode::S)?;
                    reads.push((
                        object,
                        lists[object as usize].lock().expect("no panic").clone(),
                    ));
                }
                if write {
                    txn.lock(&object, Mode::X)?;
                    writes.insert(object);
                }
            }
            Ok(())
        })();
        if outcome.is_ok() {
            // Deferred writes need no undo; the locks are held until after them.
            for &object in &writes {
                let mut list = lists[object as usize].lock().expect("no panic");
                list.push(number);
                reads.push((object, list.clone()));
            }
            return Committed { number, reads };
        }
    }
}

fn assert_serializable(committed: &[Committed], lists: &[Vec<u64>]) {
    // Version k of an object was written by the k-th element of its list; version 0 by nobody.
    let mut edges: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut depends = |from: u64, to: u64| {
        if from != to {
            edges.entry(from).or_default().insert(to);
        }
    };
    for list in lists {
        for pair in list.windows(2) {
            depends(pair[0], pair[1]); // write-write
        }
    }
    for txn in committed {
        for (object, seen) in &txn.reads {
            let list = &lists[*object as usize];
            assert_eq!(
                seen[..],
                list[..seen.len()],
                "a read saw a list that never was"
            );
            if let Some(&writer) = seen.last() {
                depends(writer, txn.number); // write-read
            }
            if let Some(&next) = list.get(seen.len()) {
                depends(txn.number, next); // read-write
            }
        }
    }
    // Kahn's algorithm: what cannot be ordered is on a cycle.
    let mut indegree: BTreeMap<u64, usize> = committed.iter().map(|txn| (txn.number, 0)).collect();
    for to in edges.values().flatten() {
        *indegree.get_mut(to).expect("a committed transaction") += 1;
    }
    let mut ready: Vec<u64> = indegree
        .iter()
        .filter(|entry| *entry.1 == 0)
        .map(|entry| *entry.0)
        .collect();
    let mut ordered = 0;
    while let Some(txn) = ready.pop() {
        ordered += 1;
        for to in edges.get(&txn).into_iter().flatten() {
            let left = indegree.get_mut(to).expect("a committed transaction");
            *left -= 1;
            if *left == 0 {
                ready.push(*to);
            }
        }
    }
    assert_eq!(ordered, committed.len(), "a cycle of dependencies");
}

fn history(rules: Rules) {
    let locks = LockManager::new(Config {
        rules,
        ..Config::new(rules.schedule)
    });
    let lists: Vec<Mutex<Vec<u64>>> = (0..OBJECTS).map(|_| Mutex::default()).collect();
    let work = |worker: u64| {
        let mut draws = Draws::new(worker);
        let numbers = worker * TXNS_EACH..(worker + 1) * TXNS_EACH;
        numbers
            .map(|number| run(&locks, &lists, number, &mut draws))
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
    let lists: Vec<Vec<u64>> = lists
        .into_iter()
        .map(|list| list.into_inner().expect("no panic"))
        .collect();
    assert_serializable(&committed, &lists);
    assert_eq!(locks.locked_objects(), 0);
}

#[test]
fn histories_under_every_schedule_are_serializable() {
    for schedule in ScheduleKind::ALL {
        history(Rules::new(schedule));
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
        history(Rules {
            deadlocks,
            ..Rules::new(ScheduleKind::Ldsf)
        });
    }
}

#[test]
fn the_check_finds_write_skew() {
    // Two transactions that each read both empty lists and append to one: a cycle of two read-write dependencies.
    let committed = [
        Committed {
            number: 1,
            reads: vec![(0, vec![]), (1, vec![]), (0, vec![1])],
        },
        Committed {
            number: 2,
            reads: vec![(0, vec![]), (1, vec![]), (1, vec![2])],
        },
    ];
    let outcome = std::panic::catch_unwind(|| assert_serializable(&committed, &[vec![1], vec![2]]));
    assert!(outcome.is_err());
}
