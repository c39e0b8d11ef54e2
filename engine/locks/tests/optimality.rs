//! Small instances solved by brute force: the order the schedule chooses is the best of all orders.

use std::collections::HashMap;

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::draws::Draws;
use evenkeel_locks::graph::{QueueIndex, TxnIndex, TxnMeta};
use evenkeel_locks::{Mode, ScheduleKind, SetSizes, Starvation};

/// All orders of `items` (Heap's algorithm).
fn permutations(items: &mut Vec<usize>, k: usize, visit: &mut impl FnMut(&[usize])) {
    if k <= 1 {
        return visit(items);
    }
    for at in 0..k {
        permutations(items, k - 1, visit);
        items.swap(if k.is_multiple_of(2) { at } else { 0 }, k - 1);
    }
}

/// One hot object that `roots` wait for, each with a tree of transactions waiting for it, exclusive locks only.
struct Forest {
    contention: Contention,
    hot: QueueIndex,
    holder: TxnIndex,
    roots: Vec<TxnIndex>,
    /// Sizes of the trees, roots included.
    sizes: Vec<u64>,
    effects: Effects,
}

fn add(contention: &mut Contention, birth_ns: u64) -> TxnIndex {
    contention.add_txn(TxnMeta {
        id: birth_ns,
        birth_ns,
        class: 0,
        expected_remaining_ns: None,
    })
}

fn forest(schedule: ScheduleKind, sizes_of: SetSizes, draws: &mut Draws) -> Forest {
    let rules = Rules {
        starvation: Starvation::Unprevented,
        sizes: sizes_of,
        ..Rules::new(schedule)
    };
    let mut contention = Contention::new(rules);
    let mut effects = Effects::default();
    let hot = contention.add_queue();
    let holder = add(&mut contention, 0);
    contention
        .request(holder, hot, Mode::X, 0, 0, &mut effects)
        .expect("free");
    let (mut roots, mut sizes) = (Vec::new(), Vec::new());
    for root in 0..2 + draws.below(4) {
        let mut tree = vec![add(&mut contention, 1 + root)];
        for _ in 0..draws.below(6) {
            // Each new transaction waits for an object of its own that a random member of the tree holds.
            let parent = tree[draws.below(tree.len() as u64) as usize];
            if contention.graph().txn(parent).waiting.is_some() && parent != tree[0] {
                continue;
            }
            let object = contention.add_queue();
            contention
                .request(parent, object, Mode::X, 0, 0, &mut effects)
                .expect("free");
            let child = add(&mut contention, 100);
            let grandchildren = draws.below(3);
            let below = contention.add_queue();
            contention
                .request(child, below, Mode::X, 0, 0, &mut effects)
                .expect("free");
            for _ in 0..grandchildren {
                let grandchild = add(&mut contention, 200);
                contention
                    .request(grandchild, below, Mode::X, 0, 0, &mut effects)
                    .expect("waits");
                tree.push(grandchild);
            }
            contention
                .request(child, object, Mode::X, 0, 0, &mut effects)
                .expect("waits");
            tree.push(child);
        }
        contention
            .request(tree[0], hot, Mode::X, 0, 0, &mut effects)
            .expect("waits");
        roots.push(tree[0]);
        sizes.push(tree.len() as u64);
    }
    Forest {
        contention,
        hot,
        holder,
        roots,
        sizes,
        effects,
    }
}

impl Forest {
    /// The places in `roots` in the order in which the schedule grants the hot object.
    fn order(&mut self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut running = self.holder;
        while order.len() < self.roots.len() {
            self.effects.clear();
            self.contention.release_all(running, 0, &mut self.effects);
            let granted: Vec<_> = self
                .effects
                .granted
                .iter()
                .filter(|granted| granted.queue == self.hot)
                .collect();
            let [granted] = granted[..] else {
                panic!("one exclusive grant a release: {granted:?}")
            };
            running = granted.txn;
            order.push(
                self.roots
                    .iter()
                    .position(|root| *root == running)
                    .expect("a root"),
            );
        }
        order
    }
}

/// Total time spent waiting for the roots, in expected execution times: while one root runs, its own tree and all trees
/// behind it wait. Execution times are independent of the order and have one mean (theorem 4.2).
fn total_wait(sizes: &[u64], order: &[usize]) -> u64 {
    order
        .iter()
        .enumerate()
        .map(|(at, &root)| (at as u64 + 1) * sizes[root])
        .sum()
}

