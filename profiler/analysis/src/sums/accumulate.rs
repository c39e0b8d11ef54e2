//! Everything that is summed over the intervals of one round.

use crate::intervals::classes::ClassSums;
use crate::sums::blocks::Blocks;
use crate::sums::histogram::Histogram;
use crate::sums::over_time::OverTime;
use crate::sums::paths::Paths;
use crate::sums::self_cost::SelfCost;
use crate::sums::vectors::Vector;

/// The sums of one round. Their size depends on the number of call paths, not on the length of the run.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    /// Sums by block.
    pub blocks: Blocks,
    /// Latencies, and where the tail is spent.
    pub histogram: Histogram,
    /// Sums by class id.
    pub classes: Vec<ClassSums>,
    /// Sums by time.
    pub over_time: OverTime,
    /// Probed against bypassed intervals.
    pub self_cost: SelfCost,
}

impl Accumulator {
    /// Adds a probed interval of a class. `paths` is what `vector` was made with, the same in every call.
    pub fn add(&mut self, vector: &Vector<'_>, class: usize, paths: &Paths) {
        self.blocks.add(vector, paths);
        self.histogram.add(vector);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, ClassSums::default());
        }
        self.classes[class].add(vector);
    }
}
