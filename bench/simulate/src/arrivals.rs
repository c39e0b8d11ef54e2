//! When transactions arrive.

use evenkeel_locks::rng::Rng;

use crate::sample::{self, Purpose};

/// When transactions arrive. Rates are per second of virtual time, or per epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Closed loop: each client starts its next transaction when its last one has committed.
    Closed {
        /// Number of clients.
        clients: u32,
    },
    /// Open loop, Poisson.
    Poisson {
        /// Arrivals per second.
        rate: f64,
    },
    /// Open loop, on and off: Poisson at `factor` times the rate for `on` ticks, then nothing until the mean is `rate`.
    Bursty {
        /// Arrivals per second in the mean.
        rate: f64,
        /// Rate in a burst relative to the mean, above 1.
        factor: f64,
        /// Length of a burst in ticks.
        on: f64,
    },
}

impl Arrivals {
    /// The same kind of open arrivals at another rate; a closed loop becomes Poisson.
    pub fn at_rate(self, rate: f64) -> Arrivals {
        match self {
            Arrivals::Bursty { factor, on, .. } => Arrivals::Bursty { rate, factor, on },
            _ => Arrivals::Poisson { rate },
        }
    }
}

/// The arrival times of an open loop, the same for every schedule.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    arrivals: Arrivals,
    ticks_per_s: f64,
    rng: Rng,
    /// Time during which arrivals are possible.
    open: f64,
}

impl Clock {
    pub(crate) fn new(arrivals: Arrivals, ticks_per_s: f64, seed: u64) -> Clock {
        Clock {
            arrivals,
            ticks_per_s,
            rng: sample::stream(seed, Purpose::Arrivals, 0),
            open: 0.0,
        }
    }

    /// The next arrival, in ticks; none in a closed loop.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let ticks_per_s = self.ticks_per_s;
        let mut after = |rate: f64| {
            self.open += sample::exponential(&mut self.rng, ticks_per_s / rate);
            self.open
        };
        let time = match self.arrivals {
            Arrivals::Closed { .. } => return None,
            Arrivals::Poisson { rate } => after(rate),
            Arrivals::Bursty { rate, factor, on } => {
                let open = after(rate * factor);
                let burst = libm::floor(open / on);
                burst * on * factor + (open - burst * on)
            }
        };
        Some(libm::round(time) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_keep_the_mean_rate_and_leave_gaps() {
        let bursty = Arrivals::Bursty {
            rate: 1000.0,
            factor: 4.0,
            on: 50e6,
        };
        let mut clock = Clock::new(bursty, 1e9, 1);
        let times: Vec<u64> = (0..100_000).map_while(|_| clock.next()).collect();
        let rate = 1e5 / (times[99_999] as f64 / 1e9);
        assert!((rate - 1000.0).abs() < 20.0, "{rate}");
        // A burst of 50 ms every 200 ms.
        assert!(times.iter().all(|time| time % 200_000_000 <= 50_000_000));
        assert!(times.is_sorted());
    }
}
