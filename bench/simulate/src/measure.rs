//! The measurement and its window of virtual time.
//!
//! Closed loop: the window opens at the last commit of the warm-up and closes at the last measured commit. Latencies
//! are those of the commits in it, and transactions still in the system then are counted as unfinished. Open loop:
//! the window reaches from the first measured arrival to the first arrival after the measured ones. Latencies are
//! those of the measured arrivals, however late they commit, while others keep arriving.

use evenkeel_locks::observe::Counters;

use crate::latency::Latency;
use crate::outcome::Window;

/// Counts and latencies.
pub(crate) struct Measure {
    closed: bool,
    first: u64,
    end: u64,
    opened: Option<Snapshot>,
    shut: Option<Snapshot>,
    latencies: Vec<u64>,
    of_class: Vec<Vec<u64>>,
    pub(crate) in_flight: u32,
    in_flight_max: u32,
    in_flight_area: u128,
    since: u64,
    pub(crate) commits: u64,
    pub(crate) aborts: u64,
    pub(crate) rejected: u64,
}

#[derive(Clone)]
struct Snapshot {
    at: u64,
    counters: Counters,
    in_flight_area: u128,
    commits: u64,
    aborts: u64,
}

impl Measure {
    /// Measures the `count` transactions after the first `warmup`.
    pub(crate) fn new(closed: bool, warmup: u64, count: u64, classes: usize) -> Measure {
        Measure {
            closed,
            first: warmup,
            end: warmup + count,
            opened: None,
            shut: None,
            latencies: Vec::new(),
            of_class: vec![Vec::new(); classes],
            in_flight: 0,
            in_flight_max: 0,
            in_flight_area: 0,
            since: 0,
            commits: 0,
            aborts: 0,
            rejected: 0,
        }
    }

    /// Whether the measurement is complete; never true for an open loop, which drains.
    pub(crate) fn is_complete(&self) -> bool {
        self.closed && self.commits >= self.end
    }

    /// Arrival number `number` is in the system.
    pub(crate) fn arrived(&mut self, number: u64, now: u64, counters: &Counters) {
        self.pass(now);
        if self.closed {
            if self.first == 0 {
                self.open(now, counters);
            }
        } else if number == self.first {
            self.open(now, counters);
        } else if number == self.end {
            self.shut(now, counters);
        }
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
    }

    /// Arrival number `number`, at `birth`, has committed.
    pub(crate) fn committed(
        &mut self,
        number: u64,
        birth: u64,
        class: u32,
        now: u64,
        counters: &Counters,
    ) {
        self.pass(now);
        self.in_flight -= 1;
        let measured = if self.closed {
            (self.first..self.end).contains(&self.commits)
        } else {
            (self.first..self.end).contains(&number)
        };
        self.commits += 1;
        if measured {
            self.latencies.push(now - birth);
            if let Some(of_class) = self.of_class.get_mut(class as usize) {
                of_class.push(now - birth);
            }
        }
        if self.closed && self.commits == self.first {
            self.open(now, counters);
        }
        if self.closed && self.commits == self.end {
            self.shut(now, counters);
        }
    }

    fn pass(&mut self, now: u64) {
        self.in_flight_area += u128::from(self.in_flight) * u128::from(now - self.since);
        self.since = now;
    }

    fn open(&mut self, now: u64, counters: &Counters) {
        if self.opened.is_none() {
            self.opened = Some(self.snapshot(now, counters));
            self.in_flight_max = self.in_flight;
        }
    }

    fn shut(&mut self, now: u64, counters: &Counters) {
        if self.shut.is_none() {
            self.shut = Some(self.snapshot(now, counters));
        }
    }

    fn snapshot(&self, now: u64, counters: &Counters) -> Snapshot {
        Snapshot {
            at: now,
            counters: counters.clone(),
            in_flight_area: self.in_flight_area,
            commits: self.commits,
            aborts: self.aborts,
        }
    }

    /// Latencies of all classes together, of each, and what happened in the window. `now` closes a window still open.
    pub(crate) fn finish(
        mut self,
        now: u64,
        counters: &Counters,
        ticks_per_s: f64,
    ) -> (Latency, Vec<Latency>, Window) {
        self.pass(now);
        self.shut(now, counters);
        let last = self.shut.clone().expect("just shut");
        let first = self.opened.clone().unwrap_or_else(|| last.clone());
        let ticks = last.at - first.at;
        let per_tick = |amount: f64| {
            if ticks == 0 {
                0.0
            } else {
                amount / ticks as f64
            }
        };
        let (before, after) = (&first.counters, &last.counters);
        let decisions = after.decisions - before.decisions;
        let waiters = after.decision_waiters - before.decision_waiters;
        let immediate = after.immediate_grants - before.immediate_grants;
        let window = Window {
            ticks,
            commits: last.commits - first.commits,
            throughput: per_tick((last.commits - first.commits) as f64) * ticks_per_s,
            aborts: last.aborts - first.aborts,
            deadlocks: after.deadlocks - before.deadlocks,
            in_flight_max: self.in_flight_max,
            in_flight_mean: per_tick((last.in_flight_area - first.in_flight_area) as f64),
            queue_mean: if decisions == 0 {
                0.0
            } else {
                waiters as f64 / decisions as f64
            },
            decisions,
            grants: immediate + after.scheduled_grants - before.scheduled_grants,
            waits: after.waits - before.waits,
        };
        let of_class = self
            .of_class
            .iter_mut()
            .map(|values| Latency::of(values))
            .collect();
        (Latency::of(&mut self.latencies), of_class, window)
    }
}
