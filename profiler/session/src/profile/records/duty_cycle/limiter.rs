//! The overhead limiter: what profiling costs, kept within `--max-overhead`.
//!
//! A busy server has tens of thousands of intervals a second, and draining the records of all of them costs a good part
//! of a processor. The limiter adds up two costs: the processor time that drains take from others ([`crate::spare`]),
//! and the probes' time in the target. It compares the sum with a fraction of the machine. If it is more, fewer
//! intervals are recorded, chosen at random one by one: sums over a random sample estimate the same profile. The others
//! are counted.
//!
//! The budget holds for *measured* cost, too. Where recorded intervals take longer than bypassed ones by more than
//! the allowed fraction, fewer are recorded, so that the mean over all of them stays within it. A measurement that
//! may be chance has no effect, and a later one may replace it.

use std::time::{Duration, Instant};

use evenkeel_analysis::profile::SamplingRule;
use evenkeel_analysis::sums::self_cost::Measured;

use super::Work;
use super::policy::{
    COST_SECONDS, DRAINING_MIN, GROWTH_MAX, LIMIT_PERIOD, PAIRS_ENOUGH, RECORDED_MIN, SPENT_PART,
    SURE_ERRORS, UNREAD_EXCESS, UNREAD_MAX,
};
use crate::clock::own_time;
use crate::spare::SpareTime;

/// Steps of the fraction.
const ONE: f64 = 65536.0;
/// Cost up to a time, and the time.
#[derive(Clone, Copy, Debug)]
struct Spent {
    at: Instant,
    draining: Duration,
    records: u64,
    kernel_ns: f64,
    lost: u64,
}

/// Processor seconds a second.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Draining's cost for others.
    draining: f64,
    /// The probes' cost in the target.
    in_target: f64,
}

impl Cost {
    fn all(self) -> f64 {
        self.draining + self.in_target
    }
}

/// Means of the last second or so. What was recorded costs as long as it lasts: a slow interval costs something for long after the
/// fraction was set that let it in.
#[derive(Clone, Copy, Debug)]
struct Lately {
    cost: Cost,
    recorded: f64,
    kept: f64,
}

impl Lately {
    /// Takes in what was so for some seconds.
    fn note(&mut self, cost: Cost, recorded: f64, kept: f64, seconds: f64) {
        let part = (seconds / COST_SECONDS).min(1.0);
        let mix = |mean: &mut f64, now: f64| *mean += part * (now - *mean);
        mix(&mut self.cost.draining, cost.draining);
        mix(&mut self.cost.in_target, cost.in_target);
        mix(&mut self.recorded, recorded);
        mix(&mut self.kept, kept);
    }
}

/// By how much longer intervals take since the probes are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slowdown {
    /// Slowdown of recorded intervals, as a fraction of their latency.
    pub recorded: f64,
    /// All others.
    pub passed: f64,
    /// Mean latency of the measured intervals.
    pub mean_ticks: f64,
}

impl Slowdown {
    /// The same time, as fractions of another mean latency.
    fn at(self, mean_ticks: f64) -> Slowdown {
        let part = self.mean_ticks / mean_ticks.max(1.0);
        Slowdown {
            recorded: self.recorded * part,
            passed: self.passed * part,
            mean_ticks,
        }
    }
}

/// Decides which fraction of the intervals is recorded, and which of these is kept.
#[derive(Debug)]
pub struct OverheadLimiter {
    /// Processor seconds a second.
    budget: f64,
    /// `--max-overhead`.
    overhead_max: f64,
    rule: SamplingRule,
    /// Fraction of the intervals that is recorded.
    recorded: f64,
    /// Fraction of those that is kept when they end.
    kept: f64,
    lately: Lately,
    /// Slowdown by recording.
    slowdown: Slowdown,
    last: Spent,
    draining: Duration,
    spare: Option<SpareTime>,
}

