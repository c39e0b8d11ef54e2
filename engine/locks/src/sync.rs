//! The synchronisation primitives the lock manager is built on: parking_lot's, or shuttle's under its model checker.

#[cfg(feature = "shuttle")]
mod modelled;
#[cfg(not(feature = "shuttle"))]
mod real;

#[cfg(feature = "shuttle")]
pub(crate) use modelled::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub(crate) use real::{Condvar, Mutex, MutexGuard};
