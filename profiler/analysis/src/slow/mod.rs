//! Stacks of intervals that were slow already, as the session saw them while they lasted.
//!
//! They need no probe: one stall shows the whole path to its place. They are evidence in addition to the sums, and
//! never part of them: a stack shows a place at one moment, not the time spent there.

mod evidence;
pub mod holder;
pub mod model;

pub use evidence::{Evidence, SlowStack};
