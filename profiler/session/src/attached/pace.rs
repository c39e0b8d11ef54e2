//! How much time is spent on processes that start while a session runs.
//!
//! A server that executes a program for each connection (Postfix, inetd) starts tens of processes a second. Each of
//! them takes milliseconds of two processes to attach to: the session's, and its own. A probe's cost is no measure of
//! that, so attaching has its own allowance: the part of `--max-overhead` that probes and drains leave. Only what
//! is taken from others counts ([`crate::spare`]). What else the session does is paid from it, too.
//!
//! The allowance may be overdrawn by one process. So some are attached to however little is allowed, and those that
//! live long are all attached to in the end.

use std::time::{Duration, Instant};

use crate::clock::own_time;
use crate::spare::SpareTime;

/// The part of `--max-overhead` that it may spend; probes and drains have the rest
/// (`SPENT_PART` in `profile/records/duty_cycle/policy.rs`). By definition:
/// `attaching_has_a_part_of_what_is_permitted`.
const PART: f64 = 0.5;
/// Time that may be saved up, or owed for other work: this many seconds' allowance. A server that starts ten workers at
/// a time has them all at once. Guess: `what_was_spent_is_paid_back`.
const SAVED_SECONDS: f64 = 1.0;
/// The part of the allowance that looking for processes may take. A server may have thousands. Guess:
/// `many_processes_are_looked_at_more_rarely`.
const LOOKING: f64 = 0.25;
/// The part that the session's other work leaves for processes, however much there is of it. Guess:
/// `other_work_of_the_session_is_paid_first`.
const LEFT_MIN: f64 = 0.25;
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
    /// This thread's time for other work than processes, up to the last look at the allowance.
    other: Duration,
    /// Its time for processes.
    charged: Duration,
    /// Other work that was not paid yet, seconds.
    owed_s: f64,
    /// Without it all time is taken from others.
    spare: Option<SpareTime>,
}

impl Pace {
    /// From now on, a part of this fraction of all processors that this process may use. `worked`: this thread's
    /// processor time so far, without that for draining records.
    pub fn new(overhead_max: f64, worked: Duration) -> Pace {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Pace {
            other: worked,
            spare: Some(SpareTime::new()),
            ..Pace::with_processors(PART * overhead_max * processors as f64, Instant::now())
        }
    }

    fn with_processors(allowed: f64, now: Instant) -> Pace {
        let allowed = allowed.max(ALLOWED_MIN);
        Pace {
            allowed,
            left_s: allowed * SAVED_SECONDS,
            last: now,
            look_at: now,
            other: Duration::ZERO,
            charged: Duration::ZERO,
            owed_s: 0.0,
            spare: None,
        }
    }

    /// Whether it is time to look for processes.
    pub fn may_look(&self, now: Instant) -> bool {
        now >= self.look_at
    }

    /// A look was made that took this long.
    pub fn looked(&mut self, now: Instant, used: Duration) {
        let apart = self.spend(now, used, Duration::ZERO) / (LOOKING * self.allowed);
        self.look_at = now + LOOKS_APART.max(Duration::from_secs_f64(apart));
    }

    /// Whether there is time for a process. `worked` as in [`Pace::new`].
    pub fn may_attach(&mut self, now: Instant, worked: Duration) -> bool {
        let due = now.duration_since(self.last).as_secs_f64() * self.allowed;
        self.last = now;
        let other = worked.saturating_sub(self.charged);
        let used = other.saturating_sub(self.other);
        self.other = other;
        let saved_s = self.allowed * SAVED_SECONDS;
        self.owed_s = (self.owed_s + self.taken(now, used)).min(saved_s);
        let paid_s = self.owed_s.min((1.0 - LEFT_MIN) * due);
        self.owed_s -= paid_s;
        self.left_s = (self.left_s + due - paid_s).min(saved_s);
        self.left_s >= 0.0
    }

    /// This much processor time was used for a process or a look: by this thread, and by the process itself. How much
    /// of it was taken from others, seconds.
    pub fn spend(&mut self, now: Instant, own: Duration, theirs: Duration) -> f64 {
        self.charged += own;
        let taken_s = self.taken(now, own + theirs);
        self.left_s -= taken_s;
        taken_s
    }

