//! Why a lock was not granted.

use crate::contention::Refusal;

/// Identifies a transaction of one lock manager; never used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TxnId(pub u64);

impl std::fmt::Display for TxnId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// Why a lock was not granted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockError {
    /// The wait closed a cycle and this transaction is its victim.
    #[error("deadlock: {}; release everything and retry", cycle_text(cycle))]
    Deadlock {
        /// Each waits for the next, the last for the first.
        cycle: Vec<TxnId>,
    },
    /// This transaction and another hold the same object, and both wait for the other to let them upgrade.
    #[error(
        "{with} upgrades the same lock; release everything and retry, or ask for the stronger mode at once"
    )]
    UpgradeConflict {
        /// The other one.
        with: TxnId,
    },
    /// The lock was not granted in time. Locks held stay held.
    #[error("not granted in time")]
    Timeout,
    /// The transaction was cancelled from outside.
    #[error("the transaction was cancelled; release everything")]
    Cancelled,
    /// `try_lock`, or the no-wait policy: the lock cannot be granted at once.
    #[error("not granted at once")]
    WouldBlock,
    /// Wait-die: it would wait for an older transaction.
    #[error("{older} is older and in the way; release everything and retry with the same birth")]
    Died {
        /// The older transaction.
        older: TxnId,
    },
    /// Wound-wait: an older transaction waits for this one.
    #[error(
        "{older} is older and waits for this transaction; release everything and retry with the same birth"
    )]
    Wounded {
        /// The older transaction.
        older: TxnId,
    },
    /// The transaction holds as many locks as one may.
    #[error("a transaction may hold {locks_max} locks; lock coarser objects or raise the limit")]
    TooManyLocks {
        /// The limit.
        locks_max: usize,
    },
}

impl LockError {
    /// Whether other transactions count on this one releasing its locks: it must not go on.
    pub fn must_abort(&self) -> bool {
        !matches!(
            self,
            LockError::Timeout | LockError::WouldBlock | LockError::TooManyLocks { .. }
        )
    }

    /// Whether the transaction was chosen to make way for others: it must abort, and is worth retrying with its birth
    /// kept ([`crate::TxnOptions::birth_ns`]).
    pub fn is_victim(&self) -> bool {
        matches!(
            self,
            LockError::Deadlock { .. }
                | LockError::UpgradeConflict { .. }
                | LockError::Died { .. }
                | LockError::Wounded { .. }
        )
    }
}

impl From<Refusal> for LockError {
    fn from(refusal: Refusal) -> LockError {
        match refusal {
            Refusal::Deadlock { cycle } => LockError::Deadlock {
                cycle: cycle.into_iter().map(TxnId).collect(),
            },
            Refusal::UpgradeConflict { with } => LockError::UpgradeConflict { with: TxnId(with) },
            Refusal::Died { older } => LockError::Died {
                older: TxnId(older),
            },
            Refusal::Wounded { older } => LockError::Wounded {
                older: TxnId(older),
            },
            Refusal::WouldWait => LockError::WouldBlock,
        }
    }
}

fn cycle_text(cycle: &[TxnId]) -> String {
    let closed = cycle.iter().chain(cycle.first());
    closed
        .map(TxnId::to_string)
        .collect::<Vec<_>>()
        .join(" waits for ")
}
