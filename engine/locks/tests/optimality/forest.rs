//! LDSF at one object (theorem 4.2): all orders of handing it out, compared.

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::graph::{QueueIndex, TxnIndex};
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Mode, ScheduleKind, SetSizes, Starvation};

use crate::add;

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

fn forest(schedule: ScheduleKind, sizes_of: SetSizes, rng: &mut Rng) -> Forest {
    let rules = Rules {
        starvation: Starvation::None,
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
    for root in 0..2 + rng.below(4) {
        let mut tree = vec![add(&mut contention, 1 + root)];
        for _ in 0..rng.below(6) {
            // Each new transaction waits for a separate object that a random member of the tree holds.
            let parent = tree[rng.below(tree.len() as u64) as usize];
            if contention.graph().txn(parent).waiting.is_some() && parent != tree[0] {
                continue;
            }
            let object = contention.add_queue();
            contention
                .request(parent, object, Mode::X, 0, 0, &mut effects)
                .expect("free");
            let child = add(&mut contention, 100);
            let grandchildren = rng.below(3);
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

/// Total time spent waiting for the roots, in expected execution times. While one root runs, its own tree and all
/// trees that come later wait. Execution times are independent of the order and have one mean (theorem 4.2).
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
    let mut rng = Rng::new(42);
    for _ in 0..200 {
        for sizes in [SetSizes::Exact, SetSizes::Approximate] {
            let mut forest = forest(ScheduleKind::Ldsf, sizes, &mut rng);
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
