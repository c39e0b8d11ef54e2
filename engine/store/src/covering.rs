//! A transaction's locks on tables as a whole, and when to escalate to them.

use evenkeel_locks::Mode;

use crate::locking::LockName;

/// Whether to wait for the lock of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The locks are many: the table's would be better.
    No,
    /// There may be no more locks.
    Yes,
}

/// A transaction's locks on its statement's table, and when it tries to get more.
pub(crate) struct Escalation {
    /// The mode of the table's lock.
    pub(crate) covers: Option<Mode>,
    /// The table.
    pub(crate) table: Option<LockName>,
    /// Number of locks from which it escalates.
    at: usize,
    /// The smallest such number.
    at_least: usize,
}

impl Escalation {
    pub(crate) fn new(locks: usize) -> Escalation {
        Escalation {
            covers: None,
            table: None,
            at: locks.max(1),
            at_least: locks.max(1),
        }
    }

    /// Whether a part of the table need not be locked in `mode`.
    #[inline]
    pub(crate) fn covers(&self, mode: Mode) -> bool {
        self.covers.is_some_and(|held| covers_parts(held, mode))
    }

    /// Whether the transaction has enough locks to escalate before it locks `name`.
    #[inline]
    pub(crate) fn is_due(
        &self,
        locks: &evenkeel_locks::Transaction<LockName>,
        name: LockName,
    ) -> bool {
        locks.locks_held() >= self.at && locks.mode_of(&name).is_none()
    }

    /// The transaction has `locks` now.
    pub(crate) fn put_off(&mut self, locks: usize) {
        self.at = self.at_least.max(locks + locks / 4 + 1);
    }
}

/// Whether a table's lock in `held` makes one of a part of it in `mode` needless.
pub(crate) fn covers_parts(held: Mode, mode: Mode) -> bool {
    match held {
        Mode::X => true,
        Mode::S | Mode::SIX => matches!(mode, Mode::S | Mode::IS),
        Mode::IS | Mode::IX => false,
    }
}
