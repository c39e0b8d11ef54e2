//! What profiling costs, measured: intervals with their probes on against intervals with their probes bypassed, in
//! alternating windows (`variance.md` section 4, "Self-cost").
//!
//! A window ends when the flag changes in order of arrival. Rings are drained one after the other, so around a change
//! the flag flickers; a pair of windows is therefore closed only when both have [`WINDOW_MIN`] intervals. Load drifts
//! over a run, but little within a pair of neighbouring windows, so pairs are what the jackknife leaves out.

use crate::jackknife::Replicates;

/// Intervals of a window, at least, before the next pair of windows may begin.
pub const WINDOW_MIN: u64 = 32;
/// Pairs kept, at most; then neighbours merge.
pub const PAIRS_MAX: usize = 128;

/// Intervals of one window and the sum of their latencies, ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    intervals: u64,
    latency: i128,
}

/// One pair of windows, or several neighbouring ones added up.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    intervals: u64,
    /// Weighted means of the bypassed and of the probed windows, ticks.
    means: [f64; 2],
}

/// The comparison.
#[derive(Clone, Debug, Default)]
pub struct SelfCost {
    closed: Vec<Pairs>,
    /// The pair being filled: bypassed, probed.
    newest: [Window; 2],
    probed: bool,
}

/// Mean latency with probes over mean latency without, minus one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The fraction.
    pub fraction: f64,
    /// Its standard error; absent with fewer than two pairs of windows.
    pub se: Option<f64>,
}

impl SelfCost {
    /// Takes the next interval in order of arrival, latency in ticks.
    pub fn add(&mut self, probed: bool, latency: i64) {
        if probed != self.probed {
            self.probed = probed;
            if let Some(pair) = Pairs::of(self.newest) {
                self.close(pair);
            }
        }
        let window = &mut self.newest[usize::from(probed)];
        window.intervals += 1;
        window.latency += i128::from(latency);
    }

    fn close(&mut self, pair: Pairs) {
        if self.closed.len() == PAIRS_MAX {
            self.closed = self
                .closed
                .chunks(2)
                .map(|two| Pairs::sum(two.iter().copied()))
                .collect();
        }
        self.closed.push(pair);
        self.newest = Default::default();
    }

    /// The result, from the pairs that have both windows; nothing without one.
    pub fn measured(&self) -> Option<Measured> {
        let pairs: Vec<Pairs> = self
            .closed
            .iter()
            .copied()
            .chain(Pairs::of(self.newest))
            .collect();
        let total = Pairs::sum(pairs.iter().copied());
        let whole = total.ratio()?;
        let without: Option<Vec<_>> = pairs
            .iter()
            .map(|&pair| Some(vec![total.without(pair).ratio()?]))
            .collect();
        let sizes = pairs.iter().map(|pair| pair.intervals).collect();
        let replicates = without.map(|without| Replicates {
            sizes,
            whole: vec![whole],
            without,
        });
        Some(Measured {
            fraction: whole - 1.0,
            se: replicates.map(|replicates| replicates.standard_error(0)),
        })
    }
}

impl Pairs {
    /// A pair, if both windows are long enough. Its means weigh n m / (n + m) for windows of n and m intervals (as Mantel
    /// and Haenszel 1959 pool strata), so that a long window beside a short one does not let the drift of the load
    /// pass for a cost.
    fn of(windows: [Window; 2]) -> Option<Pairs> {
        let [n, m] = windows.map(|window| window.intervals as f64);
        let complete = windows.iter().all(|window| window.intervals >= WINDOW_MIN);
        complete.then(|| Pairs {
            intervals: windows[0].intervals + windows[1].intervals,
            means: windows
                .map(|window| window.latency as f64 / window.intervals as f64 * (n * m / (n + m))),
        })
    }

    fn sum(pairs: impl Iterator<Item = Pairs>) -> Pairs {
        pairs.fold(
            Pairs {
                intervals: 0,
                means: [0.0; 2],
            },
            |sum, pair| Pairs {
                intervals: sum.intervals + pair.intervals,
                means: [sum.means[0] + pair.means[0], sum.means[1] + pair.means[1]],
            },
        )
    }

    fn without(&self, other: Pairs) -> Pairs {
        Pairs {
            intervals: self.intervals - other.intervals,
            means: [
                self.means[0] - other.means[0],
                self.means[1] - other.means[1],
            ],
        }
    }

    /// Probed over bypassed.
    fn ratio(&self) -> Option<f64> {
        (self.intervals > 0 && self.means[0] > 0.0).then(|| self.means[1] / self.means[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(cost: &mut SelfCost, lengths: &[(bool, u64, i64)]) {
        for &(probed, intervals, latency) in lengths {
            (0..intervals).for_each(|_| cost.add(probed, latency));
        }
    }

    /// Two pairs of 100 intervals a window: 102 over 100, then 208 over 200 ticks. Means 155 and 150: 155/150 - 1 = 1/30.
    #[test]
    fn ratio_of_means() {
        let mut cost = SelfCost::default();
        windows(
            &mut cost,
            &[
                (true, 100, 102),
                (false, 100, 100),
                (true, 100, 208),
                (false, 100, 200),
            ],
        );
        let measured = cost.measured().unwrap();
        assert!((measured.fraction - 1.0 / 30.0).abs() < 1e-12);
        // Leave-out ratios 1.04 and 1.02, h = 2: pseudo-values 2 r - t, r = 31/30: 1.026667, 1.046667, variance
        // (0.01^2 + 0.01^2) / 2.
        assert!((measured.se.unwrap() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn a_flickering_flag_opens_no_window() {
        let mut cost = SelfCost::default();
        windows(
            &mut cost,
            &[
                (true, 100, 10),
                (false, 3, 10),
                (true, 2, 10),
                (false, 100, 10),
                (true, 40, 10),
            ],
        );
        assert_eq!(cost.closed.len(), 1);
        assert_eq!(
            cost.measured(),
            Some(Measured {
                fraction: 0.0,
                se: None
            })
        );
    }

    #[test]
    fn nothing_without_both_kinds_and_bounded_with() {
        let mut cost = SelfCost::default();
        windows(&mut cost, &[(true, 1000, 10)]);
        assert_eq!(cost.measured(), None);
        for _ in 0..1000 {
            windows(&mut cost, &[(false, 40, 10), (true, 40, 11)]);
        }
        assert!(cost.closed.len() <= PAIRS_MAX);
        assert!((cost.measured().unwrap().fraction - 0.1).abs() < 1e-3);
    }
}
