//! Intervals that are slow already: from when on, and what their stacks showed.

use super::Analysis;
use crate::slow::SlowStack;

/// Intervals after which their mean and spread say from when on one is slow.
const INTERVALS_ENOUGH: u64 = 100;
/// An interval is slow if it exceeds the mean by this part of the standard deviation. Such intervals have nearly all
/// of the variance, both of latencies with a long tail and of those with two peaks. With a long tail the bound is
/// beyond the 99th percentile.
const DEVIATIONS: f64 = 0.5;

impl Analysis {
    /// Age from which an interval is slow, ticks, by the latencies of all intervals so far; `None` before there are
    /// enough.
    pub fn slow_from_ticks(&self) -> Option<u64> {
        let latencies = &self.intake.latencies;
        (latencies.intervals() >= INTERVALS_ENOUGH).then(|| {
            let slow = latencies.mean() + DEVIATIONS * latencies.standard_deviation();
            slow as u64
        })
    }

    /// Takes the stack of an interval that is slow already. `ratio`: ticks of this analysis' clock for one of the stack's.
    pub fn slow_stack(&mut self, stack: &SlowStack, ratio: f64) {
        self.intake.slow.add(stack, ratio);
    }
}
