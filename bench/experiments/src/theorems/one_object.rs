//! An object with waiters, each with transactions that wait for it in turn, decided by the lock manager's own code.

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::graph::{QueueIndex, TxnIndex, TxnMeta};
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Mode, ScheduleKind, SetSizes, Starvation};

use crate::Error;

/// A transaction that waits for the object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiter {
    /// The requested mode.
    pub mode: Mode,
    /// When it was born, in any unit.
    pub birth_ns: u64,
    /// Size of its dependency set, itself included: at least 1.
    pub size: u64,
}

/// Some waiters at random; `shared` of 4 are readers.
pub fn drawn(rng: &mut Rng, waiters_max: u64, shared: u64) -> Vec<Waiter> {
    let count = 2 + rng.below(waiters_max - 1);
    let waiter = |birth_ns| Waiter {
        mode: if rng.below(4) < shared {
            Mode::S
        } else {
            Mode::X
        },
        birth_ns: 1 + birth_ns,
        size: 1 + rng.below(6),
    };
    (0..count).map(waiter).collect()
}

/// The batches in which the schedule grants the object, as places in `waiters`: each batch runs, ends, and the next is granted.
///
/// # Errors
/// The code under test does not grant everybody.
pub fn granted(schedule: ScheduleKind, waiters: &[Waiter]) -> Result<Vec<Vec<usize>>, Error> {
    let rules = Rules {
        starvation: Starvation::None,
        sizes: SetSizes::Exact,
        ..Rules::new(schedule)
    };
    let mut object = Object::new(rules, waiters)?;
    let (mut running, mut batches) = (vec![object.holder], Vec::new());
    let mut left = waiters.len();
    while left > 0 {
        object.effects.clear();
        for txn in running.drain(..) {
            object.contention.release_all(txn, 0, &mut object.effects);
        }
        let hot = object.hot;
        let here = object
            .effects
            .granted
            .iter()
            .filter(|grant| grant.queue == hot);
        running.extend(here.map(|grant| grant.txn));
        let places = running
            .iter()
            .filter_map(|txn| object.roots.iter().position(|root| root == txn));
        let batch: Vec<usize> = places.collect();
        if batch.is_empty() {
            return Err(Error::Missing("a grant of a free object".to_owned()));
        }
        left -= batch.len();
        batches.push(batch);
    }
    Ok(batches)
}

/// An object with its holder and its waiters.
pub(crate) struct Object {
    contention: Contention,
    effects: Effects,
    hot: QueueIndex,
    holder: TxnIndex,
    roots: Vec<TxnIndex>,
}

impl Object {
    /// Held by a transaction, asked for by the waiters, each waited for by the rest of its dependency set.
    pub(crate) fn new(rules: Rules, waiters: &[Waiter]) -> Result<Object, Error> {
        let (mut contention, mut effects) = (Contention::new(rules), Effects::default());
        let hot = contention.add_queue();
        let holder = add(&mut contention, 0);
        let mut request = |contention: &mut Contention, txn, queue, mode| {
            let asked = contention.request(txn, queue, mode, 0, 0, &mut effects);
            asked
                .map(|_| ())
                .map_err(|error| Error::Missing(format!("a lock: {error:?}")))
        };
        request(&mut contention, holder, hot, Mode::X)?;
        let mut roots = Vec::new();
        for waiter in waiters {
            let root = add(&mut contention, waiter.birth_ns);
            let own = contention.add_queue();
            request(&mut contention, root, own, Mode::X)?;
            for _ in 1..waiter.size {
                let dependent = add(&mut contention, 1 << 20);
                request(&mut contention, dependent, own, Mode::X)?;
            }
            request(&mut contention, root, hot, waiter.mode)?;
            roots.push(root);
        }
        Ok(Object {
            contention,
            effects,
            hot,
            holder,
            roots,
        })
    }
}

impl Object {
    /// Its holder gives it back, so that the next are chosen.
    pub(crate) fn free(&mut self) {
        self.contention
            .release(self.holder, self.hot, 0, &mut self.effects);
    }
}

fn add(contention: &mut Contention, birth_ns: u64) -> TxnIndex {
    contention.add_txn(TxnMeta {
        id: birth_ns,
        birth_ns,
        class: 0,
        expected_remaining_ns: None,
    })
}

