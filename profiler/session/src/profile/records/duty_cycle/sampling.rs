//! Sampling windows, where threads are followed: everything is recorded in them, and nothing between them.
//!
//! A sample of intervals would lack those that others wait for. So within a window everything is recorded. After it
//! no further intervals are recorded, but the open ones are followed to their ends. Then, until the budget has
//! recovered, intervals are only counted. The lengths vary at random, in step with nothing periodic.
//!
//! Some intervals never end: a request that is rejected, a task that nobody takes up. A window that has been closing
//! for long is over, and those that were open then are awaited by no later one.
//!
//! A thread's calls are recorded from its next interval, wait or wake on, and a wake only while recording is on. So
//! recording begins a little before the first interval is: what it waits for is then known from the start.
//!
//! Every two seconds or so, when the open intervals have ended, intervals are timed for a moment without anything
//! inside of them. That measures the cost of recording, as by [`super::bypass`].

use std::time::{Duration, Instant};

use evenkeel_wire::Mode;

use super::policy::{AHEAD, BETWEEN_BYPASSES, BYPASSED, CLOSED_MAX, CLOSING_MAX, OPEN, SETTLING};

/// All intervals, in 1/65536.
const ALL: u32 = 65536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Threads are recorded, but no intervals begin to be.
    Opening,
    /// Everything is recorded.
    Open,
    /// Open intervals are followed to their ends, no others begin.
    Closing,
    /// Intervals are timed, and nothing else is recorded.
    Bypassed,
    /// Nothing is recorded.
    Closed,
}

/// Opens and closes them.
#[derive(Debug)]
pub struct SamplingWindows {
    state: State,
    opened: Instant,
    until: Instant,
    /// Length of the window that has closed.
    was_open: Duration,
    bypass_next: Instant,
    /// Open intervals whose ends are not awaited any more.
    given_up: u64,
}

impl SamplingWindows {
    /// Begins open.
    pub fn new() -> SamplingWindows {
        let now = Instant::now();
        SamplingWindows {
            state: State::Open,
            opened: now,
            until: now + OPEN,
            was_open: Duration::ZERO,
            bypass_next: now + BETWEEN_BYPASSES,
            given_up: 0,
        }
    }

    /// Opens or closes when it is time: what agents are to do, and the fraction of intervals that they do not record.
    /// `random`: uniform over all of its values; `in_flight`: intervals being recorded; `excess`: how many times the
    /// budget was spent since it was last asked for.
    pub fn turn(
        &mut self,
        now: Instant,
        random: u32,
        in_flight: u64,
        mut excess: impl FnMut() -> f64,
    ) -> (Mode, u32) {
        // Half to one and a half times the mean.
        let vary = 0.5 + f64::from(random) / f64::from(u32::MAX);
        self.given_up = self.given_up.min(in_flight);
        if self.state == State::Closing && now >= self.until + CLOSING_MAX {
            self.given_up = in_flight;
        }
        match self.state {
            State::Open if now >= self.until => {
                self.state = State::Closing;
                self.until = now + SETTLING;
            }
            State::Closing if in_flight <= self.given_up && now >= self.until => {
                self.was_open = now.duration_since(self.opened);
                if now >= self.bypass_next {
                    self.state = State::Bypassed;
                    self.until = now + BYPASSED.mul_f64(vary);
                    self.bypass_next = self.until + BETWEEN_BYPASSES.mul_f64(vary);
                } else {
                    self.close(now, vary, excess());
                }
            }
            State::Bypassed if now >= self.until => self.close(now, vary, excess()),
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
            State::Bypassed => (Mode::IntervalsOnly, 0),
            State::Closed => (Mode::Count, ALL),
        }
    }

    /// After a window: nothing is recorded for as long as it takes to make up for `excess` times the budget.
    fn close(&mut self, now: Instant, vary: f64, excess: f64) {
        let closed = self.was_open.mul_f64((excess - 1.0).clamp(0.0, 1e3));
        let closed = closed.min(CLOSED_MAX);
        let (state, length) = match (closed.is_zero(), self.state) {
            (false, _) => (State::Closed, closed.mul_f64(vary)),
            (true, State::Bypassed) => (State::Opening, AHEAD),
            (true, _) => (State::Open, OPEN.mul_f64(vary)),
        };
        self.state = state;
        self.opened = now;
        self.until = now + length;
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

    /// One never ends. Further windows await only those that began in them.
    #[test]
    fn intervals_that_never_end_close_no_window_for_ever() {
        let start = Instant::now();
        let mut windows = SamplingWindows::new();
        let mut at =
            |ms, in_flight| windows.turn(start + Duration::from_millis(ms), 0, in_flight, || 2.0);
        at(200, 2);
        assert_eq!(at(10_200, 2), (Mode::Record, ALL));
        assert_eq!(at(10_211, 2).0, Mode::IntervalsOnly, "two are given up");
        assert_eq!(at(11_000, 2).0, Mode::Count);
        at(20_000, 1);
        assert_eq!(at(20_100, 1), (Mode::Record, 0));
        at(20_300, 2);
        assert_eq!(
            at(20_400, 2),
            (Mode::Record, ALL),
            "one of this window is open"
        );
        assert_ne!(at(20_401, 1).0, Mode::Record);
    }

    /// A thousand times the budget in 200 ms would take 200 s to make up for.
    #[test]
    fn windows_close_for_some_seconds_at_most() {
        let start = Instant::now();
        let mut windows = SamplingWindows::new();
        let half = u32::MAX / 2;
        let mut at = |ms| windows.turn(start + Duration::from_millis(ms), half, 0, || 1000.0);
        at(200);
        assert_eq!(at(210), (Mode::Count, ALL));
        assert_eq!(at(5_205), (Mode::Count, ALL));
        assert_eq!(at(5_215), (Mode::Record, ALL), "a little ahead of the next");
    }

    /// After two seconds, and when open intervals have ended, intervals alone are timed, and recording begins ahead of
    /// the next.
    #[test]
    fn what_recording_costs_is_measured_now_and_then() {
        let mut windows = SamplingWindows::new();
        let start = windows.opened;
        let half = u32::MAX / 2;
        let mut at = |ms, in_flight| {
            windows.turn(start + Duration::from_millis(ms), half, in_flight, || 0.5)
        };
        assert_eq!(at(2000, 3), (Mode::Record, ALL));
        assert_eq!(at(2001, 3), (Mode::Record, ALL), "open ones are awaited");
        assert_eq!(
            at(2002, 0),
            (Mode::Record, ALL),
            "one may be about to begin"
        );
        assert_eq!(at(2012, 0), (Mode::IntervalsOnly, 0));
        assert_eq!(at(2060, 4), (Mode::IntervalsOnly, 0));
        assert_eq!(at(2080, 4), (Mode::Record, ALL));
        assert_eq!(at(2100, 4), (Mode::Record, 0));
        assert_eq!(at(2300, 0), (Mode::Record, ALL));
        assert_eq!(at(2310, 0), (Mode::Record, 0), "not soon again");
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
