//! Variances and covariances out of exact sums.

/// A weighted number: of 64 bits where it fits, as nearly all do. Products of two such are one multiplication.
#[derive(Clone, Copy, Debug)]
pub enum WeightedTicks {
    /// It fits.
    Narrow(i64),
    /// It does not.
    Wide(i128),
}

/// A weighted number that is added, and multiplied with others. One of weight 1 is the number itself.
pub trait Factor: Copy {
    /// The number.
    fn sum(self) -> i128;
    /// Its product with another number, exactly.
    fn times(self, by: i64) -> i128;
}

impl Factor for i64 {
    #[inline]
    fn sum(self) -> i128 {
        self.into()
    }

    #[inline]
    fn times(self, by: i64) -> i128 {
        i128::from(self) * i128::from(by)
    }
}

impl WeightedTicks {
    /// `weight` times `value`, exactly.
    #[inline]
    pub fn new(weight: u64, value: i64) -> WeightedTicks {
        let narrow = i64::try_from(weight)
            .ok()
            .and_then(|weight| weight.checked_mul(value));
        narrow.map_or_else(
            || WeightedTicks::Wide(i128::from(weight) * i128::from(value)),
            WeightedTicks::Narrow,
        )
    }
}

impl Factor for WeightedTicks {
    #[inline]
    fn sum(self) -> i128 {
        match self {
            WeightedTicks::Narrow(sum) => sum.into(),
            WeightedTicks::Wide(sum) => sum,
        }
    }

    #[inline]
    fn times(self, by: i64) -> i128 {
        match self {
            WeightedTicks::Narrow(sum) => i128::from(sum) * i128::from(by),
            WeightedTicks::Wide(sum) => sum * i128::from(by),
        }
    }
}

/// Sum of (a - mean a)(b - mean b) over n intervals, from the sums of a b, a and b.
///
/// The subtraction is exact: values are shifted by the whole ticks of their means in integers. Only the rest, less
/// than one tick in each mean, is subtracted in floating point. So a small variance on a large mean loses nothing.
pub fn co_moment(n: u64, products: i128, a: i128, b: i128) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let n = i128::from(n);
    let (mean_a, mean_b) = (a.div_euclid(n), b.div_euclid(n));
    let (rest_a, rest_b) = (a.rem_euclid(n), b.rem_euclid(n));
    // sum (a - mean_a)(b - mean_b) = products - mean_b * a - mean_a * b + n mean_a mean_b, and a = n mean_a + rest_a.
    let moved = products - mean_b * a - mean_a * rest_b;
    moved as f64 - rest_a as f64 * rest_b as f64 / n as f64
}

/// Sample standard deviation from a sum of squares about the mean; zero for fewer than two values.
pub fn standard_deviation(moment: f64, count: u64) -> f64 {
    if count < 2 {
        0.0
    } else {
        (moment.max(0.0) / (count - 1) as f64).sqrt()
    }
}

/// Mean of `count` values with this sum; zero for none.
pub fn mean(sum: i128, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}

/// `part / whole`, or zero where the whole does not vary.
pub fn fraction(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