impl OverheadLimiter {
    /// A budget of [`SPENT_PART`] of this fraction of all processors that this process may use.
    pub fn new(overhead_max: f64, rule: SamplingRule) -> OverheadLimiter {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let budget = SPENT_PART * overhead_max * processors as f64;
        OverheadLimiter {
            overhead_max,
            rule,
            spare: Some(SpareTime::new()),
            ..OverheadLimiter::with_budget(budget, Instant::now())
        }
    }

    fn with_budget(budget: f64, now: Instant) -> OverheadLimiter {
        let last = Spent {
            at: now,
            draining: Duration::ZERO,
            records: 0,
            kernel_ns: 0.0,
            lost: 0,
        };
        OverheadLimiter {
            budget,
            overhead_max: 0.0,
            rule: SamplingRule::Uniform,
            recorded: 1.0,
            kept: 1.0,
            lately: Lately {
                cost: Cost::default(),
                recorded: 1.0,
                kept: 1.0,
            },
            slowdown: Slowdown::default(),
            last,
            draining: Duration::ZERO,
            spare: None,
        }
    }

    /// Runs a drain and measures its processor time.
    pub fn measure<T>(&mut self, drain: impl FnOnce() -> T) -> T {
        let before = own_time();
        let result = drain();
        self.draining += own_time().saturating_sub(before);
        result
    }

    /// Processor time of all drains.
    pub fn drained(&self) -> Duration {
        self.draining
    }

    /// By how much longer recorded intervals take, if that is more than allowed and not by chance.
    pub fn told_apart(&self, measured: Measured) -> Option<f64> {
        let error = measured.se.filter(|_| measured.pairs >= PAIRS_ENOUGH)?;
        let least = measured.fraction - SURE_ERRORS * error;
        (least > self.overhead_max).then_some(measured.fraction)
    }

    /// From now on probes slow intervals by so much. The fraction of all that may be recorded.
    pub fn limit_by_slowdown(&mut self, slowdown: Slowdown) -> f64 {
        self.slowdown = slowdown;
        self.recorded_max(slowdown)
    }

    /// The fraction of all intervals that may be recorded, slowed by so much.
    fn recorded_max(&self, slowdown: Slowdown) -> f64 {
        if slowdown.recorded <= self.overhead_max {
            return 1.0;
        }
        let left = (self.overhead_max - slowdown.passed).max(0.0);
        let of_recording = (slowdown.recorded - slowdown.passed).max(1e-9);
        (left / of_recording).clamp(RECORDED_MIN, 1.0)
    }

    /// The cost since the last call, in multiples of the budget. As in [`OverheadLimiter::decide`]. Where records are lost, this
    /// process gets too little time to read them, and what they would have cost is not seen.
    pub fn excess(&mut self, now: Instant, work: Work) -> f64 {
        let (read, lost) = (work.records - self.last.records, work.lost - self.last.lost);
        let excess = self.cost_since(now, work).all() / self.budget.max(1e-9);
        match lost as f64 > UNREAD_MAX * read as f64 {
            true => excess.max(UNREAD_EXCESS),
            false => excess,
        }
    }

    /// Fraction of the recorded intervals that is to be kept.
    pub fn kept(&self) -> f64 {
        self.kept
    }

    /// Cost since the last time.
    fn cost_since(&mut self, now: Instant, work: Work) -> Cost {
        let elapsed = now.duration_since(self.last.at).as_secs_f64();
        let draining = (self.draining - self.last.draining).as_secs_f64() * self.part_taken(now);
        let probing = (work.records - self.last.records) as f64 * work.probe_ns;
        let in_target = 1e-9 * (probing + work.kernel_ns - self.last.kernel_ns);
        self.last = Spent {
            at: now,
            draining: self.draining,
            records: work.records,
            kernel_ns: work.kernel_ns,
            lost: work.lost,
        };
        let elapsed = elapsed.max(1e-9);
        Cost {
            draining: draining / elapsed,
            in_target: in_target / elapsed,
        }
    }

