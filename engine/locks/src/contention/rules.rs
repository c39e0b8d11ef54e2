//! Rules for conflicts.

use crate::deadlock::{DeadlockPolicy, Victim};
use crate::schedule::{ScheduleKind, SetSizes};
use crate::starvation::Starvation;

/// Rules for conflicts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rules {
    /// Chooses the next waiter to grant.
    pub schedule: ScheduleKind,
    /// Method of measuring dependency sets, for schedules that compare them.
    pub sizes: SetSizes,
    /// Keeps waiters from starving.
    pub starvation: Starvation,
    /// Resolves or prevents deadlocks.
    pub deadlocks: DeadlockPolicy,
    /// Seed of the random schedule.
    pub seed: u64,
    /// Keep effective sizes up to date even if no decision needs them, so that the approximation can be compared with
    /// the exact sizes (figure 4.19).
    pub track_effective_sizes: bool,
}

impl Rules {
    /// The papers' setting for a schedule: approximated sizes and exact deadlock detection that aborts the youngest.
    /// Schedules in which waiting alone does not bring a waiter to the front have the barrier.
    pub fn new(schedule: ScheduleKind) -> Rules {
        Rules {
            schedule,
            sizes: SetSizes::Approximate,
            starvation: if schedule.ages() {
                Starvation::None
            } else {
                Starvation::Barrier
            },
            deadlocks: DeadlockPolicy::Detect(Victim::Youngest),
            seed: 0,
            track_effective_sizes: false,
        }
    }

    /// Whether effective sizes have to be kept up to date.
    pub(super) fn tracks_sizes(&self) -> bool {
        let compared = self.schedule.needs_sizes() && self.sizes == SetSizes::Approximate;
        compared || self.track_effective_sizes
    }

    /// The schedule decisions are made by: under wound-wait the oldest goes first (see [`DeadlockPolicy::WoundWait`]).
    pub(super) fn schedule_in_force(&self) -> ScheduleKind {
        match self.deadlocks {
            DeadlockPolicy::WoundWait => ScheduleKind::Vats,
            _ => self.schedule,
        }
    }
}
