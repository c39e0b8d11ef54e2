//! How much time is spent on processes that start while a session runs.
//!
//! A server that executes a program for each connection (Postfix, inetd) starts tens of processes a second. Each of
//! them takes milliseconds of two processes to attach to: the session's, and its own. A probe's cost is no measure of
//! that, so attaching has an allowance of its own: `--max-overhead` of the processors' time, as far as it is taken
//! from others ([`crate::spare`]).
//!
//! The allowance may be overdrawn by one process. So some are attached to however little is allowed, and those that
//! live long are all attached to in the end.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::spare::SpareTime;

/// Time that may be saved up: this many seconds' allowance. A server that starts ten workers at a time has them all at
/// once. Guess: `what_was_spent_is_paid_back`.
const SAVED_SECONDS: f64 = 1.0;
/// The part of the allowance that looking for processes may take. A server may have thousands. Guess:
/// `many_processes_are_looked_at_more_rarely`.
const LOOKING: f64 = 0.25;
/// Least time between two looks.
const LOOKS_APART: Duration = Duration::from_millis(50);
/// The smallest allowance, in processors: with none at all nothing would ever be paid back.
const ALLOWED_MIN: f64 = 1e-3;

/// The allowance, and when to look again.
#[derive(Debug)]
pub struct Pace {
    /// Processors that may be used.
    allowed: f64,
    /// What is left, seconds; negative where it was overdrawn.
    left_s: f64,
    last: Instant,
    look_at: Instant,
    /// Without it all time is taken from others.
    spare: Option<SpareTime>,
}

impl Pace {
    /// From now on, this fraction of all processors that this process may use.
    pub fn new(overhead_max: f64) -> Pace {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Pace {
            spare: Some(SpareTime::new()),
            ..Pace::with_processors(overhead_max * processors as f64, Instant::now())
        }
    }

    fn with_processors(allowed: f64, now: Instant) -> Pace {
        let allowed = allowed.max(ALLOWED_MIN);
        Pace {
            allowed,
            left_s: allowed * SAVED_SECONDS,
            last: now,
            look_at: now,
            spare: None,
        }
    }

    /// Whether it is time to look for processes.
    pub fn may_look(&self, now: Instant) -> bool {
        now >= self.look_at
    }

    /// A look was made that took this long.
    pub fn looked(&mut self, now: Instant, used: Duration) {
        let apart = self.spend(now, used) / (LOOKING * self.allowed);
        self.look_at = now + LOOKS_APART.max(Duration::from_secs_f64(apart));
    }

    /// Whether there is time for a process.
    pub fn may_attach(&mut self, now: Instant) -> bool {
        let due = now.duration_since(self.last).as_secs_f64() * self.allowed;
        self.last = now;
        self.left_s = (self.left_s + due).min(self.allowed * SAVED_SECONDS);
        self.left_s >= 0.0
    }

    /// This much processor time was used. How much of it was taken from others, seconds.
    pub fn spend(&mut self, now: Instant, used: Duration) -> f64 {
        let spare = self.spare.as_mut();
        let part = spare.map_or(1.0, |spare| spare.taken(now, own_time()));
        let taken_s = part * used.as_secs_f64();
        self.left_s -= taken_s;
        taken_s
    }
}

/// Processor time of this thread.
pub fn own_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 % of two processors are 60 ms a second.
    #[test]
    fn what_was_spent_is_paid_back() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pace = Pace::with_processors(0.06, start);
        let mut attached = 0;
        while pace.may_attach(start) {
            pace.spend(start, Duration::from_millis(8));
            attached += 1;
        }
        assert_eq!(attached, 8, "those of one second, and one more");
        assert!(!pace.may_attach(at(60)), "4 ms are missing");
        assert!(pace.may_attach(at(70)));
        pace.spend(start, Duration::from_millis(8));
        attached = 0;
        for ms in 71..10_070 {
            if pace.may_attach(at(ms)) {
                pace.spend(start, Duration::from_millis(8));
                attached += 1;
            }
        }
        assert!((74..=76).contains(&attached), "{attached} in ten seconds");
    }

    /// 4 ms for all processes of a server: 15 ms a second for that leave 45 for attaching.
    #[test]
    fn many_processes_are_looked_at_more_rarely() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.06, start);
        pace.looked(start, Duration::from_millis(4));
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!pace.may_look(at(260)) && pace.may_look(at(270)));
        pace.looked(start, Duration::from_micros(100));
        assert!(!pace.may_look(at(49)) && pace.may_look(at(50)));
    }

    /// A tenth counts: two threads that share a core slow each other down.
    #[test]
    fn idle_processors_do_not_make_attaching_free() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.06, start);
        pace.spare = Some(SpareTime::default());
        let taken_s = pace.spend(start, Duration::from_millis(80));
        assert!((taken_s - 0.008).abs() < 1e-9, "{taken_s}");
    }

    #[test]
    fn some_are_attached_to_however_little_is_allowed() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.0, start);
        assert!(pace.may_attach(start));
        pace.spend(start, Duration::from_millis(8));
        assert!(!pace.may_attach(start + Duration::from_secs(5)));
        assert!(pace.may_attach(start + Duration::from_secs(9)));
    }
}
