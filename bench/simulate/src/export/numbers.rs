//! Numbers as a person reads them.

use crate::config::Unit;
use crate::estimate::{Estimate, Ratio};

/// A time in ticks.
pub(crate) fn time(ticks: f64, unit: Unit) -> String {
    spread_time(
        Estimate {
            mean: ticks,
            half_width: 0.0,
        },
        unit,
    )
}

/// A time in ticks with its half width, if that is not 0: `12.3 ±0.4 ms`.
pub(crate) fn spread_time(ticks: Estimate, unit: Unit) -> String {
    if unit == Unit::Epoch {
        return spread(ticks);
    }
    let (scale, unit) = match ticks.mean {
        t if t >= 1e9 => (1e9, "s"),
        t if t >= 1e6 => (1e6, "ms"),
        t if t >= 1e3 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    let scaled = Estimate {
        mean: ticks.mean / scale,
        half_width: ticks.half_width / scale,
    };
    format!("{} {unit}", spread(scaled))
}

/// A number with its half width, if that is not 0.
pub(crate) fn spread(value: Estimate) -> String {
    if value.half_width == 0.0 {
        return number(value.mean);
    }
    format!("{} ±{}", number(value.mean), number(value.half_width))
}

/// A ratio with its interval: `0.83 (0.79-0.87)`.
pub(crate) fn interval(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_owned(), |Ratio { ratio, low, high }| {
        format!("{} ({}-{})", number(ratio), number(low), number(high))
    })
}

/// Three or four significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(time(12_345_678.0, Unit::Nanosecond), "12.3 ms");
        assert_eq!(time(950.0, Unit::Nanosecond), "950 ns");
        assert_eq!(time(12.0, Unit::Epoch), "12.0");
        let spread = Estimate {
            mean: 2.5e6,
            half_width: 3e5,
        };
        assert_eq!(spread_time(spread, Unit::Nanosecond), "2.50 ±0.30 ms");
    }
}
