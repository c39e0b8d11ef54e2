//! Sums in time-ordered blocks, for the jackknife.
//!
//! Blocks are consecutive intervals by order of arrival, at most [`BLOCKS_MAX`] with about equal weights (the last
//! may have less). When they are used up, neighbours merge and the length doubles: memory does not grow with the run.

use crate::sums::Sums;
use crate::sums::jackknife::Replicates;
use crate::sums::paths::Paths;
use crate::sums::vectors::Vector;

/// Blocks kept, at most; at least half of it once there are that many intervals.
pub const BLOCKS_MAX: usize = 64;
/// Bound on the numbers kept of all blocks together, 16 bytes each. Where there are many call paths, as where threads
/// wait for one another, there are fewer blocks, ...
const CELLS_MAX: usize = 1 << 22;
/// ... but not fewer than this: errors have to rest on something.
const BLOCKS_FEW: usize = 16;
/// Blocks of each of several rounds that are taken together, at least, ...
const BLOCKS_OF_A_ROUND: usize = 8;
/// ... and of all of them, at most.
const BLOCKS_JOINED_MAX: usize = 2 * BLOCKS_MAX;
/// Numbers kept of one node.
const NODE_CELLS: usize = 9;

/// Largest number of blocks of sums over these paths.
fn blocks_max(paths: &Paths) -> usize {
    let cells = NODE_CELLS * paths.all().len() + paths.pairs();
    (CELLS_MAX / cells).clamp(BLOCKS_FEW, BLOCKS_MAX)
}

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
    /// A single block of intervals that were summed elsewhere: without errors.
    pub fn of(sums: Sums) -> Blocks {
        Blocks {
            length: sums.intervals.max(1),
            blocks: vec![sums],
        }
    }

    /// These blocks.
    pub fn in_order(blocks: impl IntoIterator<Item = Sums>) -> Blocks {
        Blocks {
            blocks: blocks.into_iter().collect(),
            length: 1,
        }
    }

    /// The blocks of several rounds, in order of time. Each round has its part of [`BLOCKS_MAX`], but at least
    /// [`BLOCKS_OF_A_ROUND`] if it has as many. The load may differ between rounds, and a short round should not rest
    /// on a single block.
    pub fn joined(rounds: impl IntoIterator<Item = Blocks>) -> Blocks {
        let mut rounds: Vec<Blocks> = rounds.into_iter().collect();
        let all: u64 = rounds.iter().map(Blocks::intervals).sum();
        for round in &mut rounds {
            let part = BLOCKS_MAX as u64 * round.intervals() / all.max(1);
            round.coarsen((part as usize).max(BLOCKS_OF_A_ROUND));
        }
        let mut joined = Blocks::in_order(rounds.into_iter().flat_map(|round| round.blocks));
        if joined.blocks.len() > BLOCKS_JOINED_MAX {
            joined.coarsen(BLOCKS_JOINED_MAX);
        }
        joined
    }

    /// Merges neighbours until there are no more than `most`, of about the same length.
    pub fn coarsen(&mut self, most: usize) {
        self.length = self.intervals().div_ceil(most as u64).max(1);
        for block in std::mem::take(&mut self.blocks) {
            match self.blocks.last_mut() {
                Some(last) if last.intervals < self.length => last.merge(&block),
                _ => self.blocks.push(block),
            }
        }
    }

    /// Numbers that are kept.
    pub fn cells(&self) -> usize {
        let cells = |sums: &Sums| NODE_CELLS * sums.nodes.len() + sums.pairs.len();
        self.blocks.iter().map(cells).sum()
    }

    /// Adds one interval to the newest block.
    pub fn add(&mut self, vector: &Vector<'_>, paths: &Paths) {
        if self
            .blocks
            .last()
            .is_none_or(|last| last.intervals >= self.length)
        {
            while self.blocks.len() >= blocks_max(paths) {
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

    /// Adds intervals that were summed elsewhere as the newest block. They go into the last block while that is not
    /// full, so that blocks stay of about one length.
    pub(crate) fn add_block(&mut self, sums: &Sums) {
        self.length = self.length.max(sums.intervals);
        match self.blocks.last_mut() {
            Some(last) if last.intervals + sums.intervals <= self.length => last.merge(sums),
            _ => {
                if self.blocks.len() >= BLOCKS_MAX {
                    self.halve();
                }
                self.blocks.push(sums.clone());
            }
        }
    }

    fn halve(&mut self) {
        let mut old = std::mem::take(&mut self.blocks).into_iter();
        while let Some(mut first) = old.next() {
            // The last of an odd number is filled up.
            if let Some(second) = old.next() {
                first.merge(&second);
            }
            self.blocks.push(first);
        }
        self.length *= 2;
    }

    /// The blocks, oldest first.
    pub fn blocks(&self) -> &[Sums] {
        &self.blocks
    }

    /// All intervals: the sum of their weights.
    pub fn intervals(&self) -> u64 {
        self.blocks.iter().map(|block| block.intervals).sum()
    }

    /// Intervals that were added: how much is known rests on these.
    pub fn kept(&self) -> u64 {
        self.blocks.iter().map(|block| block.kept).sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::vectors::Entry;

    fn add(blocks: &mut Blocks, paths: &Paths) {
        blocks.add(
            &Vector {
                latency: 1,
                entries: &[Entry::default()],
                siblings: &[],
                closure_error: 0,
                weight: 1,
            },
            paths,
        );
    }

    /// 100 intervals make 50 blocks of two. When memory allows only sixteen blocks for the number of paths, they
    /// merge, and no interval is lost.
    #[test]
    fn many_paths_have_fewer_blocks() {
        let (mut blocks, mut paths) = (Blocks::default(), Paths::default());
        (0..100).for_each(|_| add(&mut blocks, &paths));
        assert_eq!((blocks.blocks().len(), blocks.intervals()), (50, 100));
        for parent in 0..16_000 {
            paths.child(parent / 2, parent);
        }
        assert_eq!(blocks_max(&paths), 24);
        (0..1000).for_each(|_| add(&mut blocks, &paths));
        assert!((12..=24).contains(&blocks.blocks().len()));
        assert_eq!(blocks.intervals(), 1100);
    }
}
