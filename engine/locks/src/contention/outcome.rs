//! Outcomes of requests: the caller's own, and those of others.

use crate::graph::{QueueIndex, TxnIndex};
use crate::modes::Mode;

/// Outcome of a request that was not refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A lock at least as strong was held already.
    AlreadyHeld,
    /// Granted without waiting.
    Granted,
    /// Waits; the [`Effects`] of a later call say how the wait ended.
    Waiting,
}

/// Why a request was refused. The transactions are given by [`crate::graph::TxnMeta::id`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its wait closed a cycle, and it was chosen as the victim. Each waits for the next, the last for the first.
    Deadlock {
        /// The members.
        cycle: Vec<u64>,
    },
    /// It and another holder of the same object both wait to upgrade.
    UpgradeConflict {
        /// The other holder.
        with: u64,
    },
    /// Under wait-die: it would wait for an older transaction.
    Died {
        /// The older transaction.
        older: u64,
    },
    /// Under wound-wait: an older transaction waits for it.
    Wounded {
        /// The older transaction.
        older: u64,
    },
    /// Under no-wait: it could not be granted at once.
    WouldWait,
}

/// A waiting request that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The transaction that was granted it.
    pub txn: TxnIndex,
    /// On which object.
    pub queue: QueueIndex,
    /// The mode held now.
    pub mode: Mode,
    /// How long it waited.
    pub waited_ns: u64,
}

/// Effects of a call on *other* transactions. The caller empties it.
#[derive(Default, Debug)]
pub struct Effects {
    /// Waits that ended with a grant, in the order of granting.
    pub granted: Vec<Granted>,
    /// Waits that ended with a refusal. The transaction waits no longer and must abort.
    pub refused: Vec<(TxnIndex, Refusal)>,
    /// Running transactions that must abort (wound-wait), with the id of the older one.
    pub wounded: Vec<(TxnIndex, u64)>,
    /// Objects whose queue changed.
    pub touched: Vec<QueueIndex>,
}

impl Effects {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.granted.clear();
        self.refused.clear();
        self.wounded.clear();
        self.touched.clear();
    }
}
