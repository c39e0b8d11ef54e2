//! Moments as people write them, in the time zone of this machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::values;

const DAY: Duration = Duration::from_secs(86_400);

/// `14:00`, `14:00:30`: the last time that it was so late. `2026-11-26 14:00`: of that day. `30m`: so long ago.
pub fn moment(text: &str) -> Result<SystemTime, String> {
    moment_at(text, SystemTime::now())
}

fn moment_at(text: &str, now: SystemTime) -> Result<SystemTime, String> {
    let wrong =
        || format!("{text:?} is no time; write 14:00, 14:00:30, '2026-11-26 14:00' or 30m (ago)");
    if !text.contains(':') {
        let ago = values::duration(text).map_err(|_| wrong())?;
        return now.checked_sub(ago).ok_or_else(wrong);
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (Some(numbers::<3>(day, '-').ok_or_else(wrong)?), time),
        None => (None, text),
    };
    let time = match time.matches(':').count() {
        1 => numbers::<2>(time, ':').map(|[hour, minute]| [hour, minute, 0]),
        _ => numbers::<3>(time, ':'),
    };
    let time = time
        .filter(|&[hour, minute, second]| {
            (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second)
        })
        .ok_or_else(wrong)?;
    match day {
        Some(day) => at(day, time).ok_or_else(wrong),
        None => {
            let today = at(date(now), time).ok_or_else(wrong)?;
            match today > now {
                // Not a day of 24 hours where the clock was changed.
                true => at(date(now - DAY), time).ok_or_else(wrong),
                false => Ok(today),
            }
        }
    }
}

/// Parses N numbers with a separator between them.
fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i32; N]> {
    let numbers: Option<Vec<i32>> = text
        .split(separator)
        .map(|word| word.parse().ok())
        .collect();
    numbers?.try_into().ok()
}

fn broken_down(time: SystemTime) -> libc::tm {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let seconds = libc::time_t::try_from(seconds).unwrap_or(libc::time_t::MAX);
    // SAFETY: a structure of numbers and a pointer, which may be null; it is written by the call.
    unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut parts);
        parts
    }
}

/// Year, month and day.
fn date(time: SystemTime) -> [i32; 3] {
    let parts = broken_down(time);
    [parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday]
}

fn at([year, month, day]: [i32; 3], [hour, minute, second]: [i32; 3]) -> Option<SystemTime> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // SAFETY: a structure of numbers and a pointer, which may be null.
    let seconds = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day);
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second);
        // Whether it is summer time, the system knows.
        parts.tm_isdst = -1;
        libc::mktime(&raw mut parts)
    };
    let seconds = u64::try_from(seconds).ok()?;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// A time in the format `2026-11-26 14:00:30`.
pub fn shown(time: SystemTime) -> String {
    let [year, month, day] = date(time);
    let parts = broken_down(time);
    let (hour, minute, second) = (parts.tm_hour, parts.tm_min, parts.tm_sec);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Where to record: a file, or a new one in a directory that is there, named for the time (UTC).
pub fn recording_in(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            path.join(format!("{}.keel", now.replace(':', "-")))
        }
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_were_last() {
        let now = at([2026, 3, 4], [13, 30, 0]).unwrap();
        let of = |text| moment_at(text, now).map(shown);
        for (text, expected) in [
            ("13:29", "2026-03-04 13:29:00"),
            ("13:31", "2026-03-03 13:31:00"),
            ("00:00:07", "2026-03-04 00:00:07"),
            ("2026-02-28 23:59", "2026-02-28 23:59:00"),
            ("2026-02-28T23:59:59", "2026-02-28 23:59:59"),
            ("30m", "2026-03-04 13:00:00"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "noon",
            "25:00",
            "13:99",
            "2026-13-01 10:00",
            "1:2:3:4",
            "-3:00",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_directory_gets_files_by_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = recording_in(directory.path());
        assert_eq!(file.parent(), Some(directory.path()));
        assert!(file.to_string_lossy().ends_with("Z.keel"));
        assert_eq!(recording_in(Path::new("a.keel")), Path::new("a.keel"));
    }
}
