//! Sums in time-ordered blocks, for the jackknife.
//!
//! Blocks are consecutive intervals by order of arrival, at most [`BLOCKS_MAX`] of equal length (the last may be
//! shorter). When they are used up, neighbours merge and the length doubles: memory does not grow with the run.

use crate::jackknife::Replicates;
use crate::paths::Paths;
use crate::sums::Sums;
use crate::vectors::Vector;

/// Blocks kept, at most; at least half of it once there are that many intervals.
pub const BLOCKS_MAX: usize = 64;

/// Sums by block.
#[derive(Clone, Debug)]
pub struct Blocks {
    blocks: Vec<Sums>,
    /// Intervals of a full block.
    length: u64,
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks {
            blocks: Vec::new(),
            length: 1,
        }
    }
}

impl Blocks {
    /// One block of intervals that were summed before: without errors.
    pub fn of(sums: Sums) -> Blocks {
        Blocks {
            length: sums.intervals.max(1),
            blocks: vec![sums],
        }
    }

    /// Adds one interval to the newest block.
    pub fn add(&mut self, vector: &Vector<'_>, paths: &Paths) {
        if self
            .blocks
            .last()
            .is_none_or(|last| last.intervals == self.length)
        {
            if self.blocks.len() == BLOCKS_MAX {
                self.halve();
            }
            self.blocks.push(Sums::default());
        }
        self.blocks
            .last_mut()
            .expect("just made")
            .add(vector, paths);
    }

    /// Adds the attributes of the interval added last.
    pub fn add_attributes(&mut self, values: &[(u16, i64)], latency: i64) {
        if let Some(newest) = self.blocks.last_mut() {
            newest.add_attributes(values, latency);
        }
    }

    fn halve(&mut self) {
        let mut old = std::mem::take(&mut self.blocks).into_iter();
        while let (Some(mut first), Some(second)) = (old.next(), old.next()) {
            first.merge(&second);
            self.blocks.push(first);
        }
        self.length *= 2;
    }

    /// The blocks, oldest first.
    pub fn blocks(&self) -> &[Sums] {
        &self.blocks
    }

    /// Sums over all intervals.
    pub fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.blocks.iter().for_each(|block| total.merge(block));
        total
    }

    /// Computes statistics of `total` (the sums over all blocks) with everything and without each block.
    pub fn jackknife(&self, total: &Sums, statistics: impl Fn(&Sums) -> Vec<f64>) -> Replicates {
        let without = self.blocks.iter().map(|block| {
            let mut rest = total.clone();
            rest.subtract(block);
            statistics(&rest)
        });
        Replicates {
            sizes: self.blocks.iter().map(|block| block.intervals).collect(),
            whole: statistics(total),
            without: without.collect(),
        }
    }
}
