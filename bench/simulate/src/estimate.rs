//! Means over independent replications, with confidence intervals.
//!
//! Latencies of one run are correlated, so the spread within a run says little about the error of its mean. Runs with
//! different seeds are independent, and their spread gives the error (Law, "Simulation Modeling and Analysis",
//! section 9.4.1, the method of independent replications).

use serde::Serialize;

/// Student's t for two-sided 95 % intervals by degrees of freedom, from 1.
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean and half the width of its 95 % confidence interval, which is 0 for a single value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval about it.
    pub half_width: f64,
}

impl Estimate {
    /// An estimate from one value a replication.
    pub fn of(values: impl Iterator<Item = f64>) -> Estimate {
        let values: Vec<f64> = values.collect();
        let count = values.len() as f64;
        if values.is_empty() {
            return Estimate::default();
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let half_width = if values.len() == 1 {
            0.0
        } else {
            student_t(values.len() - 1) * (squares / (count - 1.0) / count).sqrt()
        };
        Estimate { mean, half_width }
    }
}

/// Above 30 degrees of freedom by `z + (z^3 + z) / 4n` with `z` the normal's quantile (Abramowitz and Stegun 26.7.5).
fn student_t(freedom: usize) -> f64 {
    let z: f64 = 1.959_964;
    STUDENT_T
        .get(freedom - 1)
        .copied()
        .unwrap_or_else(|| z + (z * z * z + z) / (4.0 * freedom as f64))
}

/// A ratio of two paired measurements: its geometric mean and 95 % confidence interval. Pairing takes out what both have
/// in common, here the arrivals and draws of a seed; logarithms make a ratio and its inverse alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The geometric mean.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// A ratio from pairs of positive values, numerator first; `None` if one is not positive.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Ratio> {
        let logarithms: Option<Vec<f64>> = pairs
            .map(|(a, b)| (a > 0.0 && b > 0.0).then(|| libm::log(a / b)))
            .collect();
        let logarithms = logarithms.filter(|values| !values.is_empty())?;
        let Estimate { mean, half_width } = Estimate::of(logarithms.into_iter());
        Some(Ratio {
            ratio: libm::exp(mean),
            low: libm::exp(mean - half_width),
            high: libm::exp(mean + half_width),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_students() {
        // Mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5), t with 4 degrees of freedom 2.776.
        let estimate = Estimate::of([1.0, 2.0, 3.0, 4.0, 5.0].into_iter());
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.half_width - 2.776 * 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(Estimate::of([7.0].into_iter()).half_width, 0.0);
        assert_eq!(Estimate::of(std::iter::empty()), Estimate::default());
    }

    #[test]
    fn students_t_goes_on_without_a_jump() {
        // Tables give 2.021 for 40 and 1.980 for 120.
        assert!((student_t(40) - 2.021).abs() < 0.002);
        assert!((student_t(120) - 1.980).abs() < 0.001);
        assert!((1..200).all(|freedom| student_t(freedom + 1) <= student_t(freedom)));
    }

    #[test]
    fn a_ratio_and_its_inverse_agree() {
        let pairs = [(2.0, 1.0), (8.0, 1.0)];
        let ratio = Ratio::of(pairs.into_iter()).expect("positive");
        let inverse = Ratio::of(pairs.into_iter().map(|(a, b)| (b, a))).expect("positive");
        assert!((ratio.ratio - 4.0).abs() < 1e-12);
        assert!((ratio.low * inverse.high - 1.0).abs() < 1e-12);
        assert_eq!(Ratio::of([(1.0, 0.0)].into_iter()), None);
    }
}
