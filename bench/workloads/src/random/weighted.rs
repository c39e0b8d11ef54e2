//! A choice among a few alternatives with given weights, such as a transaction mix.

use super::Random;

/// Alternatives `0..n`, each drawn in proportion to its weight.
#[derive(Clone, Debug)]
pub struct Weighted {
    cumulative: Vec<f64>,
}

impl Weighted {
    /// With these weights, which need not add up to 1.
    ///
    /// # Panics
    /// If a weight is negative or all are zero.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut cumulative = Vec::new();
        for weight in weights {
            assert!(weight >= 0.0, "a weight is negative");
            sum += weight;
            cumulative.push(sum);
        }
        assert!(sum > 0.0, "all weights are zero");
        Weighted { cumulative }
    }

    /// An alternative.
    pub fn draw(&self, random: &mut Random) -> usize {
        let target = random.unit() * self.cumulative[self.cumulative.len() - 1];
        self.cumulative.partition_point(|&sum| sum <= target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_weights() {
        let weighted = Weighted::new([0.0, 3.0, 1.0]);
        let mut random = Random::new(9, &[]);
        let mut counts = [0i32; 3];
        for _ in 0..40_000 {
            counts[weighted.draw(&mut random)] += 1;
        }
        // The standard deviation is 87.
        assert_eq!(counts[0], 0);
        assert!((counts[1] - 30_000).abs() < 440, "{counts:?}");
    }
}
