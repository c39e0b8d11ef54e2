//! Stacks of intervals that were slow already, as the session saw them while they lasted.
//!
//! They need no probe: one stall shows the whole path to where it was. They are evidence beside the sums, and never part of them: a
//! stack says where an interval stood at one moment, not how long it took there.

mod evidence;
pub mod model;

pub use evidence::{Evidence, SlowStack};
