//! The objective, and its value in one run.

use std::fmt;
use std::str::FromStr;

use evenkeel_drive::report::Report;
use evenkeel_report::units;

/// The quantity to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The percentile 99 of latency.
    P99,
    /// The percentile 99.9.
    P999,
    /// Its variance.
    Variance,
    /// Its mean.
    Mean,
    /// Its third norm, the cube root of the mean cube: between the mean and the longest, as a tail counts in both.
    L3,
}

impl Objective {
    /// All of them.
    pub const ALL: [Objective; 5] = [
        Objective::P99,
        Objective::P999,
        Objective::Variance,
        Objective::Mean,
        Objective::L3,
    ];

    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Objective::P99 => "p99",
            Objective::P999 => "p99.9",
            Objective::Variance => "variance",
            Objective::Mean => "mean",
            Objective::L3 => "l3",
        }
    }

    /// Its value in a run, in nanoseconds or square nanoseconds.
    pub fn of(self, run: &Run) -> f64 {
        match self {
            Objective::P99 => run.p99_ns,
            Objective::P999 => run.p999_ns,
            Objective::Variance => run.variance_ns2,
            Objective::Mean => run.mean_ns,
            Objective::L3 => run.l3_ns,
        }
    }

    /// The value for a person; a variance as the standard deviation squared.
    pub fn show(self, value: f64) -> String {
        match self {
            Objective::Variance => format!("({})²", units::duration(value.max(0.0).sqrt())),
            _ => units::duration(value),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let found = Objective::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            let names = Objective::ALL.map(Objective::name).join(", ");
            format!("no objective {text}; there are {names}")
        })
    }
}

/// Measurements of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Run {
    /// Transactions, or intervals, per second.
    pub throughput_per_s: f64,
    /// Mean latency.
    pub mean_ns: f64,
    /// Its variance.
    pub variance_ns2: f64,
    /// Its percentile 99.
    pub p99_ns: f64,
    /// Its percentile 99.9.
    pub p999_ns: f64,
    /// Its third norm.
    pub l3_ns: f64,
    /// Part of the arrivals that are in no latency: rejected, given up, not served in time.
    pub unserved: f64,
    /// Whether the queue still grew at the end.
    pub queue_grows: bool,
}

impl Run {
    /// A benchmark's run; `None` where nothing was completed.
    pub fn of(report: &Report) -> Option<Run> {
        let all = report.all();
        if all.count == 0 {
            return None;
        }
        let unserved = report.rejected + report.unfinished + report.given_up;
        let bins = report.buckets.iter();
        Some(Run {
            throughput_per_s: report.throughput_per_s,
            mean_ns: all.mean_ns,
            variance_ns2: all.sd_ns * all.sd_ns,
            p99_ns: all.p99_ns as f64,
            p999_ns: all.p999_ns as f64,
            l3_ns: third_norm(bins.map(|&(ns, count)| (ns as f64, count))),
            unserved: unserved as f64 / (unserved + all.count) as f64,
            queue_grows: report.queue_grows,
        })
    }
}

/// The third norm of values in bins of a histogram: as exact as its bins are narrow.
pub(crate) fn third_norm(bins: impl Iterator<Item = (f64, u64)>) -> f64 {
    let (mut cubes, mut count) = (0.0, 0);
    for (value, of) in bins {
        cubes += of as f64 * value.powi(3);
        count += of;
    }
    if count == 0 {
        return 0.0;
    }
    (cubes / count as f64).cbrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_parse_as_they_print() {
        for objective in Objective::ALL {
            assert_eq!(objective.name().parse(), Ok(objective));
        }
        let error = "median".parse::<Objective>().expect_err("none");
        assert!(error.contains("p99.9"), "{error}");
    }

    #[test]
    fn the_third_norm_by_hand() {
        // Cubes 1, 1, 8, 8, 27, 27: their mean is 12.
        let bins = [(1.0, 2), (2.0, 2), (3.0, 2)];
        assert!((third_norm(bins.into_iter()) - 12f64.cbrt()).abs() < 1e-12);
        assert_eq!(third_norm([].into_iter()), 0.0);
    }
}
