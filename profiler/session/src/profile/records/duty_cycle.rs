//! The duty cycle: one controller of the agents' mode, and of the fraction of intervals that they record.
//!
//! Where threads are not followed, intervals are recorded all the time. If recording all costs too much, a random
//! sample is recorded ([`limiter`]), and kept at the interval's end by its latency ([`keeping`]). Sometimes their
//! probes are bypassed for a moment, to measure the cost ([`bypass`]). Where threads are followed, a sample of
//! intervals would miss those that others wait for. So everything is recorded in windows ([`sampling`]), as long as the
//! budget allows, and bypassed between some of them.

mod bypass;
mod keeping;
mod limiter;
mod policy;
mod recent;
mod sampling;

use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use evenkeel_analysis::profile::SamplingRule;
use evenkeel_analysis::sums::self_cost::Measured;
use evenkeel_wire::{Mode, now_ticks};

use crate::arena::Arena;
use bypass::BypassWindows;
use limiter::OverheadLimiter;
pub use limiter::Slowdown;
use recent::RecentLatencies;
use sampling::SamplingWindows;

/// Inputs of the duty cycle.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Records read so far in all.
    pub records: u64,
    /// Cost of each for the target, nanoseconds.
    pub probe_ns: f64,
    /// Total cost of the kernel's records for the target so far, nanoseconds.
    pub kernel_ns: f64,
    /// Intervals being recorded.
    pub in_flight: u64,
    /// Records and intervals that found their ring full, so far in all.
    pub lost: u64,
}

#[derive(Debug)]
enum Windows {
    Bypass(BypassWindows),
    Sampling(SamplingWindows),
}

/// See the module's head.
#[derive(Debug)]
pub struct DutyCycle {
    rule: SamplingRule,
    limiter: OverheadLimiter,
    recent: RecentLatencies,
    windows: Windows,
}

impl DutyCycle {
    /// Keeps the cost within this fraction of the machine, by a choice of intervals under this rule.
    pub fn new(overhead_max: f64, rule: SamplingRule, follows_waits: bool) -> DutyCycle {
        let windows = if follows_waits {
            Windows::Sampling(SamplingWindows::new())
        } else {
            Windows::Bypass(BypassWindows::new())
        };
        DutyCycle {
            rule,
            limiter: OverheadLimiter::new(overhead_max, rule),
            recent: RecentLatencies::default(),
            windows,
        }
    }

    /// Runs a drain and measures its processor time.
    pub fn measure<T>(&mut self, drain: impl FnOnce() -> T) -> T {
        self.limiter.measure(drain)
    }

    /// Processor time of all drains.
    pub fn drained(&self) -> Duration {
        self.limiter.drained()
    }

    /// The measured slowdown of recorded intervals, if it exceeds `--max-overhead` and is not chance.
    pub fn told_apart(&self, measured: Option<Measured>) -> Option<f64> {
        self.limiter.told_apart(measured?)
    }

    /// Recorded intervals take longer since the probes are there: no more of them are recorded than keep the mean of
    /// all within `--max-overhead`. Has no effect where threads are followed. The fraction that may be recorded.
    pub fn limit_by_slowdown(&mut self, slowdown: Slowdown) -> f64 {
        match self.windows {
            Windows::Bypass(_) if self.rule != SamplingRule::All => {
                self.limiter.limit_by_slowdown(slowdown)
            }
            Windows::Bypass(_) | Windows::Sampling(_) => 1.0,
        }
    }

    /// Lets the agents see what to do now. Whether anything is recorded. `by_class`: all intervals so far by class of
    /// latency.
    pub fn turn(&mut self, arena: &Arena, work: Work, by_class: &[u64]) -> bool {
        let (control, now) = (arena.control(), Instant::now());
        let random = (now_ticks().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let mode = match &mut self.windows {
            Windows::Bypass(windows) => {
                let is_news = self.recent.take(now, by_class);
                if let Some(skip) = self.limiter.decide(now, work, self.recent.mean_ticks()) {
                    control.skip_65536.store(skip, Release);
                }
                if is_news && self.rule == SamplingRule::Latency {
                    let kept = self.limiter.kept();
                    keeping::keep(self.recent.by_class(), kept, &control.keep);
                }
                windows.turn(now, random)
            }
            Windows::Sampling(_) if self.rule == SamplingRule::All => Mode::Record,
            Windows::Sampling(windows) => {
                let excess = || self.limiter.excess(now, work);
                let (mode, skip) = windows.turn(now, random, work.in_flight, excess);
                control.skip_65536.store(skip, Release);
                mode
            }
        };
        control.mode.store(mode as u32, Release);
        mode != Mode::Count
    }
}
