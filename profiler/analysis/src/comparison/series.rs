//! A recording divided into blocks of time: with few intervals each, but long enough to be independent.
//!
//! Neighbouring intervals are similar, so errors rest on blocks. A block must last longer than the cause of the
//! similarity. So blocks merge until their means do not correlate with the next ones' (batch means; Law and Carson
//! 1979, "A sequential procedure for determining the length of a steady-state simulation").

use super::block::{Block, Thresholds};

/// Blocks of a recording, at most.
const BLOCKS_MAX: usize = 64;
/// Blocks that are not merged further, however much alike they are.
const BLOCKS_MIN: usize = 16;
/// Correlation of neighbours that is taken for none, in its standard errors.
const CORRELATION_MAX: f64 = 1.3;
/// The first blocks' length, ns.
const LENGTH_FIRST_NS: f64 = 1e5;

/// A last block that is shorter than this part of the others is added to the one before it.
const LAST_MIN: f64 = 0.5;

/// The intervals of a recording by blocks of time.
#[derive(Clone, Debug)]
pub struct Series {
    thresholds: Thresholds,
    blocks: Vec<Block>,
    length_ns: f64,
    /// When it began; nothing before its first interval.
    began_ns: Option<f64>,
    ended_ns: f64,
    /// Number of the last interval.
    seen: Option<u64>,
    /// Intervals that ended for one that the recording knows: more than one where sampling skipped some.
    pub ended_for_one: f64,
    /// Latencies are known one by one.
    pub has_latencies: bool,
}

impl Series {
    /// An empty one.
    pub fn new(thresholds: Thresholds) -> Series {
        Series {
            thresholds,
            blocks: Vec::new(),
            length_ns: LENGTH_FIRST_NS,
            began_ns: None,
            ended_ns: 0.0,
            seen: None,
            ended_for_one: 1.0,
            has_latencies: true,
        }
    }

    /// A series of blocks that were summed elsewhere, in order of time.
    pub fn of_blocks(thresholds: Thresholds, blocks: Vec<Block>) -> Series {
        let mut series = Series::new(thresholds);
        series.has_latencies = false;
        series.blocks = blocks;
        while series.blocks.len() > BLOCKS_MAX {
            series.halve();
        }
        series
    }

    /// Adds an interval. `number`: in order of the ends, those not added included; threads may be a little ahead of
    /// each other. Parts as in [`Block::add`].
    pub fn add(
        &mut self,
        number: u64,
        end_ns: f64,
        latency_ns: f64,
        class: usize,
        parts: impl Iterator<Item = (usize, f64)>,
    ) {
        let began = *self.began_ns.get_or_insert(end_ns - latency_ns);
        self.ended_ns = self.ended_ns.max(end_ns);
        let since = (end_ns - began).max(0.0);
        while since / self.length_ns >= BLOCKS_MAX as f64 {
            self.halve();
            self.length_ns *= 2.0;
        }
        let at = (since / self.length_ns) as usize;
        if self.blocks.len() <= at {
            self.blocks.resize(at + 1, Block::default());
        }
        let block = &mut self.blocks[at];
        let before = self.seen.unwrap_or(number.saturating_sub(1));
        block.seen += number.saturating_sub(before) as f64;
        self.seen = Some(number.max(before));
        block.add(latency_ns, class, parts, &self.thresholds);
    }

    fn halve(&mut self) {
        self.blocks = pairs(&self.blocks);
    }

    /// The blocks that errors rest on: no more of them than neighbours are independent.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = self.blocks.clone();
        if let Some(began) = self.began_ns {
            let whole = self.ended_ns - began;
            for (at, block) in blocks.iter_mut().enumerate() {
                let start = at as f64 * self.length_ns;
                block.length_ns = (whole - start).clamp(0.0, self.length_ns);
                block.seen *= self.ended_for_one;
            }
        }
        if let [first, .., last] = &blocks[..]
            && last.length_ns < LAST_MIN * first.length_ns
        {
            let last = blocks.pop().expect("the last one");
            blocks.last_mut().expect("the one before").merge(&last);
        }
        while blocks.len() >= 2 * BLOCKS_MIN && is_correlated(&blocks) {
            blocks = pairs(&blocks);
        }
        blocks
    }

    /// Number of intervals with a known latency.
    pub fn intervals(&self) -> f64 {
        self.blocks.iter().map(|block| block.intervals).sum()
    }
}

