//! Figures of one recording, each with the error that its blocks of time show.

use std::collections::BTreeSet;

use super::block::{Block, cell_start};
use super::fieller::{Drift, Estimate};

/// Number of bootstrap draws of the blocks.
const DRAWS: usize = 400;
/// Intervals above a percentile, and slow ones that a part's time rests on, at least.
pub(super) const ABOVE_MIN: f64 = 20.0;
/// Fewer blocks give no estimate.
const BLOCKS_FEW: f64 = 6.0;
/// Neighbours that are more alike than that are one block that is too short.
const CORRELATION_MAX: f64 = 0.9;
/// Stretches of a recording that are compared for drift. Each has at least two blocks, or there is no estimate.
pub(super) const STRETCHES: usize = 4;

/// A recording's blocks and their sum.
#[derive(Debug)]
pub struct Recorded {
    /// Blocks of time, in order.
    pub blocks: Vec<Block>,
    /// All of them.
    pub total: Block,
    /// Latencies are known one by one.
    pub has_latencies: bool,
}

impl Recorded {
    /// These blocks.
    pub fn new(blocks: Vec<Block>, has_latencies: bool) -> Recorded {
        let mut total = Block::default();
        blocks.iter().for_each(|block| total.merge(block));
        Recorded {
            blocks,
            total,
            has_latencies,
        }
    }

    /// The ratio of two sums. The error is that of the blocks' own sums about the ratio (Cochran 1977, "Sampling
    /// techniques", section 6.3).
    pub fn ratio(&self, part: impl Fn(&Block) -> f64, whole: impl Fn(&Block) -> f64) -> Estimate {
        let all = whole(&self.total);
        if all <= 0.0 {
            return Estimate::default();
        }
        let value = part(&self.total) / all;
        let error = self.error(|block| part(block) - value * whole(block));
        error.of(value, 1.0 / all)
    }

    /// Mean latency, winsorised.
    pub fn mean(&self) -> Estimate {
        self.ratio(|block| block.latency_ns, |block| block.intervals)
    }

    /// Standard deviation, winsorised.
    pub fn sd(&self) -> Estimate {
        let mean = self.mean().value;
        let n = self.total.intervals.max(1.0);
        let about = |block: &Block| {
            block.squares_ns2 - 2.0 * mean * block.latency_ns + mean * mean * block.intervals
        };
        let variance = about(&self.total).max(0.0) / n;
        let error = self.error(|block| about(block) - variance * block.intervals);
        let sd = variance.sqrt();
        error.of(sd, if sd > 0.0 { 1.0 / (n * 2.0 * sd) } else { 0.0 })
    }

    /// Mean time of a part in an interval.
    pub fn part_mean(&self, part: usize) -> Estimate {
        self.ratio(|block| block.part(part).all_ns, |block| block.intervals)
    }

    /// Mean time of a part in a slow interval. The latency at which slow intervals begin is an estimate, too. If this
    /// border moves, an interval just below it replaces a slow one. Their times are those at the border (Manistre and
    /// Hancock 2005, "Variance of the CTE estimator").
    pub fn part_slow(&self, part: usize) -> Estimate {
        let slow = self.total.slow;
        if slow <= 0.0 {
            return Estimate::default();
        }
        let whole = self.total.part(part);
        let value = whole.slow_ns / slow;
        let border = match self.total.near {
            near if near > 0.0 => whole.near_ns / near,
            _ => value,
        };
        let fraction = slow / self.total.intervals;
        let error = self.error(|block| {
            let beyond = block.part(part).slow_ns - border * block.slow;
            beyond - (value - border) * fraction * block.intervals
        });
        error.of(value, 1.0 / slow)
    }

    /// Error of a sum over the blocks that is zero over all of them.
    fn error(&self, of: impl Fn(&Block) -> f64) -> Error {
        let values: Vec<f64> = self.blocks.iter().map(of).collect();
        Error::of_blocks(&values)
    }

