//! Random numbers by purpose: independent streams derived from one seed.

use evenkeel_locks::rng::Rng;

/// Purposes of random number streams.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The plan of transaction number `n`.
    Plan = 1,
    /// When transactions arrive.
    Arrivals = 2,
    /// The back-off of transaction number `n`.
    Backoff = 3,
}

/// The stream of `purpose` for the thing called `number`. Two generator steps between the seed and the stream, so that
/// neighbouring numbers do not give shifted copies of one stream.
pub(crate) fn stream(seed: u64, purpose: Purpose, number: u64) -> Rng {
    let key = Rng::new(seed ^ ((purpose as u64) << 56)).bits();
    Rng::new(Rng::new(key ^ number).bits())
}

/// Uniform on (0, 1]: never zero, so that its logarithm is finite.
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    ((rng.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Exponential with this mean.
pub(crate) fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -libm::log(unit(rng)) * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_streams_share_nothing() {
        let first = |number| {
            let mut rng = stream(7, Purpose::Plan, number);
            [rng.bits(), rng.bits(), rng.bits(), rng.bits()]
        };
        let mut all: Vec<u64> = (0..100).flat_map(first).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 400);
    }

    #[test]
    fn the_exponential_has_its_mean_and_is_its_own_standard_deviation() {
        let mut rng = Rng::new(3);
        let values: Vec<f64> = (0..100_000).map(|_| exponential(&mut rng, 5.0)).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        // Standard errors: 5 / sqrt(1e5) = 0.016 and about 0.22.
        assert!((mean - 5.0).abs() < 0.06, "{mean}");
        assert!((variance - 25.0).abs() < 0.9, "{variance}");
    }
}
