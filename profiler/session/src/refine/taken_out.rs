//! A probe that was removed for its cost returns once intervals are so much slower that it costs little.

use super::policy::SLOWER;

/// Whether a probe is removed for its cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakenOut {
    /// Mean latency at which the probe returns, ns; `None` if it is not removed.
    until_ns: Option<f64>,
    times: i32,
}

impl TakenOut {
    /// Whether it is removed.
    pub fn is_out(&self) -> bool {
        self.until_ns.is_some()
    }

    /// Removes it at this mean latency, ns.
    pub(crate) fn at(&mut self, mean_ns: f64) {
        self.times += 1;
        self.until_ns = Some(mean_ns * SLOWER.powi(self.times));
    }

    /// Removes it for good.
    pub(crate) fn for_good(&mut self) {
        self.until_ns = Some(f64::INFINITY);
    }

    /// Returns whether the probe returns at this mean latency, ns.
    pub(crate) fn comes_back(&mut self, mean_ns: f64) -> bool {
        let comes = self.until_ns.is_some_and(|until_ns| mean_ns >= until_ns);
        if comes {
            self.until_ns = None;
        }
        comes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_times_as_slow_the_first_time_sixteen_times_the_second() {
        let mut out = TakenOut::default();
        assert!(!out.comes_back(f64::MAX));
        out.at(100.0);
        assert!(!out.comes_back(399.0) && out.is_out());
        assert!(out.comes_back(400.0) && !out.is_out());
        out.at(100.0);
        assert!(!out.comes_back(1599.0));
        assert!(out.comes_back(1600.0));
        out.for_good();
        assert!(!out.comes_back(f64::MAX) && out.is_out());
    }
}
