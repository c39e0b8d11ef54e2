//! Moments as people write them, in the time zone of this machine.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Days, Local, NaiveDate, NaiveTime, TimeDelta, TimeZone};

use crate::values;

/// `14:00`, `14:00:30`: the last time that it was so late. `2026-11-26 14:00`: of that day. `30m`: so long ago.
pub fn moment(text: &str) -> Result<SystemTime, String> {
    let wrong =
        || format!("{text:?} is no time; write 14:00, 14:00:30, '2026-11-26 14:00' or 30m (ago)");
    let moment = moment_at(text, Local::now()).ok_or_else(wrong)?;
    Ok(moment.into())
}

fn moment_at(text: &str, now: DateTime<Local>) -> Option<DateTime<Local>> {
    if !text.contains(':') {
        let ago = values::duration(text).ok()?;
        return now.checked_sub_signed(TimeDelta::from_std(ago).ok()?);
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (Some(NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?), time),
        None => (None, text),
    };
    let time = ["%H:%M", "%H:%M:%S"]
        .iter()
        .find_map(|format| NaiveTime::parse_from_str(time, format).ok())?;
    let at = |day: NaiveDate| Local.from_local_datetime(&day.and_time(time)).earliest();
    match day {
        Some(day) => at(day),
        None => {
            let today = now.date_naive();
            at(today)
                .filter(|moment| *moment <= now)
                .or_else(|| at(today.checked_sub_days(Days::new(1))?))
        }
    }
}

/// A time in the format `2026-11-26 14:00:30`.
pub fn shown(time: SystemTime) -> String {
    let time = DateTime::<Local>::from(time);
    time.format("%Y-%m-%d %H:%M:%S").to_string()
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
        let now = Local.with_ymd_and_hms(2026, 3, 4, 13, 30, 0).unwrap();
        let of = |text| moment_at(text, now).map(|moment| shown(moment.into()));
        for (text, expected) in [
            ("13:29", "2026-03-04 13:29:00"),
            ("13:31", "2026-03-03 13:31:00"),
            ("00:00:07", "2026-03-04 00:00:07"),
            ("2026-02-28 23:59", "2026-02-28 23:59:00"),
            ("2026-02-28T23:59:59", "2026-02-28 23:59:59"),
            ("30m", "2026-03-04 13:00:00"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
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
            assert_eq!(of(text), None, "{text}");
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