    /// The part of the drains' time that is taken from others.
    fn part_taken(&mut self, now: Instant) -> f64 {
        let used = self.draining;
        let spare = self.spare.as_mut();
        spare.map_or(1.0, |spare| spare.taken(now, used))
    }

    /// The fraction of intervals not to record, in 1/65536, when it is time to set it. `mean_ticks`: the mean latency
    /// of the last seconds. A probe takes as long in a slow interval as in a quick one, and less of it.
    pub fn decide(&mut self, now: Instant, work: Work, mean_ticks: Option<f64>) -> Option<u32> {
        if now.duration_since(self.last.at) < LIMIT_PERIOD {
            return None;
        }
        let seconds = now.duration_since(self.last.at).as_secs_f64();
        let cost = self.cost_since(now, work);
        self.lately.note(cost, self.recorded, self.kept, seconds);
        let (Lately { cost, .. }, budget) = (self.lately, self.budget);
        let least = DRAINING_MIN * budget;
        (self.recorded, self.kept) = match self.rule {
            SamplingRule::All => (1.0, 1.0),
            SamplingRule::Uniform | SamplingRule::Windows => {
                (self.recorded_at(budget, cost.all()), 1.0)
            }
            // Both use what the other leaves.
            SamplingRule::Latency => {
                let for_probes = budget - cost.draining.min(least);
                let for_draining = (budget - cost.in_target).max(least);
                let kept = self.lately.kept * for_draining / cost.draining.max(1e-9);
                (
                    self.recorded_at(for_probes, cost.in_target),
                    kept.min(GROWTH_MAX * self.kept),
                )
            }
        };
        if self.rule != SamplingRule::All {
            let slowdown = mean_ticks.map_or(self.slowdown, |mean| self.slowdown.at(mean));
            let most = self.recorded_max(slowdown);
            self.recorded = self.recorded.clamp(RECORDED_MIN, most);
        }
        self.kept = self.kept.clamp(RECORDED_MIN, 1.0);
        Some(((1.0 - self.recorded) * ONE) as u32)
    }

    /// The fraction to record that costs what is allowed, if that of lately costs so much.
    fn recorded_at(&self, allowed: f64, cost: f64) -> f64 {
        let wanted = self.lately.recorded * allowed / cost.max(1e-9);
        wanted.min(GROWTH_MAX * self.recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn work(records: u64, probe_ns: f64) -> Work {
        Work {
            records,
            probe_ns,
            kernel_ns: 0.0,
            in_flight: 0,
            lost: 0,
        }
    }

    fn slowdown(recorded: f64, passed: f64) -> Slowdown {
        Slowdown {
            recorded,
            passed,
            mean_ticks: 1000.0,
        }
    }

    /// Twice the budget: every second interval. Half of it then: a tenth more each time, until all are recorded after
    /// eight (1.1^8 > 2).
    #[test]
    fn the_fraction_follows_the_cost() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.06, start);
        limiter.draining = Duration::from_millis(100);
        // 100 ms of draining and a million records of 20 ns: 0.12 of a processor.
        assert_eq!(
            limiter.decide(start + SECOND, work(1_000_000, 20.0), None),
            Some(32768)
        );
        let skipped = |limiter: &mut OverheadLimiter, second| {
            limiter.draining += Duration::from_millis(30);
            limiter.decide(start + second * SECOND, work(1_000_000, 20.0), None)
        };
        // 45 % and 39.5 % are left out then.
        assert_eq!(skipped(&mut limiter, 2), Some(29491));
        assert_eq!(skipped(&mut limiter, 3), Some(25886));
        for second in 4..9 {
            assert_ne!(skipped(&mut limiter, second), Some(0));
        }
        assert_eq!(skipped(&mut limiter, 9), Some(0));
    }

