//! Processes that could not be stopped at a safe point: they sleep in the kernel, for a disk for example. They are
//! tried again, more and more rarely and for a shorter time: records of other processes are lost while an attempt holds the
//! session up for long.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use evenkeel_attach::{SEARCH_LIMIT, process};

/// Before the second attempt; twice as long before each further one. Guess: `attempts_become_rarer`.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(16);
/// How long a later attempt may take. Rings of busy threads are full after some hundred milliseconds. Guess: `later_attempts_are_short`.
const LATER_ATTEMPT: Duration = Duration::from_millis(100);

/// When to try them again.
#[derive(Debug, Default)]
pub struct Postponed {
    by_pid: HashMap<i32, Rest>,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Instant,
    length: Duration,
}

impl Postponed {
    /// An attempt has failed.
    pub fn add(&mut self, pid: i32, now: Instant) {
        let before = self.by_pid.get(&pid);
        let length = before.map_or(FIRST_REST, |rest| (2 * rest.length).min(LONGEST_REST));
        let until = now + length;
        self.by_pid.insert(pid, Rest { until, length });
    }

    /// How long the next attempt at a process may take.
    pub fn limit(&self, pid: i32) -> Duration {
        match self.by_pid.contains_key(&pid) {
            true => LATER_ATTEMPT,
            false => SEARCH_LIMIT,
        }
    }

    /// Whether it is too early to try a process again, or it still sleeps in the kernel, where nothing can stop it.
    pub fn rests(&self, pid: i32, now: Instant) -> bool {
        self.by_pid
            .get(&pid)
            .is_some_and(|rest| now < rest.until || sleeps_in_kernel(pid))
    }
}

/// Whether all threads of a process wait where no signal reaches them (state D).
fn sleeps_in_kernel(pid: i32) -> bool {
    let threads = process::threads(pid).unwrap_or_default();
    let sleeps = |&tid: &i32| {
        process::status(tid, "State").is_some_and(|state| state.trim().starts_with('D'))
    };
    !threads.is_empty() && threads.iter().all(sleeps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_attempts_are_short() {
        let (own, start) = (std::process::id() as i32, Instant::now());
        let mut postponed = Postponed::default();
        assert_eq!(postponed.limit(own), SEARCH_LIMIT);
        postponed.add(own, start);
        assert_eq!(postponed.limit(own), Duration::from_millis(100));
    }

    #[test]
    fn attempts_become_rarer() {
        let (own, start) = (std::process::id() as i32, Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let mut postponed = Postponed::default();
        assert!(!postponed.rests(own, start), "it was not tried");
        postponed.add(own, start);
        assert!(postponed.rests(own, at(499)) && !postponed.rests(own, at(500)));
        postponed.add(own, at(600));
        assert!(postponed.rests(own, at(1599)) && !postponed.rests(own, at(1600)));
        for _ in 0..10 {
            postponed.add(own, start);
        }
        assert!(postponed.rests(own, at(15_999)) && !postponed.rests(own, at(16_000)));
    }
}