/// Each two neighbours as one; the last is alone where their number is odd.
fn pairs(blocks: &[Block]) -> Vec<Block> {
    let pair = |pair: &[Block]| {
        let mut both = pair[0].clone();
        pair[1..].iter().for_each(|next| both.merge(next));
        both
    };
    blocks.chunks(2).map(pair).collect()
}

/// A figure of a block: of what, and of how much.
type Figure = fn(&Block) -> (f64, f64);

/// Whether what one block has tells of the next: of the mean latency, the slow ones, or the load.
fn is_correlated(blocks: &[Block]) -> bool {
    let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
    let figures: [Figure; 3] = [
        |block| (block.latency_ns, block.intervals),
        |block| (block.slow, block.intervals),
        |block| (block.seen, block.length_ns),
    ];
    let most = CORRELATION_MAX / (blocks.len() as f64).sqrt();
    figures.iter().any(|figure| {
        let values: Vec<f64> = blocks
            .iter()
            .map(figure)
            .map(|(of, whole)| part(of, whole))
            .collect();
        correlation(&values) > most
    })
}

/// Correlation of each value with the next.
fn correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let off: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let whole: f64 = off.iter().map(|off| off * off).sum();
    let next: f64 = off.windows(2).map(|two| two[0] * two[1]).sum();
    if whole > 0.0 { next / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds {
        cap_ns: 1e9,
        slow_ns: 1e9,
        near_ns: 1e9,
    };

    fn series(latency: impl Fn(u64) -> f64) -> Series {
        let mut series = Series::new(THRESHOLDS);
        for number in 0..6400 {
            let end = 1e6 * (number + 1) as f64;
            series.add(number, end, latency(number), 0, std::iter::empty());
        }
        series
    }

    #[test]
    fn nothing_is_lost_when_blocks_merge() {
        let blocks = series(|number| (number % 7) as f64).blocks();
        assert!(
            (BLOCKS_MIN..=BLOCKS_MAX).contains(&blocks.len()),
            "{}",
            blocks.len()
        );
        let all = blocks.iter().fold(Block::default(), |mut all, block| {
            all.merge(block);
            all
        });
        assert_eq!(all.intervals, 6400.0);
        // Their numbers are from 0 to 6,399.
        assert_eq!(all.seen, 6399.0);
        // From the beginning of the first, 1 ms after the start, to the end of the last.
        assert!((all.length_ns - 6399e6).abs() < 1.0, "{}", all.length_ns);
    }

    /// Summed by the minute. The last of eight minutes lasted half a minute, or a little less.
    #[test]
    fn a_short_last_block_is_a_part_of_the_one_before() {
        let lengths = |last_ns: f64| {
            let mut blocks = vec![60e9; 7];
            blocks.push(last_ns);
            let blocks = blocks.into_iter().map(|length_ns| Block {
                length_ns,
                ..Block::default()
            });
            let series = Series::of_blocks(THRESHOLDS, blocks.collect());
            let blocks = series.blocks();
            (blocks.len(), blocks[blocks.len() - 1].length_ns)
        };
        assert_eq!(lengths(30e9), (8, 30e9));
        assert_eq!(lengths(29e9), (7, 89e9));
    }

    /// Slow and quick minutes follow each other: what a long stretch has in common counts once.
    #[test]
    fn neighbours_that_are_alike_are_one() {
        let noise = |number: u64| (number * 7919 % 101) as f64;
        let alike = |number: u64| {
            let wave = (number / 800 % 2) as f64;
            1000.0 * wave + noise(number)
        };
        assert!(series(alike).blocks().len() < series(noise).blocks().len());
    }
}
