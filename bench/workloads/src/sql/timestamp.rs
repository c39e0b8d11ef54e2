//! Timestamps in microseconds since 1970 as dates and times (UTC), for protocols that want fields.

use chrono::{DateTime, NaiveDateTime};

/// A timestamp as text in statements and in files that a server loads.
pub const FORMAT: &str = "%Y-%m-%d %H:%M:%S%.6f";

/// The date and time `micros` microseconds after 1970-01-01 00:00 UTC.
///
/// # Panics
/// 260,000 years away from now.
pub fn civil(micros: i64) -> NaiveDateTime {
    let at = DateTime::from_timestamp_micros(micros);
    at.expect("a time in history").naive_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        // `date -u -d @951782400` is 2000-02-29 00:00:00; @1767225599 is 2025-12-31 23:59:59.
        for (micros, text) in [
            (0, "1970-01-01 00:00:00.000000"),
            (-1, "1969-12-31 23:59:59.999999"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (1_767_225_599_000_007, "2025-12-31 23:59:59.000007"),
        ] {
            assert_eq!(civil(micros).format(FORMAT).to_string(), text);
            assert_eq!(civil(micros).and_utc().timestamp_micros(), micros);
        }
    }
}
