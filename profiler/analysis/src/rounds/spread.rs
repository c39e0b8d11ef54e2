//! How the latencies of a round are spread, and whether one round holds more of what varies than another, as when the load changes.
//!
//! A server that answers within 50 µs for ten seconds, and within 2 ms or 20 for the next ten, has its variance in the latter, whichever of
//! them was the last. So has the p99 that its clients see.

use crate::rounds::policy::WIDER_MIN;
use crate::sums::blocks::Blocks;

/// How the latencies of a round are spread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    intervals: f64,
    /// Sum of the latencies, ticks.
    latency: f64,
    /// Sum of their squares.
    squares: f64,
}

impl Spread {
    /// That of the intervals in these blocks.
    pub fn of(blocks: &Blocks) -> Spread {
        let mut spread = Spread::default();
        for sums in blocks.blocks() {
            spread.intervals += sums.intervals as f64;
            spread.latency += sums.latency as f64;
            spread.squares += sums.latency_squared as f64;
        }
        spread
    }

    /// Both together.
    pub fn and(self, other: Spread) -> Spread {
        Spread {
            intervals: self.intervals + other.intervals,
            latency: self.latency + other.latency,
            squares: self.squares + other.squares,
        }
    }

    /// How many intervals there are.
    pub fn intervals(&self) -> f64 {
        self.intervals
    }

    /// Standard deviation of the latency, ticks.
    pub fn standard_deviation(&self) -> f64 {
        (self.moment() / (self.intervals - 1.0).max(1.0)).sqrt()
    }

    /// Sum of squared distances from the mean.
    fn moment(&self) -> f64 {
        (self.squares - self.latency * self.latency / self.intervals.max(1.0)).max(0.0)
    }

    /// Whether these intervals vary more than those, each of them and all together.
    pub fn varies_more_than(&self, than: &Spread) -> bool {
        self.moment() > than.moment() && self.is_wider(than)
    }

    fn is_wider(&self, than: &Spread) -> bool {
        self.moment() * than.intervals >= WIDER_MIN * than.moment() * self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(latencies: &[f64], times: f64) -> Spread {
        Spread {
            intervals: times * latencies.len() as f64,
            latency: times * latencies.iter().sum::<f64>(),
            squares: times
                * latencies
                    .iter()
                    .map(|latency| latency * latency)
                    .sum::<f64>(),
        }
    }

    /// Quiet: 10 and 12. 10 and 16 have nine times the variance; a twentieth as many of them have less of it than all of the others.
    #[test]
    fn what_varies_more_varies_more_than() {
        let quiet = spread(&[10.0, 12.0], 100.0);
        assert!(spread(&[10.0, 16.0], 100.0).varies_more_than(&quiet));
        assert!(!quiet.varies_more_than(&spread(&[10.0, 16.0], 100.0)));
        assert!(
            !spread(&[9.5, 12.5], 100.0).varies_more_than(&quiet),
            "hardly"
        );
        assert!(spread(&[100.0, 106.0], 20.0).varies_more_than(&quiet));
        assert!(
            !spread(&[10.0, 16.0], 5.0).varies_more_than(&quiet),
            "too few"
        );
        assert!(!Spread::default().varies_more_than(&Spread::default()));
    }
}
