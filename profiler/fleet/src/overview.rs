//! A summary of the whole fleet.

use evenkeel_report::units;
use serde_json::Value;

use crate::answer::Answer;
use crate::error::Error;
use crate::tables::Fleet;

const QUERY: &str = "\
SELECT COUNT(DISTINCT host) AS hosts, COUNT(DISTINCT build) AS builds, COUNT(DISTINCT run) AS recordings,
    CAST(SUM(intervals) AS BIGINT) AS intervals, MIN(day) AS first_day, MAX(day) AS last_day
FROM moments WHERE class IS NULL AND intervals IS NOT NULL";

/// Numbers of hosts, builds, recordings and intervals, and their days.
pub struct Overview {
    counts: [(u64, &'static str); 4],
    days: String,
}

impl Overview {
    /// Asks for it.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn of(fleet: &Fleet) -> Result<Overview, Error> {
        Ok(Overview::read(&fleet.ask("the overview", QUERY).await?))
    }

    fn read(answer: &Answer) -> Overview {
        let value = |name: &str| answer.rows.first()?.get(answer.column(name)?);
        let count = |name: &str| value(name).and_then(Value::as_u64).unwrap_or_default();
        let day = |name: &str| value(name).and_then(Value::as_str).unwrap_or_default();
        let counted = |name: &str, one| (count(name), one);
        Overview {
            counts: [
                counted("hosts", "host"),
                counted("builds", "build"),
                counted("recordings", "recording"),
                counted("intervals", "interval"),
            ],
            days: match (day("first_day"), day("last_day")) {
                (first, last) if first == last => first.to_owned(),
                (first, last) => format!("{first} to {last}"),
            },
        }
    }

    /// Figures, each with what it counts.
    pub fn figures(&self) -> Vec<(String, String)> {
        let counts = self.counts.iter();
        let counts = counts.map(|&(count, one)| (units::count(count), many(count, one)));
        let days = (self.days.clone(), "days (UTC)".to_owned());
        counts.chain([days]).collect()
    }

    /// `3 hosts, 2 builds, 3 recordings, 9,000 intervals, 2023-11-14 to 2023-11-15 (UTC)`
    pub fn line(&self) -> String {
        let counts = self.counts.iter();
        let counts =
            counts.map(|&(count, one)| format!("{} {}", units::count(count), many(count, one)));
        format!(
            "{}, {} (UTC)",
            counts.collect::<Vec<_>>().join(", "),
            self.days
        )
    }
}

fn many(count: u64, one: &str) -> String {
    format!("{one}{}", if count == 1 { "" } else { "s" })
}
