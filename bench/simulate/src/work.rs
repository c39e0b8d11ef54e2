//! Durations of transactions' work.

use std::path::Path;
use std::sync::Arc;

use evenkeel_locks::rng::Rng;

use crate::{Error, sample};

/// A distribution of work, in ticks (nanoseconds, or epochs).
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: heavy-tailed, `P(W > w) = (w_min / w)^shape`.
    Pareto {
        /// The mean.
        mean: f64,
        /// The tail index, above 1; at most 2 means infinite variance.
        shape: f64,
    },
    /// Each of the recorded values equally likely.
    Recorded(Arc<[u64]>),
}

impl Work {
    /// Reads recorded values: whole numbers of nanoseconds separated by white space or commas; `value*count` is a
    /// bucket of a histogram.
    ///
    /// # Errors
    /// The file cannot be read, holds no value, or something that is not one.
    pub fn read(path: &Path) -> Result<Work, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        Work::recorded(&text).map_err(|what| Error::setting(format!("{}: {what}", path.display())))
    }

    fn recorded(text: &str) -> Result<Work, String> {
        let mut values = Vec::new();
        let words = text.split(|c: char| c.is_whitespace() || c == ',');
        for word in words.filter(|word| !word.is_empty()) {
            let (value, count) = word.split_once('*').unwrap_or((word, "1"));
            let number = |digits: &str| {
                digits.parse::<u64>().map_err(|_| {
                    format!("`{word}` is not a number of nanoseconds, nor `value*count`")
                })
            };
            let count = number(count)?;
            if count.saturating_add(values.len() as u64) > RECORDED_MAX {
                return Err(format!(
                    "more than {RECORDED_MAX} values; use wider buckets"
                ));
            }
            let value = number(value)?;
            values.extend(std::iter::repeat_n(value, count as usize));
        }
        if values.is_empty() {
            return Err("no values".to_owned());
        }
        Ok(Work::Recorded(values.into()))
    }

    /// The expectation, in ticks.
    pub fn mean(&self) -> f64 {
        match self {
            Work::Constant(mean) | Work::Exponential(mean) | Work::Pareto { mean, .. } => *mean,
            Work::Recorded(values) => {
                values.iter().map(|&value| value as f64).sum::<f64>() / values.len() as f64
            }
        }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let ticks = match self {
            Work::Constant(ticks) => *ticks,
            Work::Exponential(mean) => sample::exponential(rng, *mean),
            Work::Pareto { mean, shape } => {
                mean * (shape - 1.0) / shape * libm::pow(sample::unit(rng), -1.0 / shape)
            }
            Work::Recorded(values) => return values[rng.below(values.len() as u64) as usize],
        };
        libm::round(ticks) as u64
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let mean = self.mean();
        if !mean.is_finite() || mean < 0.0 {
            return Err(Error::setting(format!(
                "work of {mean} on average: give a mean of 0 or more"
            )));
        }
        match self {
            Work::Pareto { shape, .. } if !shape.is_finite() || *shape <= 1.0 => Err(
                Error::setting(format!("Pareto shape {shape}: it has a mean only above 1")),
            ),
            _ => Ok(()),
        }
    }

    /// As text, the way the command line takes it, in ticks.
    pub fn describe(&self) -> String {
        match self {
            Work::Constant(ticks) => format!("constant:{ticks}"),
            Work::Exponential(mean) => format!("exponential:{mean}"),
            Work::Pareto { mean, shape } => format!("pareto:{mean}:{shape}"),
            Work::Recorded(values) => format!("recorded:{} values", values.len()),
        }
    }
}

/// Recorded values at most: 80 MB.
const RECORDED_MAX: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(work: &Work) -> f64 {
        let mut rng = Rng::new(5);
        (0..200_000)
            .map(|_| work.draw(&mut rng) as f64)
            .sum::<f64>()
            / 2e5
    }

    proptest::proptest! {
        /// An accepted text has values, and not too many; any other is refused with words.
        #[test]
        fn any_text_is_a_distribution_or_refused(
            text in "([0-9]{0,20}(\\*[0-9]{1,20})?[ ,\\n]){0,6}[ -~]{0,6}",
        ) {
            match Work::recorded(&text) {
                Ok(Work::Recorded(values)) => {
                    proptest::prop_assert!((1..=RECORDED_MAX).contains(&(values.len() as u64)));
                }
                Ok(other) => proptest::prop_assert!(false, "{other:?}"),
                Err(reason) => proptest::prop_assert!(!reason.is_empty()),
            }
        }
    }

    #[test]
    fn too_many_values_are_refused() {
        assert!(Work::recorded(&format!("1 2*{}", u64::MAX)).is_err());
    }

    #[test]
    fn every_distribution_has_its_mean() {
        let recorded = Work::recorded("1000, 3000*2\n5000").expect("well formed");
        assert_eq!(recorded.mean(), 3000.0);
        // Standard deviations: 0, 1e4, 1e4 / sqrt(3) = 5774 (shape 3), 1414; means of 200 000.
        for (work, mean, error) in [
            (Work::Constant(1e4), 1e4, 0.1),
            (Work::Exponential(1e4), 1e4, 90.0),
            (
                Work::Pareto {
                    mean: 1e4,
                    shape: 3.0,
                },
                1e4,
                60.0,
            ),
            (recorded, 3000.0, 13.0),
        ] {
            let found = mean_of(&work);
            assert!((found - mean).abs() < error, "{work:?}: {found}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Work::recorded("12 abc").is_err());
        assert!(Work::recorded(" ").is_err());
        assert!(Work::recorded("1*99999999999").is_err());
        assert!(
            Work::Pareto {
                mean: 1.0,
                shape: 1.0
            }
            .check()
            .is_err()
        );
        assert!(Work::Exponential(f64::NAN).check().is_err());
    }
}
