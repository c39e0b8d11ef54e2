//! Timestamps in microseconds as dates and times of the proleptic Gregorian calendar, for protocols that want
//! fields.
//!
//! The arithmetic is Howard Hinnant's `days_from_civil` and `civil_from_days` ("chrono-Compatible Low-Level Date
//! Algorithms"). Years begin in March, so that the leap day is the last of its year, in eras of 400 years.

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A point in time, UTC, as fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
    /// Microsecond, 0 to 999 999.
    pub micros: u32,
}

/// The fields of `micros` microseconds since 1970-01-01 00:00 UTC.
pub fn civil(micros: i64) -> Civil {
    let days = micros.div_euclid(MICROS_PER_DAY) + 719_468;
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let seconds = of_day / 1_000_000;
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month: month as u8,
        day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
        hour: (seconds / 3600) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        micros: (of_day % 1_000_000) as u32,
    }
}

/// The inverse of [`civil`].
pub fn from_civil(at: Civil) -> i64 {
    let year = at.year - i64::from(at.month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = (i64::from(at.month) + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + i64::from(at.day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = i64::from(at.hour) * 3600 + i64::from(at.minute) * 60 + i64::from(at.second);
    days * MICROS_PER_DAY + seconds * 1_000_000 + i64::from(at.micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32) -> Civil {
        Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            micros,
        }
    }

    #[test]
    fn known_moments() {
        // `date -u -d @951782400` is 2000-02-29 00:00:00; @1767225599 is 2025-12-31 23:59:59.
        let known = [
            (0, at(1970, 1, 1, 0, 0, 0, 0)),
            (-1, at(1969, 12, 31, 23, 59, 59, 999_999)),
            (951_782_400_000_000, at(2000, 2, 29, 0, 0, 0, 0)),
            (1_767_225_599_000_007, at(2025, 12, 31, 23, 59, 59, 7)),
        ];
        for (micros, fields) in known {
            assert_eq!(civil(micros), fields);
            assert_eq!(from_civil(fields), micros);
        }
    }

    proptest::proptest! {
        #[test]
        fn there_and_back(micros in -62_000_000_000_000_000i64..250_000_000_000_000_000) {
            proptest::prop_assert_eq!(from_civil(civil(micros)), micros);
        }
    }
}
