//! Zipf's distribution over ranks: rank `k`, from 0, has weight `1 / (k + 1)^theta`.
//!
//! Uses a table of cumulative weights, exact for every theta (Gray's generator, common in benchmarks, stops at 1). A
//! second table, a guide, gives the place to look in the first (Chen and Asau, "On Generating Random Variates from an
//! Empirical Distribution", AIIE Transactions 1974). A search over all ranks would miss the cache at each of its
//! steps.

use evenkeel_locks::rng::Rng;

use crate::sample;

/// A sampler of ranks.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
    /// By cell of equal width between 0 and the sum of all weights: the first rank whose cumulative weight is in that
    /// cell or a later one. One cell a rank, and the end.
    guide: Vec<u32>,
    cells_per_weight: f64,
}

impl Zipf {
    /// Over `ranks` ranks; `theta` 0 is uniform.
    pub(crate) fn new(ranks: u32, theta: f64) -> Zipf {
        let mut sum = 0.0;
        let weight = |rank: u32| {
            sum += libm::pow(f64::from(rank), -theta);
            sum
        };
        let cumulative: Vec<f64> = (1..=ranks).map(weight).collect();
        let cells_per_weight = f64::from(ranks) / sum;
        let mut guide = Vec::with_capacity(cumulative.len() + 2);
        for (rank, &sum) in cumulative.iter().enumerate() {
            let cell = (sum * cells_per_weight) as usize;
            guide.resize((cell + 1).max(guide.len()), rank as u32);
        }
        guide.resize((cumulative.len() + 2).max(guide.len()), ranks);
        Zipf {
            cumulative,
            guide,
            cells_per_weight,
        }
    }

    /// A rank.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        let ranks = self.cumulative.len();
        let target = sample::unit(rng) * self.cumulative[ranks - 1];
        // Cells are a monotone function of weights: ranks of earlier cells are below the target, the first of a later
        // cell is not.
        let cell = (target * self.cells_per_weight) as usize;
        let (first, last) = (self.guide[cell] as usize, self.guide[cell + 1] as usize);
        let rank = first + self.cumulative[first..last].partition_point(|&sum| sum < target);
        rank.min(ranks - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        // Theta 1 over 3 ranks: 6/11, 3/11, 2/11.
        let zipf = Zipf::new(3, 1.0);
        let mut rng = Rng::new(11);
        let mut counts = [0u32; 3];
        for _ in 0..110_000 {
            counts[zipf.draw(&mut rng) as usize] += 1;
        }
        // Standard errors: at most sqrt(110000 / 4) = 166.
        for (count, expected) in counts.into_iter().zip([60_000u32, 30_000, 20_000]) {
            assert!(count.abs_diff(expected) < 600, "{counts:?}");
        }
    }

    #[test]
    fn the_guide_changes_no_rank() {
        for (ranks, theta) in [
            (1, 0.8),
            (2, 0.0),
            (1000, 0.0),
            (1000, 0.8),
            (777, 1.3),
            (300, 8.0),
        ] {
            let zipf = Zipf::new(ranks, theta);
            let total = zipf.cumulative[zipf.cumulative.len() - 1];
            let (mut rng, mut same) = (Rng::new(5), Rng::new(5));
            for _ in 0..20_000 {
                let target = sample::unit(&mut same) * total;
                let searched = zipf.cumulative.partition_point(|&sum| sum < target);
                let searched = (searched as u32).min(ranks - 1);
                assert_eq!(zipf.draw(&mut rng), searched, "{ranks} {theta}");
            }
        }
    }
}