    /// Percentiles of the latency, by the bootstrap over blocks of time (Künsch 1989, "The jackknife and the
    /// bootstrap for general stationary observations"). Blocks are drawn with replacement, and the error is the
    /// spread of the results. `None` where too few intervals are above a percentile.
    pub fn percentiles(&self, quantiles: &[f64]) -> Vec<Option<Estimate>> {
        if !self.has_latencies || (self.blocks.len() as f64) < BLOCKS_FEW {
            return vec![None; quantiles.len()];
        }
        let cells = Cells::of(&self.blocks);
        let blocks = self.blocks.len();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut sums = vec![(0.0, 0.0); quantiles.len()];
        for _ in 0..DRAWS {
            let mut times = vec![0.0; blocks];
            for _ in 0..blocks {
                times[random.below(blocks)] += 1.0;
            }
            for (sum, &quantile) in sums.iter_mut().zip(quantiles) {
                let drawn = cells.quantile(&times, quantile);
                sum.0 += drawn;
                sum.1 += drawn * drawn;
            }
        }
        let once = vec![1.0; blocks];
        let draws = DRAWS as f64;
        // Of few blocks a draw has too little spread: each is there itself.
        let few = blocks as f64 / (blocks as f64 - 1.0);
        quantiles
            .iter()
            .zip(sums)
            .map(|(&quantile, (sum, squares))| {
                let above = (1.0 - quantile) * self.total.intervals;
                let variance = (squares / draws - (sum / draws).powi(2)).max(0.0);
                let value = cells.quantile(&once, quantile);
                // What is within a cell is not known.
                let width = cells.width_at(value);
                let se = (variance * few).sqrt().max(width / 12f64.sqrt());
                // Blocks are drawn as if they were independent; how much those above it are not shows how many there
                // are.
                let border = super::block::cell(value);
                let beyond = self.error(|block| {
                    let own = block.histogram.range(border..).map(|(_, count)| count);
                    own.sum::<f64>() - (1.0 - quantile) * block.intervals
                });
                (above >= ABOVE_MIN).then(|| {
                    let se = se * beyond.alike.sqrt();
                    let drift = match beyond.se {
                        0.0 => Drift::default(),
                        own => beyond.drift.times(se / own),
                    };
                    Estimate {
                        value,
                        se,
                        df: beyond.df,
                        drift,
                    }
                })
            })
            .collect()
    }
}

/// The blocks' error of their sum.
struct Error {
    /// Standard error of the sum.
    se: f64,
    /// By how much the variance is larger than that of independent blocks.
    alike: f64,
    df: f64,
    drift: Drift,
}

impl Error {
    /// Error of the blocks' own sums, in order of time. The remaining correlation of neighbours is modelled as an
    /// autoregressive process of the first order (Andrews and Monahan 1992, "An improved heteroskedasticity and
    /// autocorrelation consistent covariance matrix estimator"). The bias of a short series is removed (Marriott and
    /// Pope 1954, "Bias in the estimation of autocorrelations").
    fn of_blocks(values: &[f64]) -> Error {
        let blocks = values.len() as f64;
        if blocks < BLOCKS_FEW {
            return Error {
                se: f64::INFINITY,
                alike: 1.0,
                df: 1.0,
                drift: Drift::default(),
            };
        }
        let found = correlation(values);
        let unbiased = (found + 1.0 / blocks) / (1.0 - 4.0 / blocks);
        let correlation = unbiased.clamp(0.0, CORRELATION_MAX);
        let alike = (1.0 + correlation) / (1.0 - correlation);
        let squares: f64 = values.iter().map(|value| value * value).sum();
        Error {
            se: (squares * blocks / (blocks - 1.0) * alike).sqrt(),
            alike,
            df: (blocks / alike - 1.0).max(1.0),
            drift: drift(values),
        }
    }

    /// The error of an estimate with this value, which is the sum times `factor`.
    fn of(&self, value: f64, factor: f64) -> Estimate {
        Estimate {
            value,
            se: self.se * factor,
            df: self.df,
            drift: self.drift.times(factor),
        }
    }
}

