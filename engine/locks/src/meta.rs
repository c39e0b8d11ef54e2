//! A transaction in the wait-for graph: its place there, and the facts known from its beginning.

/// Facts that schedules and policies know of a transaction from its beginning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TxnMeta {
    /// Unique, increasing with the order of creation; orders transactions of equal birth.
    pub id: u64,
    /// When it was born. A retry that keeps its birth keeps its age.
    pub birth_ns: u64,
    /// Its type, for estimates of remaining time by type (section 4.7.3).
    pub class: u32,
    /// Its expected remaining time where the caller knows it; otherwise the mean of its class is used.
    pub expected_remaining_ns: Option<f64>,
}

impl TxnMeta {
    /// Whether this transaction is the older of the two.
    pub fn is_older_than(&self, other: &TxnMeta) -> bool {
        (self.birth_ns, self.id) < (other.birth_ns, other.id)
    }
}

/// A transaction's place in the graph; used again after the transaction was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TxnIndex(pub u32);

/// An object's place in the graph; used again after the object was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct QueueIndex(pub u32);
