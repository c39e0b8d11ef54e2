//! From the events' clock to ticks of the records' clock.
//!
//! The kernel's own conversion (`time_mult` of the shared page) is absent where its clock is not that counter, as in
//! many virtual machines. Therefore each drain reads both clocks, and times in between are interpolated between the
//! two readings around them. Drains are some twenty milliseconds apart, in which the rates of the clocks differ by
//! less than a microsecond.

use evenkeel_wire::now_ticks;
use rustix::time::{ClockId, clock_gettime};

/// Two clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// `CLOCK_MONOTONIC_RAW`.
    pub time_ns: u64,
    /// The clock of the records.
    pub ticks: u64,
}

/// Number of readings of the pair; the least disturbed one is kept.
const TRIES: usize = 5;

impl Reading {
    /// Now.
    pub fn now() -> Reading {
        let reading = || {
            let before = now_ticks();
            let time = clock_gettime(ClockId::MonotonicRaw);
            let after = now_ticks();
            let time_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            let ticks = before + (after - before) / 2;
            (after - before, Reading { time_ns, ticks })
        };
        let readings = (0..TRIES).map(|_| reading());
        readings
            .min_by_key(|(disturbed, _)| *disturbed)
            .map_or(Reading::default(), |(_, reading)| reading)
    }

    /// Ticks at `time_ns`, on the line through this reading and a later one.
    pub fn ticks_at(self, later: Reading, time_ns: u64) -> u64 {
        let span_ns = (later.time_ns.saturating_sub(self.time_ns)).max(1) as f64;
        let rate = later.ticks.saturating_sub(self.ticks) as f64 / span_ns;
        let offset_ns = time_ns as f64 - self.time_ns as f64;
        self.ticks.saturating_add_signed((offset_ns * rate) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_the_line() {
        let at = |time_ns, ticks| Reading { time_ns, ticks };
        let (first, second) = (at(1000, 50_000), at(2000, 53_000));
        assert_eq!(first.ticks_at(second, 1000), 50_000);
        assert_eq!(first.ticks_at(second, 1500), 51_500);
        assert_eq!(first.ticks_at(second, 2100), 53_300);
        assert_eq!(first.ticks_at(second, 900), 49_700);
        assert_eq!(first.ticks_at(first, 1000), 50_000, "no time has passed");
    }
}
