//! The queue of an open loop: which arrival is next, and which are rejected.
//!
//! There is no thread that hands out work. A client that becomes free claims the next arrival, waits until it is due,
//! and runs it. An arrival that is overdue has been queueing since its time. So an idle client is woken once, by its
//! own timer, and a stalled target delays the *start* of later arrivals but never their *schedule*.

use std::collections::VecDeque;

use crate::arrivals::Times;

/// Arrivals, and how many of them are in flight (queueing or running) when the next one comes. All times are nanoseconds
/// of the run's clock.
#[derive(Debug)]
pub struct Admission {
    times: Times,
    /// Arrivals from here on are not the run's.
    end_ns: u64,
    /// Rejections are counted from here on.
    counted_from_ns: u64,
    in_flight_max: u64,
    in_flight: u64,
    /// End times of transactions that are still in flight for the next arrival to be admitted.
    finished_ns: VecDeque<u64>,
    rejected: u64,
}

impl Admission {
    /// Admits the arrivals of `times` before `end_ns`, as long as fewer than `in_flight_max` are in flight. Counts
    /// the rest, from `counted_from_ns` on, as rejected.
    pub fn new(times: Times, end_ns: u64, counted_from_ns: u64, in_flight_max: u64) -> Admission {
        Admission {
            times,
            end_ns,
            counted_from_ns,
            in_flight_max,
            in_flight: 0,
            finished_ns: VecDeque::new(),
            rejected: 0,
        }
    }

    /// The scheduled time of the next arrival that is admitted, for a client that is free at `now_ns`; none after the last.
    ///
    /// An idle client claims an arrival before it is due, so all others in flight are running. It is over the limit
    /// only if there are more clients than may be in flight.
    pub fn claim(&mut self, now_ns: u64) -> Option<u64> {
        loop {
            let scheduled_ns = self.times.next_ns();
            if scheduled_ns >= self.end_ns {
                return None;
            }
            self.times.pass();
            self.forget_until(scheduled_ns.min(now_ns));
            if self.in_flight < self.in_flight_max {
                self.in_flight += 1;
                return Some(scheduled_ns);
            }
            self.rejected += u64::from(scheduled_ns >= self.counted_from_ns);
        }
    }

    /// A claimed arrival was finished.
    pub fn finish(&mut self, now_ns: u64) {
        // Clients read the clock before they come here, so times may be out of order by the moment between the two.
        let after = self
            .finished_ns
            .partition_point(|&finished_ns| finished_ns <= now_ns);
        self.finished_ns.insert(after, now_ns);
    }

    /// Moves the end forward to `now_ns`: nothing scheduled later is admitted.
    pub fn end(&mut self, now_ns: u64) {
        self.end_ns = self.end_ns.min(now_ns);
    }

    /// Gives up: counts the arrivals until the end that nobody claimed, rejected ones included, and admits no more.
    pub fn abandon(&mut self) -> u64 {
        let mut left = 0;
        while self.times.next_ns() < self.end_ns {
            left += u64::from(self.times.next_ns() >= self.counted_from_ns);
            self.times.pass();
        }
        left
    }

    /// Arrivals that came when the limit was reached.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    fn forget_until(&mut self, time_ns: u64) {
        while self
            .finished_ns
            .front()
            .is_some_and(|&finished_ns| finished_ns <= time_ns)
        {
            self.finished_ns.pop_front();
            self.in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Spread;

    /// One arrival every 10 ns: at 10, 20, 30, ...
    fn every_ten(end_ns: u64, in_flight_max: u64) -> Admission {
        let times = Times::new(Spread::Constant, 1e8, 1);
        Admission::new(times, end_ns, 0, in_flight_max)
    }

    #[test]
    fn a_stall_queues_arrivals_up_to_the_limit_and_rejects_the_rest() {
        let mut admission = every_ten(111, 3);
        assert_eq!(admission.claim(0), Some(10));
        // The only client is stuck from 10 to 75. 20 and 30 join the queue (3 in flight), and 40 to 70 find it full.
        // When 80 comes all is done.
        admission.finish(75);
        assert_eq!(admission.claim(75), Some(20));
        admission.finish(76);
        assert_eq!(admission.claim(76), Some(30));
        admission.finish(77);
        assert_eq!(admission.claim(77), Some(80));
        assert_eq!(admission.rejected(), 4);
    }

    #[test]
    fn an_arrival_that_was_queueing_counts_what_was_in_flight_at_its_own_time() {
        let mut admission = every_ten(1000, 2);
        assert_eq!(admission.claim(0), Some(10));
        admission.finish(25);
        // Looked at late, at 500: at 20 the first still ran (1 in flight), at 30 it was done but 20 was waiting.
        assert_eq!(admission.claim(500), Some(20));
        assert_eq!(admission.claim(500), Some(30));
        // At 40, both 20 and 30 were in flight.
        admission.finish(501);
        assert_eq!(admission.claim(501), Some(510));
        assert_eq!(admission.rejected(), 47);
    }

    #[test]
    fn nothing_is_admitted_after_the_end() {
        let mut admission = every_ten(30, 9);
        assert_eq!(admission.claim(0), Some(10));
        assert_eq!(admission.claim(0), Some(20));
        assert_eq!(admission.claim(0), None);
        let mut admission = every_ten(100, 9);
        admission.end(25);
        assert_eq!(admission.claim(0), Some(10));
        assert_eq!(admission.abandon(), 1);
        assert_eq!(admission.claim(0), None);
    }
}
