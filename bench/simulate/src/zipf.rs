//! Zipf's distribution over ranks: rank `k`, from 0, has weight `1 / (k + 1)^theta`.
//!
//! By a table of cumulative weights, exact for every theta (Gray's generator, common in benchmarks, stops at 1).

use evenkeel_locks::draws::Draws;

use crate::sample;

/// A sampler of ranks.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Over `ranks` ranks; `theta` 0 is uniform.
    pub(crate) fn new(ranks: u32, theta: f64) -> Zipf {
        let mut sum = 0.0;
        let weight = |rank: u32| {
            sum += libm::pow(f64::from(rank), -theta);
            sum
        };
        Zipf {
            cumulative: (1..=ranks).map(weight).collect(),
        }
    }

    /// A rank.
    pub(crate) fn draw(&self, draws: &mut Draws) -> u32 {
        let ranks = self.cumulative.len();
        let target = sample::unit(draws) * self.cumulative[ranks - 1];
        let rank = self.cumulative.partition_point(|&sum| sum < target);
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
        let mut draws = Draws::new(11);
        let mut counts = [0u32; 3];
        for _ in 0..110_000 {
            counts[zipf.draw(&mut draws) as usize] += 1;
        }
        // Standard errors: at most sqrt(110000 / 4) = 166.
        for (count, expected) in counts.into_iter().zip([60_000u32, 30_000, 20_000]) {
            assert!(count.abs_diff(expected) < 600, "{counts:?}");
        }
    }
}
