//! The wait-for relation: the transactions that a transaction waits for (its blockers), and those that wait for it
//! (its dependents).

use smallvec::SmallVec;

use super::vertices::Graph;
use crate::meta::{QueueIndex, TxnIndex};

/// Which waits a traversal follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Modes of the current queues.
    Current,
    /// Modes that the effective sizes were computed with.
    Accounted,
}

impl Graph {
    /// The transactions `txn` waits for directly: every one of them must release before `txn` can be granted.
    pub fn blockers(&self, txn: TxnIndex) -> SmallVec<[TxnIndex; 4]> {
        self.blockers_by(txn, WaitsFor::Current)
    }

    /// One of the [`Graph::blockers`].
    pub fn a_blocker(&self, txn: TxnIndex) -> Option<TxnIndex> {
        self.blocking(txn, WaitsFor::Current).next()
    }

    /// Whether the waiters of `index` wait for more holders than before its last change. Only then may a new cycle
    /// not contain the transaction that has just begun to wait.
    pub fn has_new_blockers(&self, index: QueueIndex) -> bool {
        let queue = self.queue(index);
        let (old, new, held) = (
            queue.accounted,
            queue.blocking_modes(),
            queue.granted.modes(),
        );
        queue.waiting_modes().iter().any(|mode| {
            let (old, new) = (old[mode as usize], new[mode as usize]);
            !old.difference_of(new)
                .intersection(new)
                .intersection(held)
                .is_empty()
        })
    }

    pub(super) fn blockers_by(&self, txn: TxnIndex, waits: WaitsFor) -> SmallVec<[TxnIndex; 4]> {
        self.blocking(txn, waits).collect()
    }

    fn blocking(&self, txn: TxnIndex, waits: WaitsFor) -> impl Iterator<Item = TxnIndex> + '_ {
        let waits_at = self.txn(txn).waiting.into_iter();
        waits_at.flat_map(move |index| {
            let queue = self.queue(index);
            let (request, upgrade) = queue
                .request_of(txn)
                .expect("a waiting transaction is in the queue");
            let blocking = match waits {
                _ if upgrade => request.mode.conflicts(),
                WaitsFor::Current => queue.blocking_modes()[request.mode as usize],
                WaitsFor::Accounted => queue.accounted[request.mode as usize],
            };
            let others = queue.granted.iter().filter(move |grant| grant.owner != txn);
            others
                .filter(move |grant| blocking.contains(grant.mode))
                .map(|grant| grant.owner)
        })
    }

    /// Calls `visit` for every transaction that waits for `txn` directly.
    pub(super) fn for_dependents(&self, txn: TxnIndex, mut visit: impl FnMut(TxnIndex)) {
        for &(index, held) in &self.txn(txn).holds {
            let queue = self.queue(index);
            if queue.waiter_count() == 0 {
                continue;
            }
            let blocking = queue.blocking_modes();
            for waiter in queue
                .waiting()
                .iter()
                .filter(|waiter| blocking[waiter.mode as usize].contains(held))
            {
                visit(waiter.txn);
            }
            for upgrader in queue
                .upgrading()
                .iter()
                .filter(|w| w.txn != txn && !w.mode.compatible(held))
            {
                visit(upgrader.txn);
            }
        }
    }
}
