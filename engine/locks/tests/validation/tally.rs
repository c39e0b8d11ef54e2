//! Counts of events in a run.

use evenkeel_locks::LockError;

/// Counts of what transactions went through.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Transactions that got everything they asked for.
    pub commits: u64,
    /// Locks and upgrades granted.
    pub grants: u64,
    /// Victims of a cycle.
    pub deadlocks: u64,
    /// Victims of two upgrades of one object.
    pub upgrade_conflicts: u64,
    /// Requests not granted in time.
    pub timeouts: u64,
    /// Requests of cancelled transactions.
    pub cancelled: u64,
    /// Requests refused because they would have waited.
    pub would_block: u64,
    /// Requests refused by wait-die.
    pub died: u64,
    /// Transactions wounded.
    pub wounded: u64,
    /// Requests beyond the limit.
    pub too_many: u64,
    /// Asynchronous waits dropped.
    pub dropped: u64,
}

impl Tally {
    /// Counts an error.
    pub fn note(&mut self, error: &LockError) {
        *match error {
            LockError::Deadlock { .. } => &mut self.deadlocks,
            LockError::UpgradeConflict { .. } => &mut self.upgrade_conflicts,
            LockError::Timeout => &mut self.timeouts,
            LockError::Cancelled => &mut self.cancelled,
            LockError::WouldBlock => &mut self.would_block,
            LockError::Died { .. } => &mut self.died,
            LockError::Wounded { .. } => &mut self.wounded,
            LockError::TooManyLocks { .. } => &mut self.too_many,
        } += 1;
    }

    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.commits += other.commits;
        self.grants += other.grants;
        self.deadlocks += other.deadlocks;
        self.upgrade_conflicts += other.upgrade_conflicts;
        self.timeouts += other.timeouts;
        self.cancelled += other.cancelled;
        self.would_block += other.would_block;
        self.died += other.died;
        self.wounded += other.wounded;
        self.too_many += other.too_many;
        self.dropped += other.dropped;
    }
}
