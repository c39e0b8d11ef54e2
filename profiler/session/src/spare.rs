//! The part of the session's processor time that is taken from others.
//!
//! Work on a processor that would have been idle takes nothing from the target. The system reports how long each
//! processor was idle (`/proc/stat`, proc(5)). The part of it that meets no idle processor is taken from others.
//! Let `i` be the part of the time in which a processor would be idle without the session. If processors are idle
//! independently of each other, all n are busy for (1 - i)^n of the time.
//!
//! A quota may limit the session to less than the processors on which it may run. Idle time is then no measure of the
//! spare time, and all time is taken from others.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity};

/// Interval of reading the system's clocks, whose idle time ticks a hundred times a second. Guess: `it_is_a_part`.
const IDLE_PERIOD: Duration = Duration::from_millis(500);
/// Smallest part that is taken from others, however idle the processors are: two that share a core, or its caches, slow
/// each other down. Guess: `idle_processors_do_not_make_draining_free`, `idle_processors_do_not_make_attaching_free`.
const TAKEN_MIN: f64 = 0.1;

/// Ticks of the system's clocks a second (`USER_HZ`, the same on all architectures of Linux that are supported).
const TICKS_PER_S: f64 = 100.0;

/// Watches the processors that this process may use.
#[derive(Debug, Default)]
pub struct SpareTime {
    /// Absent where idle time says nothing.
    processors: Option<CpuSet>,
    last: Option<Reading>,
    taken: f64,
}

/// A reading of the clocks.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    /// Idle ticks of all processors together.
    idle_ticks: u64,
    processors: u32,
    /// Processor time that the session has used until then.
    used: Duration,
}

impl SpareTime {
    /// Starts to watch; until enough is known, all time is taken from others.
    pub fn new() -> SpareTime {
        let may_use = std::thread::available_parallelism().map_or(1, usize::from);
        let processors = sched_getaffinity(None).ok();
        let all_of_them = |set: &CpuSet| set.count() as usize <= may_use;
        SpareTime {
            processors: processors.filter(all_of_them),
            last: None,
            taken: 1.0,
        }
    }

    /// The part of what the session takes that is taken from others, at least [`TAKEN_MIN`]. `used`: processor time
    /// that it has taken so far.
    pub fn taken(&mut self, now: Instant, used: Duration) -> f64 {
        let is_due = |last: Reading| now.duration_since(last.at) >= IDLE_PERIOD;
        if self.last.is_none_or(is_due)
            && let Some(set) = &self.processors
        {
            let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
            let is_ours = |number| number < CpuSet::MAX_CPU && set.is_set(number);
            if let Some((idle_ticks, processors)) = idle_ticks(&text, is_ours) {
                let reading = Reading {
                    at: now,
                    idle_ticks,
                    processors,
                    used,
                };
                self.taken = self.last.map_or(1.0, |last| reading.taken_since(&last));
                self.last = Some(reading);
            }
        }
        self.taken.max(TAKEN_MIN)
    }
}

impl Reading {
    fn taken_since(&self, last: &Reading) -> f64 {
        let elapsed = self.at.duration_since(last.at).as_secs_f64();
        let all = elapsed * f64::from(self.processors);
        let idle = self.idle_ticks.saturating_sub(last.idle_ticks) as f64 / TICKS_PER_S;
        let ours = self.used.saturating_sub(last.used).as_secs_f64();
        let idle_without = ((idle + ours) / all.max(1e-9)).clamp(0.0, 1.0);
        (1.0 - idle_without).powi(self.processors as i32)
    }
}

/// Idle ticks of those processors together, waits for a device included, and how many they are.
fn idle_ticks(stat: &str, is_ours: impl Fn(usize) -> bool) -> Option<(u64, u32)> {
    let mut found = (0, 0);
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        // The first line, "cpu", is the sum of all.
        let number = words.next()?.strip_prefix("cpu").map(str::parse::<usize>);
        let Some(number) = number else { break };
        if number.is_ok_and(&is_ours) {
            // cpuN user nice system idle iowait ..
            let mut times = words.skip(3).map_while(|word| word.parse::<u64>().ok());
            found.0 += times.next()? + times.next().unwrap_or(0);
            found.1 += 1;
        }
    }
    (found.1 > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  10 0 10 300 40 0 0 0 0 0\ncpu0 5 0 5 100 20 0 0 0 0 0\ncpu1 5 0 5 200 20 0 0 0 0 0\nintr 1\n";

    #[test]
    fn idle_time_of_ones_own_processors() {
        assert_eq!(idle_ticks(STAT, |_| true), Some((340, 2)));
        assert_eq!(idle_ticks(STAT, |number| number == 1), Some((220, 1)));
        assert_eq!(idle_ticks(STAT, |number| number == 7), None);
        assert_eq!(idle_ticks("", |_| true), None);
        assert_eq!(idle_ticks("cpu0 5 0\n", |_| true), None);
    }

    /// Two processors for a second, 0.6 s idle, and 0.4 s used by the session. Without it each would be idle for half
    /// of the time, and both are busy for a quarter of it. Where nothing is idle, all time is taken from others.
    #[test]
    fn what_meets_no_idle_processor_is_taken() {
        let start = Instant::now();
        let reading = |seconds, idle_ticks, used_ms| Reading {
            at: start + Duration::from_secs(seconds),
            idle_ticks,
            processors: 2,
            used: Duration::from_millis(used_ms),
        };
        let taken = reading(1, 160, 500).taken_since(&reading(0, 100, 100));
        assert!((taken - 0.25).abs() < 1e-9, "{taken}");
        assert_eq!(reading(1, 100, 0).taken_since(&reading(0, 100, 0)), 1.0);
        assert_eq!(reading(1, 900, 0).taken_since(&reading(0, 100, 0)), 0.0);
    }

    /// Whatever the system says.
    #[test]
    fn it_is_a_part() {
        let mut spare = SpareTime::new();
        let start = Instant::now();
        assert_eq!(spare.taken(start, Duration::ZERO), 1.0);
        let later = spare.taken(start + 2 * IDLE_PERIOD, Duration::ZERO);
        assert!((0.0..=1.0).contains(&later));
    }
}
