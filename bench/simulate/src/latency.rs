//! Exact statistics of latencies: every value is kept, nothing is put into buckets.

use serde::Serialize;

/// Latencies in ticks: mean, standard deviation (of the population) and percentiles by nearest rank. All are 0 if there
/// is no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The greatest.
    pub max: u64,
}

impl Latency {
    /// Statistics of these values, which it sorts.
    pub fn of(values: &mut [u64]) -> Latency {
        let Some(last) = values.len().checked_sub(1) else {
            return Latency::default();
        };
        values.sort_unstable();
        let count = values.len() as f64;
        let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
        let mean = sum as f64 / count;
        let squares: f64 = values
            .iter()
            .map(|&value| (value as f64 - mean) * (value as f64 - mean))
            .sum();
        let rank = |per_mille: usize| {
            let rank = (values.len() * per_mille).div_ceil(1000);
            values[rank.saturating_sub(1).min(last)]
        };
        Latency {
            count: values.len() as u64,
            mean,
            sd: (squares / count).sqrt(),
            p50: rank(500),
            p95: rank(950),
            p99: rank(990),
            p999: rank(999),
            max: values[last],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_to_a_thousand() {
        let mut values: Vec<u64> = (1..=1000).rev().collect();
        let latency = Latency::of(&mut values);
        assert_eq!((latency.mean, latency.p50, latency.p95), (500.5, 500, 950));
        assert_eq!((latency.p99, latency.p999, latency.max), (990, 999, 1000));
        // (n^2 - 1) / 12
        assert!((latency.sd - (999_999.0f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(Latency::of(&mut []), Latency::default());
        assert_eq!(Latency::of(&mut [7]).p50, 7);
    }
}
