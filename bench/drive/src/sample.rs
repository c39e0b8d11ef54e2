//! A transaction's data until it is accounted for.

use std::sync::{Mutex, PoisonError};

use crate::client::Reason;

/// A transaction from its schedule to its end, retries included. Times are nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Index of its type.
    pub kind: u8,
    /// When it should have started. In a closed loop, when it did.
    pub scheduled_ns: u64,
    /// When a client began with it.
    pub started_ns: u64,
    /// When it was done.
    pub ended_ns: u64,
    /// Its end.
    pub ending: Ending,
    /// Attempts that failed, by [`Reason`].
    pub aborts: [u16; Reason::COUNT],
    /// Attempts after the first.
    pub retries: u16,
}

/// Ends of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It committed.
    Committed,
    /// It rolled back because the workload wants it to (TPC-C's NewOrder with an item that does not exist), which is as
    /// good as a commit. With the reason.
    RolledBack(&'static str),
    /// It failed as often as it was allowed to.
    GivenUp,
}

impl Ending {
    /// Name in the file of raw latencies.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Committed => "committed",
            Ending::RolledBack(_) => "rolled-back",
            Ending::GivenUp => "given-up",
        }
    }
}

impl Sample {
    /// From its schedule to its end: what a user waits.
    pub fn response_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.scheduled_ns)
    }

    /// From its schedule to its start.
    pub fn queue_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.scheduled_ns)
    }

    /// From its start to its end.
    pub fn service_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns)
    }
}

/// Where a client leaves its samples until the metrics take them. It is uncontended between two visits, so leaving a
/// sample costs a free lock and 64 bytes.
#[derive(Debug, Default)]
pub struct SampleBuffer(Mutex<Vec<Sample>>);

impl SampleBuffer {
    /// Leaves a sample.
    pub fn leave(&self, sample: Sample) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(sample);
    }

    /// Takes all samples into `into`, which is empty, and leaves its memory in their place.
    pub fn swap(&self, into: &mut Vec<Sample>) {
        std::mem::swap(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            into,
        );
    }
}
