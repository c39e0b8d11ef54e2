//! Mean and variance from exact integer sums.
//!
//! Sums merge by addition in any order to the same result, and no rounding grows with their number. A histogram's buckets
//! would put an error of their width into the variance, so histograms serve percentiles only.

/// Count, sum and sum of squares of durations in nanoseconds. Durations below 2^40 ns (18 minutes) leave room for 2^43 of
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of values.
    pub count: u64,
    sum_ns: u128,
    squares_ns2: u128,
    /// The longest.
    pub max_ns: u64,
}

impl Sums {
    /// Adds one duration.
    pub fn add(&mut self, ns: u64) {
        let wide = u128::from(ns);
        self.count += 1;
        self.sum_ns += wide;
        self.squares_ns2 += wide * wide;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.squares_ns2 += other.squares_ns2;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The mean; 0 without any.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum_ns as f64 / self.count as f64
    }

    /// The variance of the population, in square nanoseconds; 0 without any.
    ///
    /// With S the sum, Q that of squares, S = q n + r: n Var = Q - S²/n = Q - S q - S r / n. Every product fits, and
    /// only the last fraction of a unit is rounded.
    pub fn variance_ns2(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let n = u128::from(self.count);
        let (quotient, remainder) = (self.sum_ns / n, self.sum_ns % n);
        let correction = self.sum_ns * remainder;
        let whole = self.squares_ns2 - self.sum_ns * quotient - correction / n;
        (whole as f64 - (correction % n) as f64 / n as f64) / n as f64
    }

    /// The standard deviation of the population; 0 without any.
    pub fn sd_ns(&self) -> f64 {
        self.variance_ns2().max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Sums {
        let mut sums = Sums::default();
        values.iter().for_each(|&value| sums.add(value));
        sums
    }

    #[test]
    fn of_two_four_four_four_five_five_seven_nine() {
        // The usual example: mean 5, standard deviation 2.
        let sums = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((sums.mean_ns(), sums.sd_ns(), sums.max_ns), (5.0, 2.0, 9));
        assert_eq!(Sums::default().sd_ns(), 0.0);
    }

    #[test]
    fn a_small_variance_beside_a_large_mean_is_exact() {
        // 18 minutes, 18 minutes and 1 ns: variance 1/4 of a square nanosecond. Floating-point sums would give 0 or worse.
        let long = (1 << 40) - 2;
        assert_eq!(of(&[long, long + 1]).variance_ns2(), 0.25);
        // Of three, one a nanosecond longer: 2/9.
        assert!((of(&[long, long, long + 1]).variance_ns2() - 2.0 / 9.0).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn merging_is_adding(a in prop::collection::vec(0u64..1 << 40, 0..50), b in prop::collection::vec(0u64..1 << 40, 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn the_variance_is_the_mean_square_of_deviations(values in prop::collection::vec(0u64..1 << 40, 1..50)) {
            let sums = of(&values);
            let squares: f64 = values.iter().map(|&value| (value as f64 - sums.mean_ns()).powi(2)).sum();
            let expected = squares / values.len() as f64;
            prop_assert!((sums.variance_ns2() - expected).abs() <= 1e-6 * expected.max(1.0));
        }
    }
}
