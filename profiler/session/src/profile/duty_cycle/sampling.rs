//! Sampling windows, where threads are followed: everything is recorded in them, and nothing between them.
//!
//! Where only some intervals are recorded, those that others wait for would be missing. So, within a window, everything is
//! recorded; after it no more intervals begin to be, the open ones are followed to their ends, and then, until the budget
//! has recovered, nothing is: intervals are counted only. The lengths vary at random, in step with nothing periodic.
//!
//! A thread's calls are recorded from its next interval, wait or wake on, and a wake only while recording is on. So recording begins a
//! little before the first interval is: what it waits for is then known from the start.

use std::time::{Duration, Instant};

use evenkeel_wire::Mode;

/// Mean length of a window.
const OPEN: Duration = Duration::from_millis(150);
/// How long before the first interval of a window recording begins.
const AHEAD: Duration = Duration::from_millis(15);
/// Longest time between two.
const CLOSED_MAX: Duration = Duration::from_secs(5);
/// All intervals, in 1/65536.
const ALL: u32 = 65536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// What threads do is recorded, no intervals begin to be.
    Opening,
    /// Everything is recorded.
    Open,
    /// Open intervals are followed to their ends, no others begin.
    Closing,
    /// Nothing is recorded.
    Closed,
}

/// Opens and closes them.
#[derive(Debug)]
pub struct SamplingWindows {
    state: State,
    opened: Instant,
    until: Instant,
}

impl SamplingWindows {
    /// Begins open.
    pub fn new() -> SamplingWindows {
        let now = Instant::now();
        SamplingWindows {
            state: State::Open,
            opened: now,
            until: now + OPEN,
        }
    }

    /// Opens or closes when it is time: what agents are to do, and the fraction of intervals that they do not record.
    /// `random`: uniform over all of its values; `in_flight`: intervals being recorded; `excess`: how many times the budget was
    /// spent since it was last asked for.
    pub fn turn(
        &mut self,
        now: Instant,
        random: u32,
        in_flight: u64,
        mut excess: impl FnMut() -> f64,
    ) -> (Mode, u32) {
        match self.state {
            State::Open if now >= self.until => self.state = State::Closing,
            State::Closing if in_flight == 0 => {
                let excess = excess();
                let open = now.duration_since(self.opened);
                let closed = open.mul_f64((excess - 1.0).clamp(0.0, 1e3)).min(CLOSED_MAX);
                self.state = if closed.is_zero() {
                    State::Open
                } else {
                    State::Closed
                };
                self.opened = now;
                // Half to one and a half times the mean, either way.
                let vary = 0.5 + f64::from(random) / f64::from(u32::MAX);
                let length = if closed.is_zero() { OPEN } else { closed };
                self.until = now + length.mul_f64(vary);
            }
            State::Closed if now >= self.until => {
                // What was spent while closed is not the next window's.
                excess();
                self.state = State::Opening;
                self.opened = now;
                self.until = now + AHEAD;
            }
            State::Opening if now >= self.until => {
                self.state = State::Open;
                self.until = now + OPEN;
            }
            _ => {}
        }
        match self.state {
            State::Open => (Mode::Record, 0),
            State::Opening | State::Closing => (Mode::Record, ALL),
            State::Closed => (Mode::Count, ALL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three times the budget: twice as long closed as open, the ends of open intervals awaited.
    #[test]
    fn windows_close_for_what_was_spent() {
        let start = Instant::now();
        let mut windows = SamplingWindows::new();
        let half = u32::MAX / 2;
        let mut at = |ms, in_flight| {
            windows.turn(start + Duration::from_millis(ms), half, in_flight, || 3.0)
        };
        assert_eq!(at(100, 5), (Mode::Record, 0));
        assert_eq!(at(200, 5), (Mode::Record, ALL));
        assert_eq!(at(250, 1), (Mode::Record, ALL), "one is still open");
        assert_eq!(at(300, 0), (Mode::Count, ALL));
        assert_eq!(at(850, 0), (Mode::Count, ALL));
        assert_eq!(at(950, 0), (Mode::Record, ALL), "a little ahead");
        assert_eq!(at(970, 0), (Mode::Record, 0));
    }

    #[test]
    fn within_the_budget_it_stays_open() {
        let start = Instant::now();
        let mut windows = SamplingWindows::new();
        let mut at = |ms| windows.turn(start + Duration::from_millis(ms), 0, 0, || 0.5);
        assert_eq!(at(200), (Mode::Record, ALL));
        assert_eq!(at(210), (Mode::Record, 0));
    }
}
