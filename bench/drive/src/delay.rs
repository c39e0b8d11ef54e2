//! Durations of pure waits: a client's round trip, a simulated device's sync.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use evenkeel_locks::rng::Rng;

use crate::arrivals::exponential;

/// Longest mean that makes sense to wait for at every statement.
const MEAN_MAX: Duration = Duration::from_secs(10);
/// Limit of a draw, as a multiple of the mean, so that a heavy tail does not outlast the run.
const TIMES_MEAN_MAX: f64 = 1000.0;

/// The distribution of a delay. All three are given by their mean, so that they can replace one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same.
    Constant(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// The exponential function of a normal variable.
    LogNormal {
        /// Mean of the delay, not of its logarithm.
        mean: Duration,
        /// Standard deviation of its logarithm.
        sigma: f64,
    },
}

impl Delay {
    /// The mean.
    pub fn mean(self) -> Duration {
        match self {
            Delay::Constant(mean) | Delay::Exponential(mean) | Delay::LogNormal { mean, .. } => {
                mean
            }
        }
    }

    /// Draws a duration.
    pub fn draw(self, rng: &mut Rng) -> Duration {
        let factor = match self {
            Delay::Constant(_) => 1.0,
            Delay::Exponential(_) => exponential(rng),
            // E[exp(N(m, s²))] = exp(m + s²/2), so this has mean 1.
            Delay::LogNormal { sigma, .. } => (sigma * normal(rng) - sigma * sigma / 2.0).exp(),
        };
        self.mean().mul_f64(factor.min(TIMES_MEAN_MAX))
    }
}

/// Standard normal, by the first of Box and Muller's pair ("A Note on the Generation of Random Normal Deviates", 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    let turn = (rng.bits() >> 11) as f64 / (1u64 << 53) as f64;
    radius * (std::f64::consts::TAU * turn).cos()
}

impl FromStr for Delay {
    type Err = String;

    /// `500us`, `exponential:500us` or `lognormal:500us:SIGMA`.
    fn from_str(text: &str) -> Result<Delay, String> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            [mean] | ["constant", mean] => Ok(Delay::Constant(time(mean)?)),
            ["exponential", mean] => Ok(Delay::Exponential(time(mean)?)),
            ["lognormal", mean, sigma] => {
                let sigma = sigma
                    .parse()
                    .ok()
                    .filter(|sigma| (0.0..=4.0).contains(sigma));
                Ok(Delay::LogNormal {
                    mean: time(mean)?,
                    sigma: sigma
                        .ok_or("SIGMA is the standard deviation of the logarithm, 0 to 4")?,
                })
            }
            _ => Err(format!(
                "{text:?} is not a delay; write 500us, exponential:500us or lognormal:500us:0.5"
            )),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.mean().as_nanos() as f64 / 1e3;
        match self {
            Delay::Constant(_) => write!(f, "{us}us"),
            Delay::Exponential(_) => write!(f, "exponential:{us}us"),
            Delay::LogNormal { sigma, .. } => write!(f, "lognormal:{us}us:{sigma}"),
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => {
            return Err(format!(
                "{text:?} needs a number and its unit: ns, us, ms or s"
            ));
        }
    };
    let number: f64 = digits.parse().unwrap_or(-1.0);
    if number > 0.0 && number * seconds <= MEAN_MAX.as_secs_f64() {
        Ok(Duration::from_secs_f64(number * seconds))
    } else {
        Err(format!("{text:?} is not above zero and at most 10s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_parse_and_print_alike() {
        for text in ["500us", "exponential:1.5us", "lognormal:2000us:0.5"] {
            let delay: Delay = text.parse().expect(text);
            assert_eq!(delay.to_string(), text);
        }
        let delay: Delay = "lognormal:2ms:0.5".parse().expect("a delay");
        assert_eq!(delay.mean(), Duration::from_millis(2));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "500",
            "0us",
            "-1us",
            "11s",
            "uniform:1ms",
            "lognormal:1ms",
            "lognormal:1ms:9",
            "us",
            "nanus",
        ] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_distribution_has_the_mean_it_is_given_and_its_own_spread() {
        let count = 200_000;
        // Squared coefficient of variation: 0, 1, exp(s²) - 1.
        for (text, squared_cv) in [
            ("500us", 0.0),
            ("exponential:500us", 1.0),
            ("lognormal:500us:0.5", 0.25f64.exp_m1()),
        ] {
            let (delay, mut rng) = (text.parse::<Delay>().expect(text), Rng::new(1));
            let all: Vec<f64> = (0..count)
                .map(|_| delay.draw(&mut rng).as_secs_f64() * 1e6)
                .collect();
            let mean = all.iter().sum::<f64>() / f64::from(count);
            let squares = all.iter().map(|us| (us - mean).powi(2)).sum::<f64>();
            let found = squares / f64::from(count) / (mean * mean);
            // The standard error of the mean is at most 500 us / sqrt(200 000) = 1.1 us.
            assert!((mean - 500.0).abs() < 6.0, "{text}: mean {mean}");
            assert!((found - squared_cv).abs() < 0.03, "{text}: {found}");
        }
    }
}
