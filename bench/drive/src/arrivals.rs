//! When transactions of an open loop arrive.

use evenkeel_locks::rng::Rng;

/// Nanoseconds of a second.
const NS_PER_S: f64 = 1e9;

/// The spread of an open loop's arrivals over time. Every kind keeps the given mean rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// One every `1 / rate`.
    Constant,
    /// Poisson: independent exponential gaps.
    Poisson,
    /// On and off: Poisson at `factor` times the rate for `on_ns`, then nothing until the mean is the rate again.
    Bursty {
        /// Rate in a burst relative to the mean rate; above 1.
        factor: f64,
        /// Length of a burst.
        on_ns: u64,
    },
}

impl Spread {
    /// Name in reports: `constant`, `poisson` or `bursty`.
    pub fn name(self) -> &'static str {
        match self {
            Spread::Constant => "constant",
            Spread::Poisson => "poisson",
            Spread::Bursty { .. } => "bursty",
        }
    }
}

/// The arrival times of an open loop in nanoseconds from its start, rising without end. They are drawn from the seed alone:
/// nothing that the target does can move them.
#[derive(Clone, Debug)]
pub struct Times {
    spread: Spread,
    rate_per_s: f64,
    rng: Rng,
    /// Time during which arrivals are possible, that is, without the pauses between bursts.
    open_ns: f64,
    next_ns: u64,
}

impl Times {
    /// Arrivals at a mean of `rate_per_s`, which is above zero.
    pub fn new(spread: Spread, rate_per_s: f64, seed: u64) -> Times {
        assert!(rate_per_s > 0.0, "a rate is above zero");
        let mut times = Times {
            spread,
            rate_per_s,
            rng: Rng::new(seed),
            open_ns: 0.0,
            next_ns: 0,
        };
        times.pass();
        times
    }

    /// The next arrival.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Moves on to the one after it.
    pub fn pass(&mut self) {
        let gap_ns = NS_PER_S / self.rate_per_s;
        let time_ns = match self.spread {
            Spread::Constant => {
                self.open_ns += gap_ns;
                self.open_ns
            }
            Spread::Poisson => {
                self.open_ns += gap_ns * exponential(&mut self.rng);
                self.open_ns
            }
            Spread::Bursty { factor, on_ns } => {
                self.open_ns += gap_ns / factor * exponential(&mut self.rng);
                let on_ns = on_ns as f64;
                let burst = (self.open_ns / on_ns).floor();
                burst * on_ns * factor + (self.open_ns - burst * on_ns)
            }
        };
        self.next_ns = time_ns as u64;
    }
}

/// Exponentially distributed with mean 1, by inversion of a uniform number in (0, 1].
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    const STEPS: f64 = (1u64 << 53) as f64;
    let uniform = ((rng.bits() >> 11) + 1) as f64 / STEPS;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(spread: Spread, rate_per_s: f64, count: usize) -> Vec<u64> {
        let mut times = Times::new(spread, rate_per_s, 1);
        let next = |_| {
            let time_ns = times.next_ns();
            times.pass();
            time_ns
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn constant_arrivals_are_equally_apart() {
        // 1000 a second are a millisecond apart.
        assert_eq!(
            first(Spread::Constant, 1000.0, 3),
            [1_000_000, 2_000_000, 3_000_000]
        );
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_gaps_as_varied_as_their_mean() {
        let times = first(Spread::Poisson, 1000.0, 100_000);
        assert!(times.is_sorted());
        let rate = 1e5 / (times[99_999] as f64 / 1e9);
        // The standard error of the mean gap of 10^5 is 0.3 %.
        assert!((rate - 1000.0).abs() < 15.0, "{rate}");
        let gaps = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e6);
        let squares: f64 = gaps.map(|gap| gap * gap).sum();
        // E[gap^2] = 2 for an exponential gap of mean 1.
        assert!((squares / 99_999.0 - 2.0).abs() < 0.06, "{squares}");
    }

    #[test]
    fn bursts_keep_the_mean_rate_and_leave_gaps() {
        let bursty = Spread::Bursty {
            factor: 4.0,
            on_ns: 50_000_000,
        };
        let times = first(bursty, 1000.0, 100_000);
        let rate = 1e5 / (times[99_999] as f64 / 1e9);
        assert!((rate - 1000.0).abs() < 20.0, "{rate}");
        // A burst of 50 ms every 200 ms.
        assert!(times.iter().all(|time| time % 200_000_000 <= 50_000_000));
        assert!(times.is_sorted());
    }
}
