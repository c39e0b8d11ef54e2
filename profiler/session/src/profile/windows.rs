//! Windows without probes: now and then, for a moment chosen at random, intervals are timed and the probes below them are
//! bypassed. The difference in latency is what the probes cost, measured and not estimated.

use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use evenkeel_wire::Mode;

use crate::arena::Arena;
use evenkeel_wire::now_ticks;

/// Mean length of a window without probes; windows with probes are as many times longer.
const OFF_MS: u64 = 60;
const ON_TIMES: u64 = 15;

/// Switches between the two.
#[derive(Debug)]
pub struct Windows {
    until: Instant,
    off: bool,
    random: u64,
}

impl Windows {
    /// Begins with probes on.
    pub fn new() -> Windows {
        Windows {
            until: Instant::now() + Duration::from_secs(1),
            off: false,
            random: now_ticks() | 1,
        }
    }

    /// Switches when it is time.
    pub fn turn(&mut self, arena: &Arena, recording: bool) {
        if !recording || Instant::now() < self.until {
            return;
        }
        self.off = !self.off;
        let mode = if self.off {
            Mode::IntervalsOnly
        } else {
            Mode::Record
        };
        arena.control().mode.store(mode as u32, Release);
        let mean = if self.off { OFF_MS } else { OFF_MS * ON_TIMES };
        // Half to one and a half times the mean: in step with nothing that the target does periodically.
        let length = mean / 2 + self.next() % mean;
        self.until = Instant::now() + Duration::from_millis(length);
    }

    /// Marsaglia's xorshift: any sequence that the target does not share will do.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
