//! Number of calls that may be trapped: as many as `--max-overhead` allows of one processor's time, whatever the
//! number of threads.

use std::time::Instant;

use evenkeel_analysis::profile::TRAP_NS;

use crate::refine::policy::{TRAPS_SAVED_MIN, TRAPS_SAVED_SECONDS};

/// Traps that are granted as time goes by.
#[derive(Debug)]
pub struct Allowance {
    a_second: f64,
    last: Option<Instant>,
    /// A part of a trap that was not granted yet.
    rest: f64,
}

impl Allowance {
    /// An allowance of this fraction of a processor.
    pub fn new(overhead_max: f64) -> Allowance {
        Allowance {
            a_second: overhead_max / (1e-9 * TRAP_NS),
            last: None,
            rest: 0.0,
        }
    }

    /// As many as may be saved up.
    pub fn most(&self) -> i64 {
        (self.a_second * TRAPS_SAVED_SECONDS).max(TRAPS_SAVED_MIN) as i64
    }

    /// The number of traps to grant now, with `left` of those granted earlier unused.
    pub fn grant(&mut self, now: Instant, left: i64) -> i64 {
        let Some(last) = self.last.replace(now) else {
            return self.most() - left;
        };
        let due = self.rest + now.duration_since(last).as_secs_f64() * self.a_second;
        let whole = due.floor();
        self.rest = due - whole;
        (whole as i64).min(self.most() - left).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// 3 % of a second are 10,000 traps of 3 us; a tenth of a second's may be saved up.
    #[test]
    fn traps_are_granted_as_time_goes_by() {
        let start = Instant::now();
        let mut allowance = Allowance::new(0.03);
        assert_eq!(allowance.most(), 1000);
        let mut at = |ms, left| allowance.grant(start + Duration::from_millis(ms), left);
        assert_eq!(at(0, 0), 1000);
        assert_eq!(at(20, 1000), 0, "nothing was used");
        assert_eq!(at(40, 900), 100, "no more than may be saved");
        assert_eq!(at(60, 0), 200);
        assert_eq!(at(80, -24), 200, "what was overdrawn is paid back");
        let mut granted = 0;
        for ms in 81..=1080 {
            granted += at(ms, 0);
        }
        assert!((9_990..=10_000).contains(&granted), "{granted}");
    }

    #[test]
    fn a_few_are_granted_however_little_is_allowed() {
        let mut allowance = Allowance::new(0.0);
        let now = Instant::now();
        assert_eq!(allowance.grant(now, 0), 100);
        assert_eq!(allowance.grant(now + Duration::from_secs(9), 0), 0);
    }
}
