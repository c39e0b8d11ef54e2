//! One step of a transaction.

use evenkeel_locks::Mode;

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object locked. In drawn workloads its number is its rank: 0 is the hottest.
    pub object: u32,
    /// In this mode.
    pub mode: Mode,
    /// Ticks of work between the grant and the next step, or the end.
    pub work: u64,
}
