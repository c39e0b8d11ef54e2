//! The interface of a schedule, and everything that it may look at.

use crate::graph::{Graph, QueueIndex, TxnIndex};
use crate::modes::ModeSet;
use crate::queue::{Queue, Waiter};
use crate::remaining::RemainingTimes;
use crate::rng::Rng;

/// A rule that decides which waiters are granted.
pub trait Schedule: Send {
    /// Appends to `picked` the places in [`Queue::waiting`] of the waiters to grant, in the order of granting. At least
    /// one, all [`Decision::candidates`], all compatible with each other.
    fn pick(&mut self, decision: &Decision<'_>, rng: &mut Rng, picked: &mut Vec<usize>);
}

/// Method of finding the size of a dependency set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetSizes {
    /// By searching the graph: exact, shared holders included; the union of sets is exact too.
    Exact,
    /// One plus the sum over the waiters, updated at every change; the size of a union is the sum of the sizes
    /// (section 4.5). Constant time a candidate.
    Approximate,
}

/// Everything a schedule may look at.
pub struct Decision<'a> {
    /// The wait-for graph.
    pub graph: &'a Graph,
    /// The object that became available.
    pub queue: QueueIndex,
    /// Modes whose waiters are eligible.
    pub eligible: ModeSet,
    /// Only arrivals before this one are considered (see [`crate::starvation`]).
    pub arrival_limit: u64,
    /// The time, in nanoseconds since any fixed moment.
    pub now_ns: u64,
    /// Method of measuring dependency sets.
    pub sizes: SetSizes,
    /// Added to a dependency-set size for each nanosecond of the transaction's age.
    pub size_per_ns: f64,
    /// Expected remaining times.
    pub remaining: &'a RemainingTimes,
}

impl<'a> Decision<'a> {
    /// The object.
    pub fn object(&self) -> &'a Queue {
        self.graph.queue(self.queue)
    }

    /// The waiters to choose from with their places in the queue, in order of arrival. There is at least one.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, &'a Waiter)> + use<'a> {
        let (eligible, limit) = (self.eligible, self.arrival_limit);
        let ahead = self
            .object()
            .waiting()
            .iter()
            .enumerate()
            .take_while(move |(_, w)| w.arrival < limit);
        ahead.filter(move |(_, waiter)| eligible.contains(waiter.mode))
    }

    /// The waiter at this place of the queue.
    pub fn waiter(&self, place: usize) -> &'a Waiter {
        &self.object().waiting()[place]
    }

    /// `|g(t)|` of the waiter at this place of the queue, with what its age adds.
    pub fn size_at(&self, place: usize) -> f64 {
        let waiter = self.waiter(place);
        let size = match self.sizes {
            SetSizes::Exact => self.graph.dependency_set_size(waiter.txn),
            SetSizes::Approximate => self.graph.effective_size(waiter.txn),
        };
        size as f64 + self.age_bonus(waiter)
    }

    /// Sizes of the union of the dependency sets of the first, the first two, the first three ... of `places`, each
    /// with what the ages add.
    pub fn union_sizes(&self, places: &[usize]) -> Vec<f64> {
        let mut bonus = 0.0;
        let mut sum = 0u64;
        let mut union = self.graph.dependency_union();
        let mut size = |place: usize| {
            let waiter = self.waiter(place);
            bonus += self.age_bonus(waiter);
            let size = match self.sizes {
                SetSizes::Exact => union.add(waiter.txn),
                SetSizes::Approximate => {
                    sum = sum.wrapping_add(self.graph.effective_size(waiter.txn));
                    sum
                }
            };
            size as f64 + bonus
        };
        places.iter().map(|&place| size(place)).collect()
    }

    /// Calls `visit` with the age, in nanoseconds, of every member of the dependency sets of the waiters at `places`,
    /// themselves included, once each. Searches the graph, including shared holders.
    pub fn for_dependent_ages(&self, places: &[usize], mut visit: impl FnMut(u64)) {
        let txns = places.iter().map(|&place| self.waiter(place).txn);
        self.graph.for_dependency_set(txns, |node| {
            visit(self.now_ns.saturating_sub(node.meta.birth_ns));
        });
    }

    /// The expected remaining time of a transaction once granted, in nanoseconds.
    pub fn expected_remaining_ns(&self, txn: TxnIndex) -> f64 {
        self.remaining.expected_ns(&self.graph.txn(txn).meta)
    }

    fn age_bonus(&self, waiter: &Waiter) -> f64 {
        if self.size_per_ns == 0.0 {
            return 0.0;
        }
        self.now_ns.saturating_sub(waiter.birth_ns) as f64 * self.size_per_ns
    }
}