/// How much stretches of a recording differ, for the sum over all blocks. It is an analysis of variance (Searle,
/// Casella and McCulloch 1992, "Variance components", section 3.6). A server's pace wanders at all lengths of time:
/// runs differ by what minutes differ by.
fn drift(values: &[f64]) -> Drift {
    let each = values.len() / STRETCHES;
    if each < 2 {
        return Drift::default();
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| {
        let middle = mean(values);
        let off = values.iter().map(|value| (value - middle).powi(2));
        off.sum::<f64>()
    };
    let stretches = values.chunks_exact(each).take(STRETCHES);
    let means: Vec<f64> = stretches.clone().map(mean).collect();
    let between = squares(&means) / (STRETCHES - 1) as f64;
    let within = stretches.map(squares).sum::<f64>() / (STRETCHES * (each - 1)) as f64;
    let of_means = Drift {
        between,
        within: within / each as f64,
    };
    of_means.times(values.len() as f64)
}

/// Correlation of each value with the next, of values around zero.
fn correlation(values: &[f64]) -> f64 {
    let whole: f64 = values.iter().map(|value| value * value).sum();
    let next: f64 = values.windows(2).map(|two| two[0] * two[1]).sum();
    if whole > 0.0 { next / whole } else { 0.0 }
}

/// Counts by block and cell, added up from the smallest latency on.
struct Cells {
    cells: Vec<u32>,
    /// By cell: of each block, intervals in it and in those below.
    upto: Vec<Vec<f64>>,
}

impl Cells {
    fn of(blocks: &[Block]) -> Cells {
        let cells: BTreeSet<u32> = blocks
            .iter()
            .flat_map(|block| block.histogram.keys().copied())
            .collect();
        let cells: Vec<u32> = cells.into_iter().collect();
        let mut sums = vec![0.0; blocks.len()];
        let upto = cells.iter().map(|cell| {
            for (sum, block) in sums.iter_mut().zip(blocks) {
                *sum += block.histogram.get(cell).copied().unwrap_or_default();
            }
            sums.clone()
        });
        Cells {
            upto: upto.collect(),
            cells,
        }
    }

    /// The quantile of the latency, with each block counted `times` often; within a cell in proportion.
    fn quantile(&self, times: &[f64], quantile: f64) -> f64 {
        let below = |at: usize| -> f64 {
            let upto = self.upto[at].iter().zip(times);
            upto.map(|(count, times)| count * times).sum()
        };
        let Some(last) = self.cells.len().checked_sub(1) else {
            return 0.0;
        };
        let wanted = quantile * below(last);
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = usize::midpoint(low, high);
            if below(middle) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let before = if low > 0 { below(low - 1) } else { 0.0 };
        let own = below(low) - before;
        let within = if own > 0.0 {
            ((wanted - before) / own).clamp(0.0, 1.0)
        } else {
            0.5
        };
        let cell = self.cells[low];
        let (start, end) = (cell_start(cell), cell_start(cell + 1));
        start + within * (end - start)
    }

    fn width_at(&self, value: f64) -> f64 {
        let cell = super::block::cell(value);
        cell_start(cell + 1) - cell_start(cell)
    }
}

/// A linear congruential generator (Knuth's MMIX): the same draws in every run, so that a comparison says the same
/// twice.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent values have the usual error. Of values in groups of eight equal ones, the error is nearly that of
    /// an eighth as many.
    #[test]
    fn neighbours_that_are_alike_count_less() {
        let noise = |at: u64| {
            (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        let centred = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let off = values.iter().map(|value| value - mean);
            Error::of_blocks(&off.collect::<Vec<f64>>())
        };
        let independent = centred((0..64).map(noise).collect());
        assert!(independent.alike < 1.5 && independent.df > 40.0);
        let alike = centred((0..64).map(|at| noise(at / 8)).collect());
        assert!(alike.alike > 5.0 && alike.df < 12.0, "{}", alike.alike);
        // Of a ramp, neighbours are as much alike as may be, 0.9: 16 blocks are as good as 16 / 19.
        let ramp = centred((0..16).map(f64::from).collect());
        assert_eq!((ramp.alike.round(), ramp.df), (19.0, 1.0));
        assert_eq!(Error::of_blocks(&[0.0; 5]).se, f64::INFINITY);
    }
}
