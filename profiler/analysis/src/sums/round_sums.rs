//! The sums of one round.

use crate::critical::blocking::WaitSums;
use crate::critical::exemplars::{Exemplar, Exemplars};
use crate::critical::path::Path;
use crate::sums::accumulate::Accumulator;
use crate::sums::paths::Paths;

/// Call paths and sums of one round.
#[derive(Debug, Default)]
pub struct RoundSums {
    /// The round's call paths.
    pub paths: Paths,
    /// The round's sums over them.
    pub sums: Accumulator,
    /// Where waits are followed: waiters and holders.
    pub waits: WaitSums,
    /// Where waits are followed: some intervals piece by piece.
    pub keep: Exemplars,
}

impl RoundSums {
    /// Adds the waits of an interval that was added to the sums, and keeps its pieces where it is one of those kept.
    /// `wanted`: keep it in any case.
    pub(crate) fn add_waits(&mut self, path: &Path, kept: Exemplar, wanted: bool) {
        self.waits.add(path.waits(), kept.latency);
        let blocks = &mut self.sums.blocks;
        blocks.add_attributes(&kept.attributes, kept.latency);
        self.keep.offer(kept, path, wanted);
    }

    /// Numbers kept.
    pub(crate) fn cells(&self) -> usize {
        let classes = self.sums.classes.iter();
        let classes: usize = classes.map(|class| 2 * class.nodes.len()).sum();
        self.sums.blocks.cells() + self.sums.histogram.cells() + classes
    }
}
