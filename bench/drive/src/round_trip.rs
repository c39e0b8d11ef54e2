//! The client's time between the statements of a transaction: its round trip to the target, and its work on an
//! answer.
//!
//! A transaction holds its locks while its client has the turn. Where client and target are on two machines that is
//! most of its life, and waiting, not the processor, limits the target. Here the client's thread sleeps before each
//! statement but the first, and before the end (commit or rollback). At these points a client works on an answer
//! while the transaction stays open. The sleep is part of the transaction's latency, as a user waits for it. For a
//! server it comes on top of the socket's own time.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_locks::rng::Rng;
use serde::Serialize;

use crate::delay::Delay;
use crate::sums::Sums;

/// Requested and actual sleeps, of one client or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    asked: Sums,
    slept: Sums,
}

impl Slept {
    fn add(&mut self, asked: Duration, slept: Duration) {
        self.asked.add(asked.as_nanos() as u64);
        self.slept.add(slept.as_nanos() as u64);
    }

    /// Adds those of another client.
    pub fn merge(&mut self, other: &Slept) {
        self.asked.merge(&other.asked);
        self.slept.merge(&other.slept);
    }

    /// For the report.
    pub fn report(&self) -> RoundTripReport {
        RoundTripReport {
            count: self.asked.count,
            asked_mean_ns: self.asked.mean_ns(),
            slept_mean_ns: self.slept.mean_ns(),
            asked_sd_ns: self.asked.sd_ns(),
            slept_sd_ns: self.slept.sd_ns(),
        }
    }
}

/// Precision of the round trips of a run, warm-up included: what was asked for and what was slept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTripReport {
    /// Round trips made.
    pub count: u64,
    /// Mean of what was drawn.
    pub asked_mean_ns: f64,
    /// Mean of what was slept: the timer and the wait for a processor come on top.
    pub slept_mean_ns: f64,
    /// Standard deviation of what was drawn.
    pub asked_sd_ns: f64,
    /// Standard deviation of what was slept.
    pub slept_sd_ns: f64,
}

/// Where a client writes down its round trips, and the run reads them.
#[derive(Clone, Debug, Default)]
pub struct SleepLog(Arc<Mutex<Slept>>);

impl SleepLog {
    /// Sleeps since the last call.
    pub fn take(&self) -> Slept {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A client's round trips within its transactions.
#[derive(Debug)]
pub struct RoundTrips {
    delay: Delay,
    rng: Rng,
    log: SleepLog,
    /// The transaction has had an answer that its client acts upon.
    answered: bool,
    /// It is a single statement that commits by itself, so its end needs no message.
    single: bool,
}

impl RoundTrips {
    /// Round trips of one client, drawn from `seed`.
    pub fn new(delay: Delay, seed: u64) -> RoundTrips {
        RoundTrips {
            delay,
            rng: Rng::new(seed),
            log: SleepLog::default(),
            answered: false,
            single: false,
        }
    }

    /// Where they are written down.
    pub fn log(&self) -> SleepLog {
        self.log.clone()
    }

    /// A transaction begins; its first message goes with its first statement.
    pub fn begin(&mut self, single: bool) {
        (self.answered, self.single) = (false, single);
    }

    /// Before a statement is sent.
    pub fn statement(&mut self) {
        if self.answered {
            self.sleep();
        }
        self.answered = true;
    }

    /// The last statement failed, and with it the transaction.
    pub fn failed(&mut self) {
        self.answered = false;
    }

    /// Before the commit or the rollback is sent.
    pub fn end(&mut self) {
        if self.answered && !self.single {
            self.sleep();
        }
        self.answered = false;
    }

    /// On the client's own thread, whose timers are precise: the kernel wakes it when it is due, and nothing spins.
    fn sleep(&mut self) {
        let (asked, begun) = (self.delay.draw(&mut self.rng), Instant::now());
        thread::sleep(asked);
        let mut log = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.add(asked, begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_micros(10);

    fn taken(statements: usize, single: bool) -> RoundTripReport {
        let mut trips = RoundTrips::new(Delay::Constant(STEP), 1);
        trips.begin(single);
        (0..statements).for_each(|_| trips.statement());
        trips.end();
        trips.log().take().report()
    }

    #[test]
    fn a_transaction_has_as_many_as_it_has_answers_to_act_upon() {
        for (statements, single, expected) in
            [(0, false, 0), (1, false, 1), (5, false, 5), (1, true, 0)]
        {
            assert_eq!(
                taken(statements, single).count,
                expected,
                "{statements} {single}"
            );
        }
    }

    #[test]
    fn requested_and_actual_sleeps_are_distinguished() {
        let report = taken(3, false);
        assert_eq!((report.asked_mean_ns, report.asked_sd_ns), (10_000.0, 0.0));
        // A sleep is never too short.
        assert!(report.slept_mean_ns >= report.asked_mean_ns);
    }

    #[test]
    fn a_log_begins_anew_once_it_was_taken() {
        let mut trips = RoundTrips::new(Delay::Constant(STEP), 1);
        let log = trips.log();
        for expected in [1, 1, 0] {
            trips.begin(false);
            (0..expected).for_each(|_| trips.statement());
            trips.end();
            assert_eq!(log.take().report().count, expected);
        }
    }
}
