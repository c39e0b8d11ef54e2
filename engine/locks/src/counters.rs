//! Counts of what happened on contended objects.

use crate::schedule::ScheduleKind;

/// Buckets of the queue-length histogram: lengths 0, 1, 2-3, 4-7, ... The last takes everything longer.
pub const LENGTH_BUCKETS: usize = 16;

/// Counts of one [`crate::contention::Contention`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Requests that reached it: on contended objects, or on all in the simulator.
    pub requests: u64,
    /// Requests granted without waiting.
    pub immediate_grants: u64,
    /// Requests that began to wait.
    pub waits: u64,
    /// Waits that ended with a grant.
    pub scheduled_grants: u64,
    /// Sum of the times waited until a grant.
    pub waited_ns: u64,
    /// Times waiters were chosen.
    pub decisions: u64,
    /// Sum over the decisions of the number of waiters.
    pub decision_waiters: u64,
    /// Cycles found in the wait-for graph.
    pub deadlocks: u64,
    /// Requests refused: victims, died, wounded while waiting, no-wait.
    pub refusals: u64,
    /// Queue lengths seen by requests that began to wait, in powers of two (see [`LENGTH_BUCKETS`]).
    pub queue_lengths: [u64; LENGTH_BUCKETS],
    /// The decisions by the schedule that took them, in the order in which the schedules were first in force.
    pub by_schedule: Vec<ScheduleCounts>,
    /// The place in `by_schedule` of the one in force.
    in_force: usize,
}

/// Decisions of one schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleCounts {
    /// The schedule.
    pub schedule: ScheduleKind,
    /// How often it, or the starvation policy, chose waiters.
    pub decisions: u64,
    /// Sum over the decisions of the number of waiters.
    pub waiters: u64,
}

impl Counters {
    /// A request begins to wait behind `waiters` others.
    pub(crate) fn note_wait(&mut self, waiters: usize) {
        self.waits += 1;
        self.queue_lengths[bucket(waiters)] += 1;
    }

    /// Among `waiters` waiters some are about to be chosen.
    pub(crate) fn note_decision(&mut self, waiters: usize) {
        self.decisions += 1;
        self.decision_waiters += waiters as u64;
        let of_schedule = &mut self.by_schedule[self.in_force];
        of_schedule.decisions += 1;
        of_schedule.waiters += waiters as u64;
    }

    /// From now on `schedule` decides.
    pub(crate) fn put_in_force(&mut self, schedule: ScheduleKind) {
        let known = self
            .by_schedule
            .iter()
            .position(|of| of.schedule == schedule);
        self.in_force = known.unwrap_or_else(|| {
            self.by_schedule.push(ScheduleCounts {
                schedule,
                decisions: 0,
                waiters: 0,
            });
            self.by_schedule.len() - 1
        });
    }
}

fn bucket(length: usize) -> usize {
    ((usize::BITS - length.leading_zeros()) as usize).min(LENGTH_BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lengths_fall_into_powers_of_two() {
        assert_eq!(
            [0, 1, 2, 3, 4, 1 << 30].map(super::bucket),
            [0, 1, 2, 2, 3, 15]
        );
    }
}
