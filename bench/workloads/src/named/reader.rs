//! Options from text, and what can be wrong with them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::NAMES;
use super::options;

/// Why there is no such workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Nothing is called so.
    #[error("there is no workload {0}; there are {list}", list = NAMES.join(", "))]
    UnknownWorkload(String),
    /// The workload has no such option.
    #[error("{workload} has no option {option}; {known}")]
    UnknownOption {
        /// The workload.
        workload: String,
        /// The given option.
        option: String,
        /// The options it has, as a clause.
        known: String,
    },
    /// The value is not of the option's kind, or out of its range.
    #[error("{option}={value}: expected {expected}")]
    Value {
        /// The option.
        option: String,
        /// The given value.
        value: String,
        /// The expected value.
        expected: String,
    },
}

/// Takes options out of those given.
pub(super) struct Reader<'n> {
    pub(super) workload: &'n str,
    pub(super) options: BTreeMap<String, String>,
}

impl Reader<'_> {
    /// The option's value, or `default`.
    pub(super) fn number<T>(
        &mut self,
        option: &str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, SettingsError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.options.remove(option) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(value) => in_range(option, value, range),
            Err(_) => Err(out_of_range(option, text, &range)),
        }
    }

    /// Refuses what is left.
    pub(super) fn finish(self) -> Result<(), SettingsError> {
        let Some(option) = self.options.into_keys().next() else {
            return Ok(());
        };
        let names: Vec<_> = options(self.workload)
            .iter()
            .map(|option| option.name)
            .collect();
        let known = format!("it has {}", names.join(", "));
        Err(SettingsError::UnknownOption {
            workload: self.workload.to_owned(),
            option,
            known,
        })
    }
}

/// The value, if it is in the range.
pub(super) fn in_range<T: PartialOrd + Display>(
    option: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, SettingsError> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(out_of_range(option, value.to_string(), &range))
    }
}

fn out_of_range<T: Display>(
    option: &str,
    value: String,
    range: &RangeInclusive<T>,
) -> SettingsError {
    let expected = format!("{} to {}", range.start(), range.end());
    SettingsError::Value {
        option: option.to_owned(),
        value,
        expected,
    }
}
