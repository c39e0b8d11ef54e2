//! Numbers as people read them: three significant digits and a unit that suits the size.

/// Shown for a number that could not be computed.
pub const ABSENT: &str = "–";

/// A duration in nanoseconds with three significant digits in ns, µs, ms or s: `812 ns`, `1.84 ms`.
pub fn duration(ns: f64) -> String {
    const UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];
    if !ns.is_finite() {
        return ABSENT.to_string();
    }
    let mut value = ns;
    let mut unit = 0;
    // 999.5 and above would be shown as 1000 of the smaller unit.
    while value.abs() >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = match value.abs() {
        _ if unit == 0 && value.fract() == 0.0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A fraction as a percentage with one decimal: `31.4 %`.
pub fn percent(fraction: f64) -> String {
    if fraction.is_finite() {
        // Adding zero turns a negative zero into a plain one.
        format!("{:.1} %", (fraction * 1e3).round() / 10.0 + 0.0)
    } else {
        ABSENT.to_string()
    }
}

/// A fraction as a percentage with its sign shown: `+31.4 %`.
pub fn signed_percent(fraction: f64) -> String {
    let sign = if fraction >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}

/// A fraction as a whole percentage, for sentences: `40 %`.
pub(crate) fn whole_percent(fraction: f64) -> String {
    if fraction.is_finite() {
        format!("{:.0} %", (fraction * 100.0).round() + 0.0)
    } else {
        ABSENT.to_string()
    }
}

/// The standard error of a percentage: `±1.2`, in percentage points; empty if it is unknown.
pub fn error(se: f64) -> String {
    match se * 100.0 {
        points if !points.is_finite() || points <= 0.0 => String::new(),
        points if points < 0.05 => "±<0.1".to_string(),
        points => format!("±{points:.1}"),
    }
}

/// A whole number with thousands apart: `329,410`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Mean calls an interval: two digits after the point for few calls, none for many.
pub fn calls(mean: f64) -> String {
    match mean {
        m if !m.is_finite() => ABSENT.to_string(),
        m if m < 99.95 => format!("{m:.2}"),
        m => count(m.round() as u64),
    }
}

/// A ratio: `0.60x`.
pub fn ratio(after: f64, before: f64) -> String {
    if before > 0.0 && after.is_finite() {
        format!("{:.2}x", after / before)
    } else {
        ABSENT.to_string()
    }
}

/// A percentile's name as people write it: `p999` is `p99.9`.
pub fn percentile(name: &str) -> String {
    match name.strip_prefix('p') {
        Some(digits) if digits.len() > 2 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            format!("p{}.{}", &digits[..2], &digits[2..])
        }
        _ => name.to_string(),
    }
}

/// Which intervals a percentile's tail holds: `p99` is `slowest 1 %`, `p999` is `slowest 0.1 %`.
pub fn tail(name: &str) -> String {
    let below = name.strip_prefix('p').filter(|d| d.len() >= 2);
    let fraction = below.and_then(|d| format!("0.{d}").parse::<f64>().ok());
    match fraction {
        // Rounding to a thousandth of a per cent hides what 1 - 0.999 is in binary.
        Some(f) => format!("slowest {} %", ((1.0 - f) * 1e5).round() / 1e3),
        None => format!("tail beyond {name}"),
    }
}

/// `14:03:12.345`, of nanoseconds since 1970, in UTC.
pub fn time_of_day(unix_ns: u64) -> String {
    let ms = unix_ns / 1_000_000 % 86_400_000;
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", ms % 1000)
}

/// A number with a noun: `1 stack`, `2 stacks`.
pub fn counted(number: u64, one: &str) -> String {
    let many = if number == 1 { "" } else { "s" };
    format!("{} {one}{many}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-26 is 20,783 days after 1970.
    #[test]
    fn times_of_day() {
        let day = 20_783 * 86_400_000_000_000;
        let at = 14 * 3_600_000_000_000 + 3 * 60_000_000_000 + 12_345_678_901;
        assert_eq!(time_of_day(day + at), "14:03:12.345");
        assert_eq!(time_of_day(0), "00:00:00.000");
    }

    #[test]
    fn durations_have_three_digits_and_the_unit_that_suits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (18.0, "18 ns"),
            (18.25, "18.2 ns"),
            (812.0, "812 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (1_840_000.0, "1.84 ms"),
            (999_960_000.0, "1.00 s"),
            (12_300_000_000.0, "12.3 s"),
            (-2_500.0, "-2.50 µs"),
            (f64::NAN, ABSENT),
        ] {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn shares_and_their_errors() {
        assert_eq!(percent(0.3142), "31.4 %");
        assert_eq!(percent(-0.0001), "0.0 %");
        assert_eq!(signed_percent(-0.051), "-5.1 %");
        assert_eq!(error(0.012), "±1.2");
        assert_eq!(error(0.0001), "±<0.1");
        assert_eq!(error(0.0), "");
        assert_eq!(error(f64::NAN), "");
    }

    #[test]
    fn counts_and_percentile_names() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(329_410), "329,410");
        assert_eq!(percentile("p999"), "p99.9");
        assert_eq!(percentile("p50"), "p50");
        assert_eq!(percentile("max"), "max");
        assert_eq!(tail("p95"), "slowest 5 %");
        assert_eq!(tail("p999"), "slowest 0.1 %");
    }
}
