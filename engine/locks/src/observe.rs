//! Counters of a lock manager, cheap enough to leave on.

pub use crate::counters::{Counters, LENGTH_BUCKETS, ScheduleCounts};
use crate::error::TxnId;
use crate::modes::Mode;

/// Counters of a lock manager since its beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metrics<K> {
    /// Locks granted without touching the wait-for graph.
    pub uncontended_grants: u64,
    /// Counters of contended objects.
    pub contention: Counters,
    /// Time spent on contended objects (queues, cycles, decisions, dependency sets), estimated from a random eighth of the
    /// occasions.
    pub deciding_ns: u64,
    /// The objects waited for most, and how many waits began there (never too few, see [`crate::hot`]).
    pub waits_by_object: Vec<(K, u64)>,
    /// Waits by the class of the first holder in the way.
    pub waits_by_holder_class: Vec<(u32, u64)>,
}

/// One waiting transaction in a snapshot of the wait-for graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait<K> {
    /// The waiter.
    pub txn: TxnId,
    /// For which object.
    pub key: K,
    /// The mode it will hold.
    pub mode: Mode,
    /// Whether it holds a weaker lock there.
    pub upgrade: bool,
    /// How long it has waited.
    pub waited_ns: u64,
    /// The holders that have to release before it can be granted.
    pub waits_for: Vec<TxnId>,
}
