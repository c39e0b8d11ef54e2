//! Changes over the last minutes.

use std::collections::{HashMap, VecDeque};

use evenkeel_analysis::profile::{Bin, Profile};

/// Samples kept, one a profile: with one a second four minutes.
const SAMPLES_MAX: usize = 240;
/// A trend is the change since this many samples ago.
const TREND_SAMPLES: usize = 10;

/// Percentiles of the intervals that ended between two profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
    /// Intervals.
    pub intervals: u64,
}

/// The past.
#[derive(Clone, Debug, Default)]
pub struct History {
    percentiles: VecDeque<Percentiles>,
    /// By headline of the finding.
    shares: HashMap<String, VecDeque<f64>>,
    round: usize,
    bins: Vec<Bin>,
}

impl History {
    /// Adds a profile. A profile covers one round, and grows during the round: the difference is new.
    pub fn add(&mut self, profile: &Profile) {
        let new = if profile.round == self.round {
            difference(&profile.histogram, &self.bins)
        } else {
            profile.histogram.clone()
        };
        self.round = profile.round;
        self.bins.clone_from(&profile.histogram);
        let intervals = new.iter().map(|bin| bin.count).sum();
        if intervals > 0 {
            push(
                &mut self.percentiles,
                Percentiles {
                    p50_ns: quantile(&new, 0.5),
                    p99_ns: quantile(&new, 0.99),
                    intervals,
                },
            );
        }
        for (name, shares) in &mut self.shares {
            if !profile
                .findings
                .iter()
                .any(|finding| finding.headline == *name)
            {
                push(shares, 0.0);
            }
        }
        for finding in &profile.findings {
            let shares = self.shares.entry(finding.headline.clone()).or_default();
            push(shares, finding.share);
        }
        self.shares
            .retain(|_, shares| shares.iter().any(|&share| share != 0.0));
    }

    /// Percentiles, oldest first.
    pub fn percentiles(&self) -> impl ExactSizeIterator<Item = &Percentiles> + DoubleEndedIterator {
        self.percentiles.iter()
    }

    /// Shares of a finding, oldest first.
    pub fn shares(&self, headline: &str) -> impl Iterator<Item = f64> {
        self.shares.get(headline).into_iter().flatten().copied()
    }

    /// Recent change of the share of a finding.
    pub fn trend(&self, headline: &str) -> Option<f64> {
        let shares = self.shares.get(headline)?;
        let now = shares.back()?;
        let then = shares.len().saturating_sub(1 + TREND_SAMPLES);
        Some(now - shares[then])
    }
}

fn push<T>(samples: &mut VecDeque<T>, sample: T) {
    if samples.len() == SAMPLES_MAX {
        samples.pop_front();
    }
    samples.push_back(sample);
}

/// The counts of `now` less those of `then`, which has the same bins or fewer.
fn difference(now: &[Bin], then: &[Bin]) -> Vec<Bin> {
    let before: HashMap<u64, u64> = then
        .iter()
        .map(|bin| (bin.from_ns.to_bits(), bin.count))
        .collect();
    let left = |bin: &Bin| Bin {
        count: bin
            .count
            .saturating_sub(before.get(&bin.from_ns.to_bits()).copied().unwrap_or(0)),
        ..*bin
    };
    now.iter().map(left).collect()
}

/// The upper bound of the bin in which a quantile lies.
fn quantile(bins: &[Bin], q: f64) -> f64 {
    let total: u64 = bins.iter().map(|bin| bin.count).sum();
    let rank = (q * total as f64).ceil().max(1.0) as u64;
    let mut passed = 0;
    for bin in bins {
        passed += bin.count;
        if passed >= rank {
            return bin.to_ns;
        }
    }
    bins.last().map_or(0.0, |bin| bin.to_ns)
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::Finding;

    use super::*;

    fn bins(counts: &[(f64, u64)]) -> Vec<Bin> {
        let bin = |&(from_ns, count): &(f64, u64)| Bin {
            from_ns,
            to_ns: from_ns + 10.0,
            count,
        };
        counts.iter().map(bin).collect()
    }

    fn profile(round: usize, counts: &[(f64, u64)], share: f64) -> Profile {
        Profile {
            round,
            histogram: bins(counts),
            findings: vec![Finding {
                headline: "wait".into(),
                share,
                ..Finding::default()
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn percentiles_are_of_what_is_new() {
        let mut history = History::default();
        history.add(&profile(1, &[(0.0, 100)], 0.1));
        history.add(&profile(1, &[(0.0, 100), (50.0, 3)], 0.1));
        // Nothing is new: no sample.
        history.add(&profile(1, &[(0.0, 100), (50.0, 3)], 0.1));
        // A new round begins from nothing.
        history.add(&profile(2, &[(20.0, 2)], 0.1));
        let seen: Vec<(f64, u64)> = history
            .percentiles()
            .map(|sample| (sample.p50_ns, sample.intervals))
            .collect();
        assert_eq!(seen, [(10.0, 100), (60.0, 3), (30.0, 2)]);
    }

    #[test]
    fn trends_are_against_a_while_ago() {
        let mut history = History::default();
        for i in 0..30 {
            history.add(&profile(1, &[(0.0, i + 1)], i as f64 / 100.0));
        }
        assert!((history.trend("wait").unwrap() - 0.10).abs() < 1e-9);
        assert_eq!(history.trend("other"), None);
        // A finding that is gone has a share of nothing, and is forgotten in the end.
        for _ in 0..SAMPLES_MAX {
            history.add(&Profile::default());
        }
        assert_eq!(history.shares("wait").count(), 0);
    }
}