    /// How much of this is taken from others, seconds.
    fn taken(&mut self, now: Instant, used: Duration) -> f64 {
        let spare = self.spare.as_mut();
        let part = spare.map_or(1.0, |spare| spare.taken(now, own_time()));
        part * used.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;
    const ONE_MS: Duration = Duration::from_millis(1);

    /// Attaches to as many processes as it may from `from_ms` to `to_ms`, each for 8 ms. In each millisecond the
    /// session does other work besides, for `other`.
    fn attached(pace: &mut Pace, start: Instant, ms: std::ops::Range<u32>, other: Duration) -> u32 {
        let mut attached = 0;
        for ms in ms {
            let worked = pace.charged + ms * other;
            if pace.may_attach(start + ms * ONE_MS, worked) {
                pace.spend(start, 2 * ONE_MS, 6 * ONE_MS);
                attached += 1;
            }
        }
        attached
    }

    /// 3 % of two processors are 60 ms a second.
    #[test]
    fn what_was_spent_is_paid_back() {
        let start = Instant::now();
        let at = |ms| start + ms * ONE_MS;
        let mut pace = Pace::with_processors(0.06, start);
        let mut first = 0;
        while pace.may_attach(start, NONE) {
            pace.spend(start, NONE, 8 * ONE_MS);
            first += 1;
        }
        assert_eq!(first, 8, "those of one second, and one more");
        assert!(!pace.may_attach(at(60), NONE), "4 ms are missing");
        assert!(pace.may_attach(at(70), NONE));
        pace.spend(start, NONE, 8 * ONE_MS);
        let later = attached(&mut pace, start, 71..10_070, NONE);
        assert!((74..=76).contains(&later), "{later} in ten seconds");
    }

    /// Half of what `--max-overhead` permits: probes and drains have the rest.
    #[test]
    fn attaching_has_a_part_of_what_is_permitted() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let pace = Pace::new(0.03, NONE);
        assert_eq!(pace.allowed, 0.015 * processors as f64);
    }

    /// Of 60 ms a second the session's other work takes 30: half as many processes. Where it takes all, a quarter is
    /// left. Afterwards no more than a second's is owed.
    #[test]
    fn other_work_of_the_session_is_paid_first() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.06, start);
        pace.left_s = 0.0;
        let half = attached(&mut pace, start, 1..10_000, ONE_MS * 3 / 100);
        assert!((37..=39).contains(&half), "{half} in ten seconds");
        let mut pace = Pace::with_processors(0.06, start);
        pace.left_s = 0.0;
        let quarter = attached(&mut pace, start, 1..10_000, ONE_MS);
        assert!((18..=20).contains(&quarter), "{quarter} in ten seconds");
        assert!(pace.owed_s <= 0.06, "{}", pace.owed_s);
    }

    /// 4 ms for all processes of a server: 15 ms a second for that leave 45 for attaching.
    #[test]
    fn many_processes_are_looked_at_more_rarely() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.06, start);
        pace.looked(start, 4 * ONE_MS);
        let at = |ms| start + ms * ONE_MS;
        assert!(!pace.may_look(at(260)) && pace.may_look(at(270)));
        pace.looked(start, ONE_MS / 10);
        assert!(!pace.may_look(at(49)) && pace.may_look(at(50)));
    }

    /// A tenth counts: two threads that share a core slow each other down.
    #[test]
    fn idle_processors_do_not_make_attaching_free() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.06, start);
        pace.spare = Some(SpareTime::default());
        let taken_s = pace.spend(start, 80 * ONE_MS, NONE);
        assert!((taken_s - 0.008).abs() < 1e-9, "{taken_s}");
    }

    #[test]
    fn some_are_attached_to_however_little_is_allowed() {
        let start = Instant::now();
        let mut pace = Pace::with_processors(0.0, start);
        assert!(pace.may_attach(start, NONE));
        pace.spend(start, NONE, 8 * ONE_MS);
        assert!(!pace.may_attach(start + 5000 * ONE_MS, NONE));
        assert!(pace.may_attach(start + 9000 * ONE_MS, NONE));
    }
}
