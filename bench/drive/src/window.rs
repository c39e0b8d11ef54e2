//! The part of a run that is measured.

use std::time::Duration;

/// The measured window of the run's clock: transactions scheduled in it are counted, wherever they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first nanosecond, where the warm-up ends.
    pub begin_ns: u64,
    /// The first nanosecond after it.
    pub end_ns: u64,
}

impl Window {
    /// A window of `length` after a warm-up of `warmup`.
    pub fn after(warmup: Duration, length: Duration) -> Window {
        let begin_ns = warmup.as_nanos() as u64;
        Window {
            begin_ns,
            end_ns: begin_ns + length.as_nanos() as u64,
        }
    }

    /// Whether a time lies in it.
    pub fn contains(&self, time_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&time_ns)
    }

    /// Its length in seconds.
    pub fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9
    }
}
