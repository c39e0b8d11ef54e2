//! Clocks: how long a tick of the target's is, and the processor time of a thread.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evenkeel_wire::now_ticks;
use rustix::time::{ClockId, clock_gettime};

use evenkeel_recording::Started;

/// Nanoseconds since 1970.
pub fn unix_ns(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}

/// Processor time of this thread.
pub fn own_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Relates ticks to time.
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    ticks: u64,
    time: Instant,
    wall: SystemTime,
    first_per_ns: f64,
}

impl TickClock {
    /// Takes some milliseconds for a first estimate.
    pub fn start() -> TickClock {
        let mut clock = TickClock {
            ticks: now_ticks(),
            time: Instant::now(),
            wall: SystemTime::now(),
            first_per_ns: 0.0,
        };
        std::thread::sleep(Duration::from_millis(20));
        clock.first_per_ns = clock.measure();
        clock
    }

    fn measure(&self) -> f64 {
        (now_ticks() - self.ticks) as f64 / self.time.elapsed().as_nanos() as f64
    }

    /// When it was started.
    pub fn started(&self) -> Started {
        Started {
            ticks: self.ticks,
            unix_ns: unix_ns(self.wall),
        }
    }

    /// Ticks a nanosecond, the more exact the longer the clock has run.
    pub fn ticks_per_ns(&self) -> f64 {
        if self.time.elapsed().as_millis() < 20 {
            self.first_per_ns
        } else {
            self.measure()
        }
    }
}
