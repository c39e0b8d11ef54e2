//! Values of options that are more than numbers.

use std::time::Duration;

use evenkeel_analysis::profile::SamplingRule;

/// The longest duration that an option accepts: 30 years.
const DURATION_MAX: Duration = Duration::from_secs(30 * 366 * 86_400);

/// `30s`, `500ms`, `2m`, `1h 30m`; a bare number is seconds. Above zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    match duration_or_zero(text)? {
        Duration::ZERO => Err(format!("{text:?} is not a positive duration")),
        duration => Ok(duration),
    }
}

/// A duration as above, or zero.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let parsed = if is_number {
        humantime::parse_duration(&format!("{text}s"))
    } else {
        humantime::parse_duration(text)
    };
    match parsed {
        Ok(duration) if duration <= DURATION_MAX => Ok(duration),
        Err(humantime::DurationError::UnknownUnit { unit, .. }) => Err(format!(
            "{unit:?} is not a unit of time; write 30s, 500ms, 2m or 1h"
        )),
        _ => Err(format!(
            "{text:?} is not a duration; write 30s, 500ms, 2m or 1h"
        )),
    }
}

/// `3%` or `0.03`.
pub fn fraction(text: &str) -> Result<f64, String> {
    let fraction = part(text).unwrap_or(f64::NAN);
    if (0.0..=1.0).contains(&fraction) {
        Ok(fraction)
    } else {
        Err(format!("{text:?} is not a fraction; write 3% or 0.03"))
    }
}

/// A number or a percentage; any floating-point value.
pub fn part(text: &str) -> Option<f64> {
    let (digits, scale) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    digits.parse::<f64>().ok().map(|number| number / scale)
}

/// `p95`, `p99`, `p99.9` or `p999`.
pub fn tail(text: &str) -> Result<String, String> {
    match text {
        "p95" | "p99" | "p999" => Ok(text.to_owned()),
        "p99.9" => Ok("p999".to_owned()),
        _ => Err(format!(
            "{text:?} is not a tail that is kept; there are p95, p99 and p99.9"
        )),
    }
}

/// `uniform`, `latency` or `all`.
pub fn sampling(text: &str) -> Result<SamplingRule, String> {
    match text {
        "uniform" => Ok(SamplingRule::Uniform),
        "latency" => Ok(SamplingRule::Latency),
        "all" => Ok(SamplingRule::All),
        _ => Err(format!(
            "{text:?} is no way to choose intervals; there are uniform, latency and all"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration_or_zero("0"), Ok(Duration::ZERO));
        for nonsense in [
            "0s",
            "3 parsecs",
            "",
            "-1",
            "1000y",
            "99999999999999999999s",
        ] {
            assert!(duration(nonsense).is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn fractions() {
        assert_eq!(fraction("3%"), Ok(0.03));
        assert_eq!(fraction("0.03"), Ok(0.03));
        assert!(fraction("3").is_err() && fraction("-1%").is_err() && fraction("x").is_err());
    }
}
