//! Lock schedules: which of the eligible waiters of one object are granted next.
//!
//! A schedule is a pure decision over a queue and the wait-for graph. It reads no clock (times are numbers in the
//! [`Decision`]), takes no lock, and does no I/O. It draws random numbers only from the given generator, so the lock
//! manager and the deterministic simulator run the same code. It sees only waiters that could each be granted now (by
//! the rules in [`crate::queue`]); its choice is checked against the granted set again before anything is granted.

mod bldsf;
mod ddf;
mod decision;
mod delay;
mod edsf;
mod fifo;
mod group;
mod hldaf;
mod hldsf;
mod kind;
mod ldaf;
mod ldsf;
mod mblf;
mod mlf;
mod random;
mod rs;
mod svats;
mod vats;

#[cfg(test)]
mod ages;
#[cfg(test)]
mod figures;

pub use bldsf::Bldsf;
pub use ddf::Ddf;
pub use decision::{Decision, Schedule, SetSizes};
pub use delay::DelayFactor;
pub use edsf::Edsf;
pub use fifo::Fifo;
pub use hldaf::Hldaf;
pub use hldsf::Hldsf;
pub use kind::ScheduleKind;
pub use ldaf::{AgePower, Ldaf};
pub use ldsf::Ldsf;
pub use mblf::Mblf;
pub use mlf::Mlf;
pub use random::Random;
pub use rs::Rs;
pub use svats::Svats;
pub use vats::Vats;
