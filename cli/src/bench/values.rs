//! Values of its options.

use evenkeel_drive::arrivals::Spread;

use crate::values::{duration, part};

/// A rate above zero.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e7 => Ok(rate),
        _ => Err(format!(
            "{text:?} is not a rate; write arrivals per second, such as 500"
        )),
    }
}

/// `85%` or `0.85`; may be above one.
pub fn load(text: &str) -> Result<f64, String> {
    match part(text) {
        Some(load) if load > 0.0 && load <= 10.0 => Ok(load),
        _ => Err(format!(
            "{text:?} is not a part of the saturation; write 85% or 0.85"
        )),
    }
}

/// `constant`, `poisson` or `bursty:FACTOR:DURATION`.
pub fn spread(text: &str) -> Result<Spread, String> {
    match text {
        "constant" => return Ok(Spread::Constant),
        "poisson" => return Ok(Spread::Poisson),
        _ => {}
    }
    let wrong =
        || "write constant, poisson or bursty:FACTOR:LENGTH, such as bursty:4:200ms".to_owned();
    let (factor, on) = text
        .strip_prefix("bursty:")
        .and_then(|rest| rest.split_once(':'))
        .ok_or_else(wrong)?;
    let factor: f64 = factor.parse().map_err(|_| wrong())?;
    if !(factor > 1.0 && factor <= 1000.0) {
        return Err("a burst is more than 1 and at most 1000 times as fast as the mean".to_owned());
    }
    Ok(Spread::Bursty {
        factor,
        on_ns: duration(on)?.as_nanos() as u64,
    })
}

/// `NAME=VALUE`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("{text:?} is not a setting; write NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_parse_as_documented() {
        assert_eq!((load("85%"), load("1.05")), (Ok(0.85), Ok(1.05)));
        assert_eq!(
            spread("bursty:4:200ms"),
            Ok(Spread::Bursty {
                factor: 4.0,
                on_ns: 200_000_000
            })
        );
        assert_eq!(
            setting("a.b = x=y"),
            Ok(("a.b".to_owned(), "x=y".to_owned()))
        );
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        assert!(rate("0").is_err() && rate("inf").is_err() && load("-5%").is_err());
        assert!(
            spread("bursty:1:1s").is_err()
                && spread("bursty:4").is_err()
                && spread("often").is_err()
        );
        assert!(setting("=1").is_err() && setting("x").is_err());
    }
}
