//! Lock schedules: which of the eligible waiters of one object are granted next.
//!
//! A schedule is a pure decision over a queue and the wait-for graph. It reads no clock (times are numbers in the
//! [`Decision`]), takes no lock, and does no I/O. It draws random numbers only from the given generator, so the lock
//! manager and the deterministic simulator run the same code. It sees only waiters that could each be granted now (by
//! the rules in [`crate::queue`]); its choice is checked against the granted set again before anything is granted.

mod bldsf;
mod decision;
mod delay;
mod edsf;
mod fifo;
mod group;
mod heuristics;
mod hldsf;
mod kind;
mod ldaf;
mod ldsf;
mod rs;
mod vats;

#[cfg(test)]
mod ages;
#[cfg(test)]
mod figures;

pub use bldsf::Bldsf;
pub use decision::{Decision, Schedule, SetSizes};
pub use delay::DelayFactor;
pub use edsf::Edsf;
pub use fifo::Fifo;
pub use heuristics::{Ddf, Mblf, Mlf, Random, Svats};
pub use hldsf::Hldsf;
pub use kind::ScheduleKind;
pub use ldaf::{AgePower, Hldaf, Ldaf};
pub use ldsf::Ldsf;
pub use rs::Rs;
pub use vats::Vats;
