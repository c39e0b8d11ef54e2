//! A parameter that a sweep varies, and its values.

use std::str::FromStr;

use crate::workload::Drawn;
use crate::{Arrivals, Config, Error};

/// Parameters that can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Clients of a closed loop.
    Clients,
    /// Arrivals per second (or epoch) of an open loop.
    Rate,
    /// Like the rate, relative to FIFO's saturation.
    Load,
    /// Skew of the access.
    Theta,
    /// Fraction of exclusive requests, of the first class.
    Exclusive,
    /// Number of objects.
    Objects,
    /// Locks of a transaction, of the first class.
    Locks,
    /// Processors.
    Cpus,
}

const PARAMETERS: [(&str, Parameter); 8] = [
    ("clients", Parameter::Clients),
    ("rate", Parameter::Rate),
    ("load", Parameter::Load),
    ("theta", Parameter::Theta),
    ("exclusive", Parameter::Exclusive),
    ("objects", Parameter::Objects),
    ("locks", Parameter::Locks),
    ("cpus", Parameter::Cpus),
];

/// Values of one sweep at most.
const VALUES_MAX: usize = 10_000;

impl Parameter {
    /// Its name.
    pub fn name(self) -> &'static str {
        PARAMETERS
            .iter()
            .find(|(_, parameter)| *parameter == self)
            .map_or("", |(name, _)| name)
    }

    /// Sets it. A load is relative to `saturation()`, which is asked only for a load.
    ///
    /// # Errors
    /// The value makes no sense for it, or the saturation cannot be found.
    pub fn set(
        self,
        config: &mut Config,
        value: f64,
        saturation: &dyn Fn(&Config) -> Result<f64, Error>,
    ) -> Result<(), Error> {
        match self {
            Parameter::Clients => {
                config.arrivals = Arrivals::Closed {
                    clients: whole(self, value)?,
                }
            }
            Parameter::Rate => config.arrivals = config.arrivals.at_rate(value),
            Parameter::Load => {
                config.arrivals = config.arrivals.at_rate(value * saturation(config)?)
            }
            Parameter::Theta => config.drawn_mut()?.theta = value,
            Parameter::Exclusive => first_class(config.drawn_mut()?).exclusive = value,
            Parameter::Objects => config.drawn_mut()?.objects = whole(self, value)?,
            Parameter::Locks => first_class(config.drawn_mut()?).locks = whole(self, value)?,
            Parameter::Cpus => config.cpus = Some(whole(self, value)?),
        }
        Ok(())
    }
}

fn first_class(drawn: &mut Drawn) -> &mut crate::workload::Class {
    &mut drawn.classes[0]
}

fn whole(parameter: Parameter, value: f64) -> Result<u32, Error> {
    if value < 1.0 || value > f64::from(u32::MAX) || value.fract() != 0.0 {
        return Err(Error::setting(format!(
            "{} is a whole number from 1 on, not {value}",
            parameter.name()
        )));
    }
    Ok(value as u32)
}

/// A parameter and the values it takes: `clients=100..900:100`, `theta=0.5,0.7,0.9` or `clients=10,50,100..900:200`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The varying parameter.
    pub parameter: Parameter,
    /// Its values, in the order of simulation.
    pub values: Vec<f64>,
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Axis, String> {
        let (name, values) = text
            .split_once('=')
            .ok_or("write PARAMETER=VALUES, such as clients=100..900:100")?;
        let parameter = PARAMETERS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, parameter)| parameter);
        let parameter = parameter.ok_or_else(|| {
            let known: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
            format!("`{name}` cannot be varied; one of {} can", known.join(", "))
        })?;
        Ok(Axis {
            parameter,
            values: parse_values(values)?,
        })
    }
}

/// Numbers and ranges `FIRST..LAST:STEP`, both ends included, separated by commas.
fn parse_values(text: &str) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((first, rest)) => values.extend(parse_range(first, rest)?),
            None => values.push(parse_number(part)?),
        }
        if values.len() > VALUES_MAX {
            return Err(format!("{} values; at most {VALUES_MAX}", values.len()));
        }
    }
    Ok(values)
}

fn parse_number(word: &str) -> Result<f64, String> {
    match word.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{word}` is not a number")),
    }
}

fn parse_range(first: &str, rest: &str) -> Result<Vec<f64>, String> {
    let (last, step) = rest
        .split_once(':')
        .ok_or("a range needs its step: FIRST..LAST:STEP")?;
    let [first, last, step] = [
        parse_number(first)?,
        parse_number(last)?,
        parse_number(step)?,
    ];
    if step <= 0.0 || last < first {
        return Err("a range goes up: FIRST..LAST:STEP with a step above 0".to_owned());
    }
    // A little more than the whole steps that fit, as 0.1 is not a tenth.
    let steps = ((last - first) / step + 1e-9).floor();
    if steps >= VALUES_MAX as f64 {
        return Err(format!("{} values; at most {VALUES_MAX}", steps + 1.0));
    }
    let count = steps as usize + 1;
    // Rounded to what a decimal fraction prints as, so that 0.5 + 0.1 is 0.6.
    let value = |at: usize| ((first + at as f64 * step) * 1e9).round() / 1e9;
    Ok((0..count).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        let axis: Axis = "clients=100..900:200".parse().expect("an axis");
        assert_eq!(axis.parameter, Parameter::Clients);
        assert_eq!(axis.values, [100.0, 300.0, 500.0, 700.0, 900.0]);
        let axis: Axis = "theta=0.5..0.9:0.1".parse().expect("an axis");
        assert_eq!(axis.values, [0.5, 0.6, 0.7, 0.8, 0.9]);
        let axis: Axis = "clients=10,25,100..300:100".parse().expect("an axis");
        assert_eq!(axis.values, [10.0, 25.0, 100.0, 200.0, 300.0]);
        assert_eq!(
            "load=0.7,1.05".parse::<Axis>().map(|axis| axis.values),
            Ok(vec![0.7, 1.05])
        );
    }

    proptest::proptest! {
        /// An accepted value is within the limit and finite; any other text is refused with words.
        #[test]
        fn any_text_is_an_axis_or_refused(
            text in "((clients|theta|load|[a-z]{0,5})=?)?([-+.0-9e]{0,9}(\\.\\.|[:,])?){0,6}",
        ) {
            match text.parse::<Axis>() {
                Ok(axis) => {
                    proptest::prop_assert!((1..=VALUES_MAX).contains(&axis.values.len()));
                    proptest::prop_assert!(axis.values.iter().all(|value| value.is_finite()));
                }
                Err(reason) => proptest::prop_assert!(!reason.is_empty()),
            }
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        for text in [
            "clients",
            "colour=1",
            "theta=1..2",
            "theta=2..1:1",
            "theta=0..1:0",
            "theta=x",
            "rate=inf",
            "load=0..1e300:1e-300",
        ] {
            assert!(text.parse::<Axis>().is_err(), "{text}");
        }
        let mut config = Config::micro();
        assert!(
            Parameter::Clients
                .set(&mut config, 1.5, &|_| Ok(1.0))
                .is_err()
        );
    }
}