/// Total expected wait in mean remaining times (section 4.4). While a batch runs, for `delay(size of the batch)`, the
/// dependency sets of its members and of all later waiters wait.
pub fn total_wait(waiters: &[Waiter], batches: &[Vec<usize>], delay: impl Fn(usize) -> f64) -> f64 {
    let (mut passed, mut total) = (0.0, 0.0);
    for batch in batches {
        passed += delay(batch.len());
        let sizes: u64 = batch.iter().map(|&at| waiters[at].size).sum();
        total += passed * sizes as f64;
    }
    total
}

/// The smallest total wait over all ways to hand the object out: `all_shared` grants readers all at once or not at
/// all.
pub fn least_wait(waiters: &[Waiter], all_shared: bool, delay: &impl Fn(usize) -> f64) -> f64 {
    let left: Vec<usize> = (0..waiters.len()).collect();
    search(waiters, &left, 0.0, all_shared, delay)
}

fn search(
    waiters: &[Waiter],
    left: &[usize],
    passed: f64,
    all_shared: bool,
    delay: &impl Fn(usize) -> f64,
) -> f64 {
    if left.is_empty() {
        return 0.0;
    }
    let mut best = f64::INFINITY;
    for batch in batches(waiters, left, all_shared) {
        let passed = passed + delay(batch.len());
        let sizes: u64 = batch.iter().map(|&at| waiters[at].size).sum();
        let rest: Vec<usize> = left
            .iter()
            .copied()
            .filter(|at| !batch.contains(at))
            .collect();
        let behind = search(waiters, &rest, passed, all_shared, delay);
        best = best.min(passed * sizes as f64 + behind);
    }
    best
}

/// Batches that can be granted at once: a writer alone, or readers.
fn batches(waiters: &[Waiter], left: &[usize], all_shared: bool) -> Vec<Vec<usize>> {
    let of = |mode: Mode| {
        left.iter()
            .copied()
            .filter(move |&at| waiters[at].mode == mode)
    };
    let mut all: Vec<Vec<usize>> = of(Mode::X).map(|writer| vec![writer]).collect();
    let readers: Vec<usize> = of(Mode::S).collect();
    if readers.is_empty() {
        return all;
    }
    if all_shared {
        all.push(readers);
        return all;
    }
    all.extend((1u32..1 << readers.len()).map(|subset| {
        let chosen = |place: usize| subset & (1 << place) != 0;
        let places = (0..readers.len()).filter(|&place| chosen(place));
        places.map(|place| readers[place]).collect()
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(mode: Mode, size: u64) -> Waiter {
        Waiter {
            mode,
            birth_ns: 1,
            size,
        }
    }

    #[test]
    fn waits_by_hand() {
        // The larger set first: 1 * 5 + 2 * 2 = 9; the other way round 1 * 2 + 2 * 5 = 12.
        let two = [waiter(Mode::X, 2), waiter(Mode::X, 5)];
        let one = |_| 1.0;
        assert_eq!(total_wait(&two, &[vec![1], vec![0]], one), 9.0);
        assert_eq!(total_wait(&two, &[vec![0], vec![1]], one), 12.0);
        assert_eq!(least_wait(&two, true, &one), 9.0);
    }

    /// With the delays of figure 4.6.
    #[test]
    fn some_readers_at_once_can_be_better_than_all() {
        let waiters = [waiter(Mode::S, 8), waiter(Mode::S, 1), waiter(Mode::S, 1)];
        let delay = |size: usize| [0.0, 1.0, 1.5, 2.0][size];
        assert_eq!(least_wait(&waiters, true, &delay), 20.0);
        // The one with the large set first: 8 + 2.5 * 2.
        assert_eq!(least_wait(&waiters, false, &delay), 13.0);
    }

    #[test]
    fn the_lock_manager_grants_the_largest_set_first() {
        let waiters = [waiter(Mode::X, 2), waiter(Mode::X, 5), waiter(Mode::X, 3)];
        let order = granted(ScheduleKind::Ldsf, &waiters).expect("grants");
        assert_eq!(order, [vec![1], vec![2], vec![0]]);
    }
}
