//! What a lock manager counts, cheap enough to leave on.

use crate::error::TxnId;
use crate::modes::Mode;

/// What a lock manager counted since its beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metrics<K> {
    /// Locks granted without touching the wait-for graph.
    pub uncontended_grants: u64,
    /// What happened on contended objects.
    pub contention: Counters,
    /// Time spent on contended objects: queues, cycles, decisions, dependency sets.
    pub deciding_ns: u64,
    /// The objects waited for most, and how many waits began there (never too few, see [`crate::hot`]).
    pub waits_by_object: Vec<(K, u64)>,
    /// Waits by the class of the first holder in the way.
    pub waits_by_holder_class: Vec<(u32, u64)>,
}

/// One waiting transaction in a snapshot of the wait-for graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait<K> {
    /// Who waits.
    pub txn: TxnId,
    /// For which object.
    pub key: K,
    /// The mode it will hold.
    pub mode: Mode,
    /// Whether it holds a weaker lock there.
    pub upgrade: bool,
    /// How long it has waited.
    pub waited_ns: u64,
    /// Everybody who has to release before it can be granted.
    pub waits_for: Vec<TxnId>,
}

/// Buckets of the queue-length histogram: lengths 0, 1, 2-3, 4-7, ... The last takes everything longer.
pub const LENGTH_BUCKETS: usize = 16;

/// Counts of one [`crate::contention::Contention`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Requests that reached it: on contended objects, or on all in the simulator.
    pub requests: u64,
    /// Requests granted without waiting.
    pub immediate_grants: u64,
    /// Requests that began to wait.
    pub waits: u64,
    /// Waits that ended with a grant.
    pub scheduled_grants: u64,
    /// Sum of the times waited until a grant.
    pub waited_ns: u64,
    /// Times waiters were chosen.
    pub decisions: u64,
    /// Sum over the decisions of the number of waiters.
    pub decision_waiters: u64,
    /// Cycles found in the wait-for graph.
    pub deadlocks: u64,
    /// Requests refused: victims, died, wounded while waiting, no-wait.
    pub refusals: u64,
    /// Queue lengths seen by requests that began to wait, in powers of two (see [`LENGTH_BUCKETS`]).
    pub queue_lengths: [u64; LENGTH_BUCKETS],
}

impl Counters {
    /// A request begins to wait behind `waiters` others.
    pub(crate) fn note_wait(&mut self, waiters: usize) {
        self.waits += 1;
        self.queue_lengths[bucket(waiters)] += 1;
    }

    /// Among `waiters` waiters some are about to be chosen.
    pub(crate) fn note_decision(&mut self, waiters: usize) {
        self.decisions += 1;
        self.decision_waiters += waiters as u64;
    }
}

fn bucket(length: usize) -> usize {
    ((usize::BITS - length.leading_zeros()) as usize).min(LENGTH_BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lengths_fall_into_powers_of_two() {
        assert_eq!(
            [0, 1, 2, 3, 4, 1 << 30].map(super::bucket),
            [0, 1, 2, 2, 3, 15]
        );
    }
}
