//! The metrics of a run: samples in, statistics out. No clock, no threads.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::client::Reason;
use crate::in_flight::InFlight;
use crate::sample::{Ending, Sample};
use crate::sums::Sums;
use crate::window::Window;

/// Significant decimal digits of percentiles: a histogram's bucket is at most a thousandth of its value wide.
const DIGITS: u8 = 3;
/// Name under which all types together stand among the types.
pub const ALL: &str = "all";

/// Latencies of one type of transactions, or of all.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Response times, from the schedule to the end.
    pub response: Sums,
    /// Times from the schedule to the start.
    pub queue: Sums,
    /// Times from the start to the end.
    pub service: Sums,
    /// Response times for percentiles.
    pub histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS).expect("1 to 5 digits are possible");
        Latencies {
            response: Sums::default(),
            queue: Sums::default(),
            service: Sums::default(),
            histogram,
        }
    }
}

impl Latencies {
    fn add(&mut self, sample: &Sample) {
        self.response.add(sample.response_ns());
        self.queue.add(sample.queue_ns());
        self.service.add(sample.service_ns());
        record(&mut self.histogram, sample.response_ns());
    }

    /// The response time that the fraction `p` of transactions do not exceed, to `DIGITS` digits; 0 without any.
    pub fn percentile_ns(&self, p: f64) -> u64 {
        // A bucket's upper end may lie above the greatest value in it, which is known exactly.
        self.histogram
            .value_at_quantile(p)
            .min(self.response.max_ns)
    }
}

/// Zero is no value to a histogram that tells values apart by their ratio.
fn record(histogram: &mut Histogram<u64>, ns: u64) {
    let recorded = histogram.record(ns.max(1));
    recorded.expect("a histogram without bounds grows");
}

/// A slice of time in the course of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Its beginning in seconds from the window's.
    pub begin_s: f64,
    /// Transactions done in it, per second.
    pub throughput_per_s: f64,
    /// Percentiles and maximum of the response times of those done in it.
    pub p50_ns: u64,
    /// See `p50_ns`.
    pub p99_ns: u64,
    /// See `p50_ns`.
    pub max_ns: u64,
}

/// All that is known of a run. Samples are added in any order; a slice is closed from time to time.
#[derive(Clone, Debug)]
pub struct Metrics {
    window: Window,
    /// By type.
    pub kinds: Vec<Latencies>,
    /// Latencies of all types.
    pub all: Latencies,
    /// Failed attempts by [`Reason`].
    pub aborts: [u64; Reason::COUNT],
    /// Transactions that rolled back by the workload's rules, by their reason.
    pub rolled_back: BTreeMap<&'static str, u64>,
    /// Transactions that failed as often as they were allowed to; they are not among the latencies.
    pub given_up: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Transactions that were done within the window, whenever they were scheduled.
    pub done_in_window: u64,
    /// Transactions of the warm-up that had not even started when the window began.
    pub backlog: u64,
    /// Number in flight over the window.
    pub in_flight: InFlight,
    /// The course of the run, warm-up (below zero) included.
    pub slices: Vec<Slice>,
    /// Responses of the open slice.
    slice: Histogram<u64>,
    slice_begin_ns: u64,
}

impl Metrics {
    /// Empty ones for `kinds` types of transactions.
    pub fn new(window: Window, kinds: usize) -> Metrics {
        Metrics {
            window,
            kinds: vec![Latencies::default(); kinds],
            all: Latencies::default(),
            aborts: [0; Reason::COUNT],
            rolled_back: BTreeMap::new(),
            given_up: 0,
            retries: 0,
            done_in_window: 0,
            backlog: 0,
            in_flight: InFlight::new(window),
            slices: Vec::new(),
            slice: Histogram::new(2).expect("1 to 5 digits are possible"),
            slice_begin_ns: 0,
        }
    }

    /// Adds a transaction. The last time of its schedule must be known: see [`Metrics::cut`].
    pub fn add(&mut self, sample: &Sample) {
        self.in_flight.add(sample);
        let completed = sample.ending != Ending::GivenUp;
        if completed {
            record(&mut self.slice, sample.response_ns());
            self.done_in_window += u64::from(self.window.contains(sample.ended_ns));
        }
        if !self.window.contains(sample.scheduled_ns) {
            let waited = sample.scheduled_ns < self.window.begin_ns
                && sample.started_ns >= self.window.begin_ns;
            self.backlog += u64::from(waited);
            return;
        }
        self.retries += u64::from(sample.retries);
        for (sum, &count) in self.aborts.iter_mut().zip(&sample.aborts) {
            *sum += u64::from(count);
        }
        match sample.ending {
            Ending::Committed => {}
            Ending::RolledBack(reason) => *self.rolled_back.entry(reason).or_default() += 1,
            Ending::GivenUp => {
                self.given_up += 1;
                return;
            }
        }
        self.all.add(sample);
        self.kinds[usize::from(sample.kind)].add(sample);
    }