#[test]
fn ldsf_has_the_least_expected_latency_with_exclusive_locks_only() {
    // Theorem 4.2.
    let mut draws = Draws::new(42);
    for _ in 0..200 {
        for sizes in [SetSizes::Exact, SetSizes::Approximate] {
            let mut forest = forest(ScheduleKind::Ldsf, sizes, &mut draws);
            let sizes = forest.sizes.clone();
            for (root, size) in forest.roots.iter().zip(&sizes) {
                assert_eq!(forest.contention.graph().dependency_set_size(*root), *size);
            }
            let chosen = total_wait(&sizes, &forest.order());
            let mut best = u64::MAX;
            let mut all: Vec<usize> = (0..sizes.len()).collect();
            let count = all.len();
            permutations(&mut all, count, &mut |order| {
                best = best.min(total_wait(&sizes, order))
            });
            assert_eq!(chosen, best);
        }
    }
}

#[test]
fn vats_has_the_least_expected_lp_norm_with_independent_remaining_times() {
    // Theorem 3.1 (VATS paper, theorem 1): remaining times independent and of one distribution, here 1 or 3 with equal
    // probability, all 2^n outcomes enumerated; ages drawn; p = 1, 2 and 4.
    let mut draws = Draws::new(7);
    for _ in 0..60 {
        let ages: Vec<u64> = (0..4).map(|_| draws.below(20)).collect();
        let order = vats_order(&ages);
        for p in [1.0, 2.0, 4.0] {
            let chosen = expected_norm(&ages, &order, p);
            let mut best = f64::INFINITY;
            permutations(&mut (0..4).collect(), 4, &mut |order| {
                best = best.min(expected_norm(&ages, order, p))
            });
            assert!(
                chosen <= best * (1.0 + 1e-12),
                "ages {ages:?}, p {p}: {chosen} > {best}"
            );
        }
    }
}

/// A system of transactions that ask for nothing more: who holds and who waits for each object. Exclusive locks only.
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
    fn random(draws: &mut Draws) -> System {
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
            if below > 0 && draws.below(4) > 0 {
                system.waits[txn] = Some(draws.below(below) as usize);
            }
            for _ in 0..draws.below(3) {
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

    /// What the lock manager's code does when `txn` ends.
    fn scheduled(&self, txn: usize, schedule: ScheduleKind) -> System {
        let rules = Rules {
            starvation: Starvation::Unprevented,
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
    let mut draws = Draws::new(2018);
    let mut fifo_is_worse = 0;
    for _ in 0..300 {
        let system = System::random(&mut draws);
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

/// Expected `Lp` norm of the latencies (equation 4) when transactions of these ages run one after another.
fn expected_norm(ages: &[u64], order: &[usize], p: f64) -> f64 {
    let outcomes = 1u32 << order.len();
    let norm = |outcome: u32| {
        let mut now = 0.0;
        let latency = |(at, &txn): (usize, &usize)| {
            now += if outcome >> at & 1 == 0 { 1.0 } else { 3.0 };
            (ages[txn] as f64 + now).powf(p)
        };
        order
            .iter()
            .enumerate()
            .map(latency)
            .sum::<f64>()
            .powf(1.0 / p)
    };
    (0..outcomes).map(norm).sum::<f64>() / f64::from(outcomes)
}

/// The order in which VATS grants one object to transactions of these ages.
fn vats_order(ages: &[u64]) -> Vec<usize> {
    let mut contention = Contention::new(Rules::new(ScheduleKind::Vats));
    let mut effects = Effects::default();
    let hot = contention.add_queue();
    let mut running = add(&mut contention, 0);
    contention
        .request(running, hot, Mode::X, 0, 0, &mut effects)
        .expect("free");
    let waiters: Vec<TxnIndex> = ages
        .iter()
        .map(|age| add(&mut contention, 1000 - age))
        .collect();
    for &waiter in &waiters {
        contention
            .request(waiter, hot, Mode::X, 0, 0, &mut effects)
            .expect("waits");
    }
    let mut order = Vec::new();
    while order.len() < ages.len() {
        effects.clear();
        contention.release_all(running, 0, &mut effects);
        running = effects.granted[0].txn;
        order.push(
            waiters
                .iter()
                .position(|waiter| *waiter == running)
                .expect("a waiter"),
        );
    }
    order
}