    /// A call path with millions of calls: for 100 ms every two seconds it costs ten times what is allowed, which is half of it on
    /// average. Each period by itself would leave one interval in a hundred, and take seconds to come back.
    #[test]
    fn a_slow_interval_does_not_end_all_recording() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.06, start);
        let mut records = 0;
        for period in 1..=400 {
            if period % 40 < 2 {
                records += 1_500_000;
            }
            let now = start + period * LIMIT_PERIOD;
            limiter.decide(now, work(records, 20.0), None);
            assert!(limiter.recorded > 0.5, "{period}: {}", limiter.recorded);
        }
    }

    /// Half of the budget is spent on what was read.
    #[test]
    fn what_is_lost_counts_as_spent() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.06, start);
        let mut excess = |second, lost| {
            let work = Work {
                lost,
                ..work(u64::from(second) * 1_000_000, 30.0)
            };
            limiter.excess(start + second * SECOND, work)
        };
        assert!(excess(1, 0) < 0.6 && excess(2, 10_000) < 0.6);
        assert_eq!(excess(3, 20_001), 2.0);
        assert!(excess(4, 20_001) < 0.6);
    }

    /// Asked every millisecond for a tenth of a second.
    #[test]
    fn the_fraction_is_set_now_and_then() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.06, start);
        let millis = (1..=100).map(|at| start + Duration::from_millis(at));
        let set = millis.filter_map(|now| limiter.decide(now, work(0, 0.0), None));
        assert_eq!(set.count(), 2);
    }

    #[test]
    fn half_of_what_is_allowed_is_spent() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let limiter = OverheadLimiter::new(0.06, SamplingRule::Uniform);
        assert_eq!(limiter.budget, 0.03 * processors as f64);
    }

    /// A tenth of 600 ms is as much as the budget, so that all intervals are recorded; of 1,200 ms it is twice as much.
    #[test]
    fn idle_processors_do_not_make_draining_free() {
        let start = Instant::now();
        let skipped = |drained| {
            let mut limiter = OverheadLimiter::with_budget(0.06, start);
            limiter.spare = Some(SpareTime::default());
            limiter.draining = Duration::from_millis(drained);
            limiter.decide(start + SECOND, work(0, 0.0), None)
        };
        assert_eq!((skipped(600), skipped(1200)), (Some(0), Some(32768)));
    }

    /// Draining alone takes twice the budget: all are recorded, and few are kept, so that a quarter of the time is left
    /// for probes. Then probes alone take twice of what draining leaves, and half of the intervals are recorded.
    #[test]
    fn intervals_are_kept_as_draining_allows_and_recorded_as_probes_do() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter {
            rule: SamplingRule::Latency,
            ..OverheadLimiter::with_budget(0.06, start)
        };
        limiter.draining = Duration::from_millis(120);
        assert_eq!(limiter.decide(start + SECOND, work(0, 0.0), None), Some(0));
        assert!((limiter.kept() - 0.5).abs() < 1e-9, "{}", limiter.kept());
        limiter.draining += Duration::from_millis(15);
        let skipped = limiter.decide(start + 2 * SECOND, work(1_000_000, 90.0), None);
        assert_eq!(skipped, Some(32768));
        assert!((limiter.kept() - 0.5).abs() < 1e-9, "{}", limiter.kept());
        limiter.rule = SamplingRule::All;
        let skipped = limiter.decide(start + 3 * SECOND, work(100_000_000, 90.0), None);
        assert_eq!((skipped, limiter.kept()), (Some(0), 1.0));
    }

    /// Recorded intervals take 6 % longer, 3 % are allowed: half of them, however cheap the drains are.
    #[test]
    fn the_fraction_keeps_what_is_measured_within_the_limit() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter {
            overhead_max: 0.03,
            ..OverheadLimiter::with_budget(0.06, start)
        };
        assert_eq!(limiter.limit_by_slowdown(slowdown(0.02, 0.0)), 1.0);
        assert_eq!(limiter.decide(start + SECOND, work(0, 0.0), None), Some(0));
        assert_eq!(limiter.limit_by_slowdown(slowdown(0.06, 0.0)), 0.5);
        // 1 % is for intervals that are not recorded: of the 2 % that are left, recorded ones take 5 % more each.
        let recorded = limiter.limit_by_slowdown(slowdown(0.06, 0.01));
        assert!((recorded - 0.4).abs() < 1e-9);
        assert_eq!(limiter.limit_by_slowdown(slowdown(0.06, 0.0)), 0.5);
        assert_eq!(
            limiter.decide(start + 2 * SECOND, work(0, 0.0), None),
            Some(32768)
        );
    }

    /// Probes take 60 % of intervals of 1,000 ticks, and 6 % where nothing is recorded, twice the allowed cost:
    /// hardly any may be recorded. Once intervals take twenty times as long, it is 3 % and 0.3 %, and all are
    /// recorded.
    #[test]
    fn what_costs_much_of_quick_intervals_costs_little_of_slow_ones() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter {
            overhead_max: 0.03,
            ..OverheadLimiter::with_budget(0.06, start)
        };
        let least = limiter.limit_by_slowdown(slowdown(0.6, 0.06));
        assert!(least < 0.002, "{least}");
        let second = |n: u32| start + n * SECOND;
        let left_out = limiter.decide(second(1), work(0, 0.0), Some(1000.0));
        assert_eq!(left_out, Some(65536 - 64));
        let grown = (2..100).map(|n| limiter.decide(second(n), work(0, 0.0), Some(20_000.0)));
        assert_eq!(grown.last(), Some(Some(0)));
        let left_out = limiter.decide(second(100), work(0, 0.0), Some(1000.0));
        assert_eq!(left_out, Some(65536 - 64));
    }

    /// The measurement is 4.2 % ±1, and 3 % are allowed: the excess is one error, which is often chance. With ±0.5 it
    /// is not, but three pairs do not measure the error so precisely. Later it is 2 %, and all intervals are recorded
    /// again.
    #[test]
    fn chance_limits_nothing() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter {
            overhead_max: 0.03,
            ..OverheadLimiter::with_budget(0.06, start)
        };
        let measured = |fraction, se, pairs| Measured {
            fraction,
            se: Some(se),
            pairs,
        };
        assert_eq!(limiter.told_apart(measured(0.042, 0.01, 20)), None);
        assert_eq!(limiter.told_apart(measured(0.042, 0.005, 3)), None);
        let slowed = limiter.told_apart(measured(0.042, 0.005, 20)).unwrap();
        assert!(limiter.limit_by_slowdown(slowdown(slowed, 0.0)) < 0.72);
        limiter.decide(start + SECOND, work(0, 0.0), None);
        let slowed = limiter.told_apart(measured(0.02, 0.004, 30));
        assert_eq!(
            limiter.limit_by_slowdown(slowdown(slowed.unwrap_or(0.0), 0.0)),
            1.0
        );
        let left_out =
            (2..8).map(|second| limiter.decide(start + second * SECOND, work(0, 0.0), None));
        assert_eq!(left_out.last(), Some(Some(0)));
    }

    /// A tenth of a processor goes to the kernel's records, 0.05 are allowed: twice as much.
    #[test]
    fn what_the_kernel_writes_is_of_the_budget() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.05, start);
        let switches = Work {
            kernel_ns: 1e8,
            ..work(0, 0.0)
        };
        let excess = limiter.excess(start + SECOND, switches);
        assert!((excess - 2.0).abs() < 1e-9, "{excess}");
        assert_eq!(limiter.excess(start + 2 * SECOND, switches), 0.0);
    }

    #[test]
    fn some_are_always_recorded() {
        let start = Instant::now();
        let mut limiter = OverheadLimiter::with_budget(0.0, start);
        limiter.draining = SECOND;
        assert_eq!(
            limiter.decide(start + SECOND, work(0, 0.0), None),
            Some(65536 - 64)
        );
        assert_eq!(
            limiter.decide(start + SECOND, work(0, 0.0), None),
            None,
            "too early"
        );
    }
}
