//! A lock manager to embed, in which a *schedule* decides who is granted when several transactions wait for a lock.
//!
//! Nearly every lock manager answers "the first come". Which order is chosen decides throughput, mean latency and its
//! variance under contention; the schedules here are those of Huang et al., "A Top-Down Approach to Achieving
//! Performance Predictability in Database Systems" (SIGMOD 2017, VATS), Tian et al., "Contention-Aware Lock Scheduling
//! for Transactional Databases" (VLDB 2018, LDSF and bLDSF), and chapter 4 of the first author's dissertation (hLDSF).
//!
//! * [`LockManager`] and [`Transaction`]: strict two-phase locking over any hashable object, blocking and asynchronous.
//! * [`schedule`]: each schedule one file, a pure decision.
//! * [`contention`]: queues, wait-for graph, deadlock and starvation policies, single-threaded and deterministic. The
//!   lock manager and the simulator run this same code.

mod contended;
pub mod contention;
pub mod deadlock;
pub mod draws;
mod error;
pub mod granted;
pub mod graph;
mod held;
pub mod hot;
mod manager;
pub mod modes;
pub mod observe;
mod owner;
#[cfg(test)]
mod properties;
pub mod queue;
pub mod remaining;
pub mod schedule;
pub mod starvation;
mod sync;
mod table;
mod transaction;

pub use contention::Rules;
pub use deadlock::{DeadlockPolicy, Victim};
pub use error::{LockError, TxnId};
pub use manager::{Config, LockManager, TxnOptions};
pub use modes::Mode;
pub use schedule::{DelayFactor, ScheduleKind, SetSizes};
pub use starvation::Starvation;
pub use transaction::{Canceller, LockFuture, Transaction};
