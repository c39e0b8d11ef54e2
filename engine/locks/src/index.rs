//! Places in the wait-for graph.

/// A transaction's place in the graph; used again after the transaction was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TxnIndex(pub u32);

/// An object's place in the graph; used again after the object was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct QueueIndex(pub u32);
