//! Windows in which probes are bypassed: now and then, for a moment chosen at random, intervals are timed and the
//! probes below them are not. The difference in latency is what the probes cost, measured and not estimated.

use std::time::Instant;

use evenkeel_wire::Mode;

use super::policy::{BYPASSED, PROBED_FIRST, PROBED_TIMES};

/// Switches between the two.
#[derive(Debug)]
pub struct BypassWindows {
    until: Option<Instant>,
    bypassed: bool,
}

impl BypassWindows {
    /// Begins with probes on.
    pub fn new() -> BypassWindows {
        BypassWindows {
            until: None,
            bypassed: false,
        }
    }

    /// The agents' present mode. `random`: uniform over all of its values.
    pub fn turn(&mut self, now: Instant, random: u32) -> Mode {
        let until = *self.until.get_or_insert(now + PROBED_FIRST);
        if now >= until {
            self.bypassed = !self.bypassed;
            let times = if self.bypassed { 1 } else { PROBED_TIMES };
            // Half to one and a half times the mean: in step with nothing that the target does periodically.
            let vary = 0.5 + f64::from(random) / f64::from(u32::MAX);
            self.until = Some(now + (BYPASSED * times).mul_f64(vary));
        }
        if self.bypassed {
            Mode::IntervalsOnly
        } else {
            Mode::Record
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A second with probes, 60 ms without, 900 ms with.
    #[test]
    fn probes_are_bypassed_now_and_then() {
        let start = Instant::now();
        let mut windows = BypassWindows::new();
        let half = u32::MAX / 2;
        let mut at = |ms| windows.turn(start + Duration::from_millis(ms), half);
        assert_eq!(at(0), Mode::Record);
        assert_eq!(at(999), Mode::Record);
        assert_eq!(at(1000), Mode::IntervalsOnly);
        assert_eq!(at(1055), Mode::IntervalsOnly);
        assert_eq!(at(1061), Mode::Record);
        assert_eq!(at(1950), Mode::Record);
        assert_eq!(at(1970), Mode::IntervalsOnly);
    }
}
