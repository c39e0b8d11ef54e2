//! Values of options that are more than numbers.

use std::time::Duration;

/// `30s`, `500ms`, `2m`, `1h`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is not a duration; write 30s, 500ms, 2m or 1h"))?;
    let seconds = match &text[digits.len()..] {
        "" | "s" => number,
        "ms" => number / 1e3,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        unit => {
            return Err(format!(
                "{unit:?} is not a unit of time; write 30s, 500ms, 2m or 1h"
            ));
        }
    };
    if !(seconds > 0.0 && seconds < 1e9) {
        return Err(format!("{text:?} is not a positive duration"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// `3%` or `0.03`.
pub fn fraction(text: &str) -> Result<f64, String> {
    let (digits, scale) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    let fraction = digits
        .parse::<f64>()
        .map(|number| number / scale)
        .unwrap_or(f64::NAN);
    if (0.0..=1.0).contains(&fraction) {
        Ok(fraction)
    } else {
        Err(format!("{text:?} is not a fraction; write 3% or 0.03"))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("0s").is_err() && duration("3 parsecs").is_err() && duration("").is_err());
    }

    #[test]
    fn fractions() {
        assert_eq!(fraction("3%"), Ok(0.03));
        assert_eq!(fraction("0.03"), Ok(0.03));
        assert!(fraction("3").is_err() && fraction("-1%").is_err() && fraction("x").is_err());
    }
}
