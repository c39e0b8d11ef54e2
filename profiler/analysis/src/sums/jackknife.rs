//! Standard errors by the block jackknife.
//!
//! Neighbouring intervals are correlated (bursts, checkpoints, cache states), so leaving out single intervals would
//! give too small errors. Blocks of consecutive intervals are left out instead (Künsch 1989): each statistic is
//! computed without each block, and its spread gives the error. Blocks may differ in size. The delete-m_j jackknife
//! of Busing, Meijer and van der Leeden (1999), "Delete-m jackknife for unequal m", equals the usual one where they
//! do not.

/// A statistic computed with everything, and without each block.
#[derive(Clone, Debug, Default)]
pub struct Replicates {
    /// Intervals of each block.
    pub sizes: Vec<u64>,
    /// By statistic: its value over all intervals.
    pub whole: Vec<f64>,
    /// By block, by statistic: its value without the block.
    pub without: Vec<Vec<f64>>,
}

impl Replicates {
    /// Standard error of a statistic; zero where there are fewer than two blocks.
    pub fn standard_error(&self, statistic: usize) -> f64 {
        self.combined_error(&[(statistic, 1.0)])
    }

    /// Standard error of a sum of statistics, each times its factor.
    pub fn combined_error(&self, terms: &[(usize, f64)]) -> f64 {
        let combine = |values: &[f64]| {
            terms
                .iter()
                .map(|&(at, factor)| factor * values[at])
                .sum::<f64>()
        };
        let without: Vec<f64> = self.without.iter().map(|values| combine(values)).collect();
        delete_block_variance(combine(&self.whole), &self.sizes, &without).sqrt()
    }
}

/// Variance of an estimate from its values without each block (Busing et al. 1999, equations 6 and 7). Let h_j = n /
/// m_j, with pseudo-values p_j = h_j t - (h_j - 1) t_j around their weighted mean p. Then var = 1/g sum (p_j - p)^2 /
/// (h_j - 1).
pub(crate) fn delete_block_variance(whole: f64, sizes: &[u64], without: &[f64]) -> f64 {
    let blocks = sizes.len() as f64;
    let total = sizes.iter().sum::<u64>() as f64;
    if sizes.len() < 2 {
        return 0.0;
    }
    let center = blocks * whole
        - sizes
            .iter()
            .zip(without)
            .map(|(&size, &value)| (1.0 - size as f64 / total) * value)
            .sum::<f64>();
    let spread = sizes.iter().zip(without).map(|(&size, &value)| {
        let inverse = total / size as f64;
        let pseudo = inverse * whole - (inverse - 1.0) * value;
        (pseudo - center).powi(2) / (inverse - 1.0)
    });
    spread.sum::<f64>() / blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the mean and blocks of one value the jackknife is the textbook's s / sqrt(n). Values 1, 2, 3, 6: mean 3, sum
    /// of squares about it 4 + 1 + 0 + 9 = 14, s^2 = 14/3, error^2 = 14/12.
    #[test]
    fn error_of_a_mean() {
        let without = [11.0 / 3.0, 10.0 / 3.0, 3.0, 2.0];
        let variance = delete_block_variance(3.0, &[1; 4], &without);
        assert!((variance - 14.0 / 12.0).abs() < 1e-12);
    }

    /// Unequal blocks {1, 3} and {8}: mean 4, without them 8 and 2. h = 3/2 and 3; pseudo-values 6 - 4 = 2 and
    /// 12 - 4 = 8; weighted mean 2 * 4 - (1/3 * 8 + 2/3 * 2) = 4; (4 / (1/2) + 16 / 2) / 2 = 8.
    #[test]
    fn unequal_blocks() {
        assert!((delete_block_variance(4.0, &[2, 1], &[8.0, 2.0]) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn one_block_tells_nothing() {
        assert_eq!(delete_block_variance(4.0, &[2], &[4.0]), 0.0);
    }
}
