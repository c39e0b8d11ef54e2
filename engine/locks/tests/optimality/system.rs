//! LDSF over a whole system (theorem 4.2): all decisions at all objects, by dynamic programming.

use std::collections::HashMap;

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::graph::{QueueIndex, TxnIndex};
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Mode, ScheduleKind, SetSizes, Starvation};

use crate::add;

/// A system of transactions that ask for nothing more: the holder and the waiters of each object. Exclusive locks
/// only.
#[derive(Clone, PartialEq, Eq, Hash)]
struct System {
    /// Holder by object.
    holder: Vec<Option<usize>>,
    /// The object each transaction waits for.
    waits: Vec<Option<usize>>,
    finished: Vec<bool>,
}

impl System {
    /// Transactions wait for an object whose holder has a smaller number: no cycle.
    fn random(rng: &mut Rng) -> System {
        let txns = 6;
        let mut system = System {
            holder: Vec::new(),
            waits: vec![None; txns],
            finished: vec![false; txns],
        };
        for txn in 0..txns {
            let below = (0..system.holder.len())
                .filter(|&object| system.holder[object] < Some(txn))
                .count() as u64;
            if below > 0 && rng.below(4) > 0 {
                system.waits[txn] = Some(rng.below(below) as usize);
            }
            for _ in 0..rng.below(3) {
                system.holder.push(Some(txn));
            }
        }
        system
    }

    fn running(&self) -> Vec<usize> {
        (0..self.waits.len())
            .filter(|&txn| !self.finished[txn] && self.waits[txn].is_none())
            .collect()
    }

    /// Sum of the expected latencies from here on, with memoryless execution times of mean one: until the next of `k`
    /// running transactions ends, `1 / k` passes for everybody unfinished. `choose` gives the systems the scheduler
    /// may turn a system into when `txn` ends.
    fn expected(
        &self,
        known: &mut HashMap<System, f64>,
        choose: &mut impl FnMut(&System, usize) -> Vec<System>,
    ) -> f64 {
        if let Some(&value) = known.get(self) {
            return value;
        }
        let running = self.running();
        let unfinished = self.finished.iter().filter(|finished| !**finished).count() as f64;
        if running.is_empty() {
            assert_eq!(unfinished, 0.0, "somebody always runs");
            return 0.0;
        }
        let mut sum = unfinished;
        for &txn in &running {
            let next = choose(self, txn);
            let values = next
                .iter()
                .map(|system| system.expected(known, choose))
                .collect::<Vec<_>>();
            sum += values.into_iter().fold(f64::INFINITY, f64::min);
        }
        let value = sum / running.len() as f64;
        known.insert(self.clone(), value);
        value
    }

    /// Every way to hand out the objects `txn` held, each to one of its waiters.
    fn all_choices(&self, txn: usize) -> Vec<System> {
        let mut next = self.clone();
        next.finished[txn] = true;
        let mut systems = vec![next];
        for object in (0..self.holder.len()).filter(|&object| self.holder[object] == Some(txn)) {
            let waiters: Vec<usize> = (0..self.waits.len())
                .filter(|&w| self.waits[w] == Some(object))
                .collect();
            systems = systems
                .into_iter()
                .flat_map(|system| system.hand_over(object, &waiters))
                .collect();
        }
        systems
    }

    fn hand_over(&self, object: usize, waiters: &[usize]) -> Vec<System> {
        let to = |waiter: Option<usize>| {
            let mut next = self.clone();
            next.holder[object] = waiter;
            if let Some(waiter) = waiter {
                next.waits[waiter] = None;
            }
            next
        };
        if waiters.is_empty() {
            vec![to(None)]
        } else {
            waiters.iter().map(|&waiter| to(Some(waiter))).collect()
        }
    }

    /// The choice of the lock manager's code when `txn` ends.
    fn scheduled(&self, txn: usize, schedule: ScheduleKind) -> System {
        let rules = Rules {
            starvation: Starvation::None,
            sizes: SetSizes::Exact,
            ..Rules::new(schedule)
        };
        let mut contention = Contention::new(rules);
        let mut effects = Effects::default();
        let txns: Vec<TxnIndex> = (0..self.waits.len())
            .map(|at| add(&mut contention, at as u64))
            .collect();
        let objects: Vec<QueueIndex> = self.holder.iter().map(|_| contention.add_queue()).collect();
        for (object, holder) in self.holder.iter().enumerate() {
            if let Some(holder) = holder {
                contention
                    .request(txns[*holder], objects[object], Mode::X, 0, 0, &mut effects)
                    .expect("free");
            }
        }
        for (waiter, object) in self.waits.iter().enumerate() {
            if let Some(object) = object {
                contention
                    .request(txns[waiter], objects[*object], Mode::X, 0, 0, &mut effects)
                    .expect("waits");
            }
        }
        contention.release_all(txns[txn], 0, &mut effects);
        let mut next = self.clone();
        next.finished[txn] = true;
        for holder in next
            .holder
            .iter_mut()
            .filter(|holder| **holder == Some(txn))
        {
            *holder = None;
        }
        for granted in &effects.granted {
            let waiter = txns
                .iter()
                .position(|txn| *txn == granted.txn)
                .expect("a transaction");
            let object = objects
                .iter()
                .position(|object| *object == granted.queue)
                .expect("an object");
            (next.holder[object], next.waits[waiter]) = (Some(waiter), None);
        }
        next
    }
}

#[test]
fn ldsf_is_optimal_over_all_schedules_of_a_whole_system() {
    // Theorem 4.2, by dynamic programming over every decision at every object. FIFO shows that the instances differ.
    let mut rng = Rng::new(2018);
    let mut fifo_is_worse = 0;
    for _ in 0..300 {
        let system = System::random(&mut rng);
        let best = system.expected(&mut HashMap::new(), &mut |system, txn| {
            system.all_choices(txn)
        });
        let under = |schedule| {
            system.expected(&mut HashMap::new(), &mut |system, txn| {
                vec![system.scheduled(txn, schedule)]
            })
        };
        let (ldsf, fifo) = (under(ScheduleKind::Ldsf), under(ScheduleKind::Fifo));
        assert!(ldsf <= best * (1.0 + 1e-12), "{ldsf} > {best}");
        fifo_is_worse += u32::from(fifo > best * (1.0 + 1e-9));
    }
    assert!(fifo_is_worse > 10, "{fifo_is_worse}");
}
