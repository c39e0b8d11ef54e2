//! Which of the intervals that were kept is shown piece by piece.

use std::str::FromStr;

use crate::critical::exemplars::{Exemplar, Exemplars};
use crate::sums::histogram::Histogram;

/// Which interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The slowest is 1.
    Rank(usize),
    /// An interval near this quantile of the latency, 0 to 1.
    Percentile(f64),
    /// The one with this number, if it was kept ([`crate::Analysis::keep_interval`]).
    Id(u64),
}

/// A pick that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPick(String);

impl std::fmt::Display for NoPick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "\"{}\" picks no interval: give a percentile (p50, p99, p99.9), max, a rank (#1 or slowest:1 is the slowest) or id:NUMBER",
            self.0
        )
    }
}

impl std::error::Error for NoPick {}

impl FromStr for Pick {
    type Err = NoPick;

    /// `p99`, `p99.9`, `p999`, `max`, `#3` or `slowest:3`, `id:1234`.
    fn from_str(text: &str) -> Result<Pick, NoPick> {
        let unknown = || NoPick(text.to_owned());
        if text == "max" {
            return Ok(Pick::Rank(1));
        }
        let rank = text
            .strip_prefix('#')
            .or_else(|| text.strip_prefix("slowest:"));
        if let Some(rank) = rank {
            let rank = rank.parse().ok().filter(|&rank| rank > 0);
            return rank.map(Pick::Rank).ok_or_else(unknown);
        }
        if let Some(id) = text.strip_prefix("id:") {
            return id.parse().map(Pick::Id).map_err(|_| unknown());
        }
        let digits = text.strip_prefix('p').ok_or_else(unknown)?;
        // p999 is p99.9, as in the profile's percentiles.
        let number = match digits.len() {
            3.. if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{}.{}", &digits[..2], &digits[2..])
            }
            _ => digits.to_owned(),
        };
        let percent: f64 = number.parse().map_err(|_| unknown())?;
        let inside = (0.0..=100.0).contains(&percent);
        inside
            .then_some(Pick::Percentile(percent / 100.0))
            .ok_or_else(unknown)
    }
}

impl std::fmt::Display for Pick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pick::Rank(1) => write!(f, "max"),
            Pick::Rank(rank) => write!(f, "#{rank}"),
            // Rounded: 0.999 * 100 is not 99.9 in binary.
            Pick::Percentile(quantile) => write!(f, "p{}", (quantile * 1e6).round() / 1e4),
            Pick::Id(id) => write!(f, "id:{id}"),
        }
    }
}

impl Pick {
    /// The interval among those that were kept.
    pub(crate) fn of<'a>(self, keep: &'a Exemplars, histogram: &Histogram) -> Option<&'a Exemplar> {
        match self {
            Pick::Rank(rank) => keep.slowest().get(rank.checked_sub(1)?),
            Pick::Percentile(quantile) => keep.nearest(histogram.quantile(quantile)),
            Pick::Id(id) => keep.find(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_are_read_and_written() {
        let cases = [
            ("p99", Pick::Percentile(0.99), "p99"),
            ("p99.9", Pick::Percentile(0.999), "p99.9"),
            ("p999", Pick::Percentile(0.999), "p99.9"),
            ("p5", Pick::Percentile(0.05), "p5"),
            ("max", Pick::Rank(1), "max"),
            ("#3", Pick::Rank(3), "#3"),
            ("slowest:3", Pick::Rank(3), "#3"),
            ("id:12", Pick::Id(12), "id:12"),
        ];
        for (text, pick, written) in cases {
            let read: Pick = text.parse().unwrap();
            match (read, pick) {
                (Pick::Percentile(a), Pick::Percentile(b)) => assert!((a - b).abs() < 1e-12),
                (read, pick) => assert_eq!(read, pick),
            }
            assert_eq!(read.to_string(), written);
        }
        for text in [
            "",
            "p",
            "px",
            "#0",
            "#",
            "slowest:",
            "slowest:0",
            "id:",
            "99",
            "p100.5",
            "p-1",
        ] {
            assert!(text.parse::<Pick>().is_err(), "{text}");
        }
    }
}
