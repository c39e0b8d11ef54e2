//! The wait-for graph, and what the schedules read off it (dissertation section 4.2.2).
//!
//! Vertices are transactions and objects: a transaction waits for at most one object, an object is held by any number of
//! transactions. A waiter depends on *every* holder that keeps it from being granted ([`crate::queue::Queue::blocking_modes`]);
//! following only one of several shared holders hides cycles and undercounts dependency sets. With shared and exclusive
//! locks only, these edges are exactly those of the papers' dependency graph.

mod changes;
mod effective;
mod measures;
mod scratch;
mod vertices;
mod waits_for;

pub use crate::meta::{QueueIndex, TxnIndex, TxnMeta};
pub use measures::DependencyUnion;
pub use vertices::{Graph, TxnNode};
