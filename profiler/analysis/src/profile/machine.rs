//! Resources of a run, and their use.

use serde::{Deserialize, Serialize};

use super::Profile;

/// Number of intervals that have to hold half of the variance, for findings that stand out from chance.
pub const SLOW_ENOUGH: u64 = 100;

/// The machine of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that are on.
    pub processors: u32,
    /// Duration of the run, seconds.
    pub seconds: f64,
}

impl Profile {
    /// Intervals in progress at a time, on average: arrivals times latency (Little 1961).
    pub fn in_progress(&self) -> Option<f64> {
        let machine = self
            .details
            .machine
            .filter(|machine| machine.seconds > 0.0)?;
        let mean_ns = match &self.sampling {
            Some(all) => all.mean_ns,
            None => self.mean_ns,
        };
        Some(self.intervals_seen as f64 * mean_ns / 1e9 / machine.seconds)
    }

    /// Number of the slowest intervals that hold half of the profile's variance.
    pub fn slow_intervals(&self) -> u64 {
        let moment = |bin: &super::Bin| {
            let distance = (bin.from_ns + bin.to_ns) / 2.0 - self.mean_ns;
            bin.count as f64 * distance * distance
        };
        let whole: f64 = self.histogram.iter().map(moment).sum();
        let (mut held, mut count) = (0.0, 0);
        for bin in self.histogram.iter().rev() {
            let missing = whole / 2.0 - held;
            if missing <= 0.0 {
                break;
            }
            let part = (missing / moment(bin)).min(1.0);
            count += (part * bin.count as f64).ceil() as u64;
            held += moment(bin);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Bin, RunDetails};

    /// 1,000 intervals a second of 2 ms keep two sessions busy. 12 of 10,000 take 1 s instead of 2 ms: 6 of them hold
    /// half.
    #[test]
    fn what_was_asked_for() {
        let bin = |from_ns, count| Bin {
            from_ns,
            to_ns: from_ns,
            count,
        };
        let profile = Profile {
            details: RunDetails {
                machine: Some(Machine {
                    processors: 2,
                    seconds: 10.0,
                }),
                ..RunDetails::default()
            },
            intervals_seen: 10_000,
            mean_ns: 2e6,
            histogram: vec![bin(2e6, 9_988), bin(1e9, 12)],
            ..Profile::default()
        };
        assert_eq!(profile.in_progress(), Some(2.0));
        assert_eq!(profile.slow_intervals(), 6);
        assert_eq!(Profile::default().in_progress(), None);
        assert_eq!(Profile::default().slow_intervals(), 0);
    }
}