    /// Closes the slice that ends at `now_ns` and returns it; none if it has no length.
    pub(crate) fn close_slice(&mut self, now_ns: u64) -> Option<Slice> {
        let length_ns = now_ns
            .checked_sub(self.slice_begin_ns)
            .filter(|&ns| ns > 0)?;
        let slice = Slice {
            begin_s: (self.slice_begin_ns as f64 - self.window.begin_ns as f64) / 1e9,
            throughput_per_s: self.slice.len() as f64 * 1e9 / length_ns as f64,
            p50_ns: self.slice.value_at_quantile(0.5),
            p99_ns: self.slice.value_at_quantile(0.99),
            max_ns: self.slice.max(),
        };
        self.slice.reset();
        self.slice_begin_ns = now_ns;
        self.slices.push(slice);
        Some(slice)
    }

    /// The run was stopped at `now_ns`: the window ends there.
    pub fn cut(&mut self, now_ns: u64) {
        self.window.end_ns = now_ns.clamp(self.window.begin_ns, self.window.end_ns);
    }

    /// The window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Transactions done in the window per second.
    pub fn throughput_per_s(&self) -> f64 {
        let length_s = self.window.length_s();
        if length_s > 0.0 {
            self.done_in_window as f64 / length_s
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        begin_ns: 1000,
        end_ns: 2000,
    };

    fn sample(scheduled_ns: u64, started_ns: u64, ended_ns: u64) -> Sample {
        Sample {
            kind: 0,
            scheduled_ns,
            started_ns,
            ended_ns,
            ending: Ending::Committed,
            aborts: [0; Reason::COUNT],
            retries: 0,
        }
    }

    #[test]
    fn the_schedule_decides_what_is_measured_and_the_end_decides_the_throughput() {
        let mut metrics = Metrics::new(WINDOW, 1);
        // In the warm-up; in the warm-up, completed in the window; queueing when the window began; measured;
        // measured, completed after the window.
        for (scheduled, started, ended) in [
            (100, 100, 200),
            (900, 950, 1100),
            (950, 1050, 1200),
            (1500, 1510, 1600),
            (1900, 1950, 2300),
        ] {
            metrics.add(&sample(scheduled, started, ended));
        }
        assert_eq!((metrics.all.response.count, metrics.backlog), (2, 1));
        assert_eq!(metrics.all.response.mean_ns(), 250.0);
        assert_eq!(metrics.all.queue.mean_ns(), 30.0);
        assert_eq!(metrics.all.service.mean_ns(), 220.0);
        // 3 in 1000 ns.
        assert_eq!(metrics.done_in_window, 3);
        assert!((metrics.throughput_per_s() - 3e6).abs() < 1e-3);
    }

    #[test]
    fn aborts_retries_and_endings_are_counted_apart() {
        let mut metrics = Metrics::new(WINDOW, 2);
        let mut retried = sample(1000, 1000, 1400);
        retried.aborts[Reason::Deadlock as usize] = 2;
        retried.retries = 2;
        let mut given_up = sample(1100, 1100, 1900);
        given_up.ending = Ending::GivenUp;
        given_up.aborts[Reason::Serialization as usize] = 3;
        given_up.retries = 2;
        let mut rolled_back = sample(1200, 1200, 1300);
        rolled_back.ending = Ending::RolledBack("invalid_item");
        rolled_back.kind = 1;
        for sample in [retried, given_up, rolled_back] {
            metrics.add(&sample);
        }
        assert_eq!(metrics.aborts, [2, 3, 0]);
        assert_eq!((metrics.retries, metrics.given_up), (4, 1));
        assert_eq!(metrics.rolled_back, BTreeMap::from([("invalid_item", 1)]));
        assert_eq!(
            (metrics.all.response.count, metrics.kinds[1].response.count),
            (2, 1)
        );
    }

    #[test]
    fn percentiles_of_one_to_ten_thousand() {
        let mut metrics = Metrics::new(WINDOW, 1);
        for ns in 1..=10_000 {
            metrics.add(&sample(1000, 1000, 1000 + ns));
        }
        for (p, expected) in [
            (0.5, 5000.0),
            (0.99, 9900.0),
            (0.999, 9990.0),
            (1.0, 10_000.0),
        ] {
            let found = metrics.all.percentile_ns(p) as f64;
            assert!((found / expected - 1.0).abs() < 1e-3, "{p}: {found}");
        }
        assert_eq!(metrics.all.percentile_ns(1.0), 10_000);
    }

    #[test]
    fn slices_follow_the_run_and_the_warm_up_lies_below_zero() {
        let mut metrics = Metrics::new(WINDOW, 1);
        metrics.add(&sample(0, 0, 100));
        assert_eq!(metrics.close_slice(0), None);
        let first = metrics.close_slice(500).expect("a slice");
        assert_eq!((first.begin_s, first.max_ns), (-1e-6, 100));
        assert!((first.throughput_per_s - 2e6).abs() < 1e-3);
        let second = metrics.close_slice(1000).expect("a slice");
        assert_eq!((second.throughput_per_s, second.p99_ns), (0.0, 0));
    }

    #[test]
    fn a_run_that_is_stopped_is_measured_until_then() {
        let mut metrics = Metrics::new(WINDOW, 1);
        metrics.cut(1500);
        metrics.add(&sample(1100, 1100, 1200));
        assert!((metrics.throughput_per_s() - 2e6).abs() < 1e-3);
        metrics.cut(500);
        assert_eq!(metrics.throughput_per_s(), 0.0);
    }
}
