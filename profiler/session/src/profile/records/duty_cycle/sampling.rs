//! Sampling windows, where threads are followed: everything is recorded in them, and nothing between them.
//!
//! A sample of intervals would lack those that others wait for. So within a window everything is recorded. A window lasts
//! as long as the budget. Then it takes in no further intervals, and follows its last ones to their ends. Until the budget has
//! recovered, intervals are only counted. The lengths vary at random, in step with nothing periodic.
//!
//! Some intervals never end: a request that is rejected, a task that nobody takes up. A window that has been closing
//! for long is over, and those that were open then are awaited by no later one.
//!
//! A thread's calls are recorded from its next interval, wait or wake on, and a wake only while recording is on. So
//! recording begins a little before the first interval is: what it waits for is then known from the start.
//!
//! Every two seconds or so, when the open intervals have ended, intervals are timed for a moment without anything
//! inside of them. That measures the cost of recording, as by [`super::bypass`]. Where the ends of intervals are awaited for long,
//! it is done more rarely.

use std::time::{Duration, Instant};

use evenkeel_wire::Mode;

use super::policy::{
    AHEAD, AWAITING_TIMES, BETWEEN_BYPASSES, BYPASSED, CLOSED_MAX, CLOSING_MAX, OPEN, SETTLING,
};

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
    until: Instant,
    /// When the cost was asked for last.
    asked: Instant,
    /// Seconds by which the window has spent more than the budget.
    owed: f64,
    /// When the window took in no further intervals.
    closing: Instant,
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
            until: now + OPEN,
            asked: now,
            owed: 0.0,
            closing: now,
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
                self.owe(now, excess());
                if self.owed > 0.0 || now >= self.bypass_next {
                    self.state = State::Closing;
                    self.closing = now;
                    self.until = now + SETTLING;
                } else {
                    self.owed = 0.0;
                    self.until = now + OPEN.mul_f64(vary);
                }
            }
            State::Closing if in_flight <= self.given_up && now >= self.until => {
                if now >= self.bypass_next {
                    self.state = State::Bypassed;
                    self.until = now + BYPASSED.mul_f64(vary);
                    let awaited = AWAITING_TIMES * now.duration_since(self.closing);
                    self.bypass_next = self.until + BETWEEN_BYPASSES.max(awaited).mul_f64(vary);
                } else {
                    self.close(now, vary, excess());
                }
            }
            State::Bypassed if now >= self.until => self.close(now, vary, excess()),
            State::Closed if now >= self.until => {
                // What was spent while closed is not the next window's.
                excess();
                self.asked = now;
                self.state = State::Opening;
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

    /// Takes in what was spent since the last time: `excess` times the budget.
    fn owe(&mut self, now: Instant, excess: f64) {
        self.owed += (excess - 1.0) * now.duration_since(self.asked).as_secs_f64();
        self.asked = now;
    }

    /// After a window: nothing is recorded until its excess over the budget is made up for.
    fn close(&mut self, now: Instant, vary: f64, excess: f64) {
        self.owe(now, excess);
        let closed = std::mem::take(&mut self.owed).clamp(0.0, CLOSED_MAX.as_secs_f64());
        let closed = Duration::from_secs_f64(closed);
        let (state, length) = match (closed.is_zero(), self.state) {
            (false, _) => (State::Closed, closed.mul_f64(vary)),
            (true, State::Bypassed) => (State::Opening, AHEAD),
            (true, _) => (State::Open, OPEN.mul_f64(vary)),
        };
        self.state = state;
        self.until = now + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows that spend half of the budget: what they do at a time in milliseconds, with so many intervals open.
    fn within_the_budget() -> impl FnMut(u64, u64) -> (Mode, u32) {
        let mut windows = SamplingWindows::new();
        let start = windows.asked;
        move |ms, in_flight| {
            let now = start + Duration::from_millis(ms);
            windows.turn(now, u32::MAX / 2, in_flight, || 0.5)
        }
    }

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
        let mut at = within_the_budget();
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
        assert_eq!(at(2300, 0), (Mode::Record, 0), "not soon again");
    }

    /// Intervals of a second are awaited for as long: not every two seconds.
    #[test]
    fn what_takes_long_to_await_is_awaited_rarely() {
        let mut at = within_the_budget();
        assert_eq!(at(2000, 3), (Mode::Record, ALL));
        assert_eq!(at(3000, 0), (Mode::IntervalsOnly, 0));
        assert_eq!(at(3060, 0), (Mode::Record, ALL));
        for ms in (3100..13_000).step_by(10) {
            assert_eq!(at(ms, 3), (Mode::Record, 0), "{ms}");
        }
        assert_eq!(at(13_300, 3), (Mode::Record, ALL));
    }

    #[test]
    fn within_the_budget_it_stays_open() {
        let start = Instant::now();
        let mut windows = SamplingWindows::new();
        let mut at = |ms| windows.turn(start + Duration::from_millis(ms), 0, 1, || 0.5);
        for ms in (200..2000).step_by(10) {
            assert_eq!(at(ms), (Mode::Record, 0), "{ms}");
        }
    }
}
