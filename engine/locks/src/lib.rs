//! A lock manager to embed, in which a *schedule* decides who is granted when several transactions wait for a lock.
//!
//! Most lock managers grant first come, first served. The order decides throughput, mean latency and its variance
//! under contention. The schedules here come from Huang et al., "A Top-Down Approach to Achieving Performance
//! Predictability in Database Systems" (SIGMOD 2017, VATS), from Tian et al., "Contention-Aware Lock Scheduling for
//! Transactional Databases" (VLDB 2018, LDSF and bLDSF), and from chapter 4 of the first author's dissertation
//! (hLDSF). Some go beyond the papers and look at the ages of dependents.
//!
//! * [`LockManager`] and [`Transaction`]: strict two-phase locking over any hashable object, blocking and asynchronous.
//! * [`schedule`]: each schedule one file, a pure decision.
//! * [`contention`]: queues, wait-for graph, deadlock and starvation policies, single-threaded and deterministic. The
//!   lock manager and the simulator run this same code.
//!
//! # Embedding
//! An engine locks before it reads or writes, with intention modes on the containing objects. It keeps the locks
//! until after its commit or undo. It retries victims with their birth kept, so that they get older and finally
//! succeed.
//!
//! ```
//! use std::time::Duration;
//! use evenkeel_locks::{Config, LockError, LockManager, Mode, ScheduleKind, TxnOptions};
//!
//! const TRANSFER: u32 = 3; // A class of transactions, for hLDSF's estimates and the metrics.
//!
//! fn transfer(locks: &LockManager<(u32, u64)>) -> Result<(), LockError> {
//!     let (table, row) = ((7, 0), (7, 42));
//!     let mut birth_ns = None;
//!     loop {
//!         let mut txn = locks.begin_with(TxnOptions { class: TRANSFER, birth_ns, ..TxnOptions::default() });
//!         birth_ns = Some(txn.birth_ns());
//!         let granted = txn
//!             .lock(&table, Mode::IX)
//!             .and_then(|()| txn.lock(&row, Mode::S)) // Read,
//!             .and_then(|()| txn.lock_timeout(&row, Mode::X, Duration::from_secs(1))); // then upgrade to write.
//!         match granted {
//!             Ok(()) => return Ok(()), // Dropping the transaction releases; `release` does so early, one by one.
//!             Err(error) if error.is_victim() => continue, // An engine undoes here, before the release.
//!             Err(error) => return Err(error),
//!         }
//!     }
//! }
//!
//! let locks = LockManager::new(Config::new(ScheduleKind::Fifo));
//! transfer(&locks)?;
//! locks.set_schedule(ScheduleKind::Vats); // At any time, with transactions running and waiting.
//! transfer(&locks)?;
//! assert_eq!(locks.locked_objects(), 0);
//! # Ok::<(), LockError>(())
//! ```
//!
//! [`Transaction::lock_async`] waits in the same queues without blocking a thread. [`Transaction::canceller`] ends
//! waits from outside. [`LockManager::metrics`] and [`LockManager::wait_for_graph`] show the present state.

mod config;
pub mod contention;
mod counters;
pub mod deadlock;
mod error;
pub mod granted;
pub mod graph;
mod held;
pub mod hot;
mod inner;
mod lock_future;
mod manager;
mod meta;
pub mod modes;
pub mod observe;
mod owner;
#[cfg(test)]
mod properties;
pub mod queue;
pub mod remaining;
pub mod rng;
pub mod schedule;
pub mod starvation;
mod sync;
mod table;
mod transaction;
mod wait_queues;

pub use config::{Config, ConfigError, LOCKS_MAX_MAX, SHARDS_MAX, TxnOptions};
pub use contention::Rules;
pub use deadlock::{DeadlockPolicy, Victim};
pub use error::{LockError, TxnId};
pub use lock_future::LockFuture;
pub use manager::LockManager;
pub use modes::Mode;
pub use schedule::{AgePower, DelayFactor, ScheduleKind, SetSizes};
pub use starvation::Starvation;
pub use transaction::{Canceller, Transaction};
