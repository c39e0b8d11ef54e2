//! Handling of conflicting requests: the core shared by the lock manager and the simulator.
//!
//! [`Contention`] holds the queues and the wait-for graph and applies one schedule, one starvation policy and one
//! deadlock policy to them. It is single-threaded and deterministic: the same calls give the same effects. The lock
//! manager protects one by a mutex and brings only contended objects into it. The simulator keeps every object in it.

mod deadlocks;
mod grants;
mod outcome;
mod requests;
mod rules;
mod state;

pub use outcome::{Effects, Granted, Outcome, Refusal};
pub use rules::Rules;
pub use state::Contention;
