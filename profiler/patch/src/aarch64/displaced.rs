//! The first instructions of a function, put where they run instead: not supported on this architecture.

use evenkeel_wire::Displaced;

use crate::region::Region;

/// Nothing is written.
pub fn write_displaced(_: &mut Region, _: &Displaced, _: u64, _: Option<u64>) -> Option<u64> {
    None
}
