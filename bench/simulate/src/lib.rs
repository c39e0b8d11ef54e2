//! A deterministic simulator of lock scheduling.
//!
//! Transactions lock objects one after another, work after each grant, and release everything at their end (strict
//! two-phase locking). Locks are the only contention unless processors are limited. Time is virtual. The code of the
//! lock manager itself ([`evenkeel_locks`]) decides about grants, dependencies and deadlocks.
//!
//! One seed gives one result on every machine. Random numbers come from a generator that is part of the code, and
//! every logarithm and power from `libm`, not from the system. Nothing depends on the order of a hash table.
//!
//! Every schedule sees the same arrivals and the same transactions: a transaction is a function of the seed and of
//! its number ([`workload`]), never of earlier events.
//!
//! ```
//! use evenkeel_locks::ScheduleKind;
//! use evenkeel_simulate::{Config, run};
//!
//! let config = Config { transactions: 2_000, ..Config::micro() };
//! let fifo = run(&config, ScheduleKind::Fifo)?;
//! let ldsf = run(&config, ScheduleKind::Ldsf)?;
//! assert!(ldsf.latency.mean < fifo.latency.mean);
//! # Ok::<(), evenkeel_simulate::Error>(())
//! ```

mod active;
mod arrivals;
pub mod axis;
pub mod config;
mod error;
pub mod estimate;
mod event_queue;
pub mod export;
mod latency;
pub mod matched;
mod measure;
pub mod outcome;
mod parallel;
pub mod plot;
mod processors;
pub mod replicated;
mod sample;
pub mod saturation;
mod simulation;
pub mod sweep;
pub mod work;
pub mod workload;
mod zipf;

pub use arrivals::Arrivals;
pub use config::Config;
pub use error::Error;
pub use outcome::Outcome;
pub use replicated::Replicated;
pub use simulation::{Simulation, run};
pub use sweep::{Case, Effort, Progress, cases, sweep};
