//! The edges of the wait-for graph: whom a transaction waits for, and who waits for it.

use smallvec::SmallVec;

use super::vertices::Graph;
use crate::index::{QueueIndex, TxnIndex};

/// Which edges a traversal follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    /// Those of the queues as they are.
    Current,
    /// Those the effective sizes were computed with.
    Accounted,
}

impl Graph {
    /// The transactions `txn` waits for directly: every one of them must release before `txn` can be granted.
    pub fn blockers(&self, txn: TxnIndex) -> SmallVec<[TxnIndex; 4]> {
        self.blockers_by(txn, Edges::Current)
    }

    /// One of the [`Graph::blockers`].
    pub fn a_blocker(&self, txn: TxnIndex) -> Option<TxnIndex> {
        self.blocking(txn, Edges::Current).next()
    }

    /// Whether the waiters of `index` wait for more holders than before its last change: the one case in which a new
    /// cycle need not contain the transaction that has just begun to wait.
    pub fn has_new_edges(&self, index: QueueIndex) -> bool {
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

    pub(super) fn blockers_by(&self, txn: TxnIndex, edges: Edges) -> SmallVec<[TxnIndex; 4]> {
        self.blocking(txn, edges).collect()
    }

    fn blocking(&self, txn: TxnIndex, edges: Edges) -> impl Iterator<Item = TxnIndex> + '_ {
        let waits_at = self.txn(txn).waiting.into_iter();
        waits_at.flat_map(move |index| {
            let queue = self.queue(index);
            let (request, upgrade) = queue
                .request_of(txn)
                .expect("a waiting transaction is in the queue");
            let blocking = match edges {
                _ if upgrade => request.mode.conflicts(),
                Edges::Current => queue.blocking_modes()[request.mode as usize],
                Edges::Accounted => queue.accounted[request.mode as usize],
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
