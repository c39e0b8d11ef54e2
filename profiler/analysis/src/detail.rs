//! The sums of one round.

use crate::accumulate::Accumulator;
use crate::critical::kept::Keep;
use crate::critical::who::WaitSums;
use crate::paths::Paths;

/// Call paths and sums of one round.
#[derive(Debug, Default)]
pub struct Detail {
    /// The round's call paths.
    pub paths: Paths,
    /// The round's sums over them.
    pub sums: Accumulator,
    /// Where waits are followed: who waited for whom.
    pub waits: WaitSums,
    /// Where waits are followed: some intervals piece by piece.
    pub keep: Keep,
}

impl Detail {
    /// Numbers kept.
    pub(crate) fn cells(&self) -> usize {
        let classes = self.sums.classes.iter();
        let classes: usize = classes.map(|class| 2 * class.nodes.len()).sum();
        self.sums.blocks.cells() + self.sums.histogram.cells() + classes
    }
}
