//! Keeping waiters from starving under schedules that may pass them over for ever.
//!
//! Dissertation section 4.5 ("Starvation Avoidance") gives the barrier and ageing; a bound on overtaking is the
//! guarantee an embedder can state.

use crate::modes::ModeSet;
use crate::queue::Queue;

/// Policies that keep a waiter from waiting for ever.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Starvation {
    /// Nothing beyond the schedule itself. FIFO and VATS do not starve.
    None,
    /// A barrier at the end of the queue. Later requests are not considered until all requests ahead of it are
    /// granted; then it moves to the end of the queue. The papers' LDSF and bLDSF use it (section 4.5).
    Barrier,
    /// Adds `size_per_ns` times the transaction's age to its dependency-set size (section 4.5). It acts on the schedules
    /// that compare such sizes: LDSF, bLDSF and hLDSF.
    Ageing {
        /// Dependents a nanosecond of age is worth.
        size_per_ns: f64,
    },
    /// At most `overtakes_max` decisions grant a later arrival that conflicts with a waiter or asks for the same
    /// mode. Such a waiter is then granted next, before the schedule is asked. Upgrades are not counted: an upgrader
    /// holds its lock already.
    BoundedBypass {
        /// The number of decisions.
        overtakes_max: u32,
    },
}

impl Starvation {
    /// Dependents a nanosecond of age is worth.
    pub fn size_per_ns(self) -> f64 {
        if let Starvation::Ageing { size_per_ns } = self {
            size_per_ns
        } else {
            0.0
        }
    }

    /// The arrival before which a waiter must have come to be considered now.
    ///
    /// If no eligible waiter is ahead of the barrier, later ones may be granted. They are then compatible with every
    /// waiter ahead, because only `IS` requests can be eligible past a blocked one, so they delay no waiter.
    pub fn arrival_limit(self, queue: &mut Queue, eligible: ModeSet) -> u64 {
        if self != Starvation::Barrier {
            return u64::MAX;
        }
        queue.renew_barrier();
        let ahead = |barrier| {
            queue
                .waiting()
                .iter()
                .take_while(move |waiter| waiter.arrival < barrier)
        };
        let barrier = queue.barrier();
        if ahead(barrier).any(|waiter| eligible.contains(waiter.mode)) {
            barrier
        } else {
            u64::MAX
        }
    }

    /// The places in the queue of waiters that may not be overtaken any more and can be granted together now.
    pub fn overdue(self, queue: &Queue, eligible: ModeSet, picked: &mut Vec<usize>) {
        let Starvation::BoundedBypass { overtakes_max } = self else {
            return;
        };
        let mut taken = ModeSet::EMPTY;
        for (at, waiter) in queue.waiting().iter().enumerate() {
            if waiter.overtaken < overtakes_max || !eligible.contains(waiter.mode) {
                continue;
            }
            // Stop at the first that does not fit: granting a later one would overtake it once too often.
            if !waiter.mode.conflicts().intersection(taken).is_empty() {
                break;
            }
            taken = taken.with(waiter.mode);
            picked.push(at);
        }
    }
}
