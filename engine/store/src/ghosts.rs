//! The queue of ghosts: entries that were deleted and still have to be removed from their pages.
//!
//! A ghost that somebody has locked is not tried again before that transaction has ended. So the work of removing ghosts grows with
//! the ghosts and with the transactions that end, not with the time for which one of them stays open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_locks::TxnId;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::tree::Tree;

/// Ghosts remembered at most. Should there be more, all trees are searched for them once those remembered are gone.
const GHOSTS_MAX: usize = 1 << 20;

/// A deleted entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ghost {
    pub(crate) tree: Tree,
    pub(crate) key: Arc<[u8]>,
}

impl Ghost {
    pub(crate) fn new(tree: Tree, key: &[u8]) -> Ghost {
        Ghost {
            tree,
            key: key.into(),
        }
    }
}

/// Ghosts to remove, each once.
#[derive(Default)]
pub(crate) struct GhostQueue {
    ghosts: Mutex<Ghosts>,
    /// Number of transactions that block ghosts, so that the end of any other does not take the mutex.
    blockers: AtomicUsize,
}

#[derive(Default)]
struct Ghosts {
    /// The ghosts below.
    known: HashSet<Ghost, RandomState>,
    /// Ghosts to be tried.
    ready: Vec<Ghost>,
    /// Ghosts to be tried when a transaction has ended.
    blocked: HashMap<TxnId, Vec<Ghost>, RandomState>,
    /// Whether there was no room for some.
    missed: bool,
}

impl GhostQueue {
    /// Takes over `ghosts`; those that are known already are dropped.
    pub(crate) fn add(&self, ghosts: &mut Vec<Ghost>) {
        if ghosts.is_empty() {
            return;
        }
        let mut queue = self.ghosts.lock();
        for ghost in ghosts.drain(..) {
            queue.add(ghost);
        }
    }

    /// The ghosts to be tried, which the queue then does not know any more: an entry that is deleted again while they are tried is a
    /// new ghost.
    pub(crate) fn take_ready(&self) -> Vec<Ghost> {
        let mut queue = self.ghosts.lock();
        let ready = std::mem::take(&mut queue.ready);
        for ghost in &ready {
            queue.known.remove(ghost);
        }
        ready
    }

    /// Takes `ghost` back until `blocker` has [ended](GhostQueue::transaction_ended). If the caller then finds that it has released
    /// the lock in question, it must report the end itself.
    pub(crate) fn block(&self, ghost: Ghost, blocker: TxnId) {
        let mut queue = self.ghosts.lock();
        if queue.known.len() >= GHOSTS_MAX {
            queue.missed = true;
        } else if queue.known.insert(ghost.clone()) {
            queue.blocked.entry(blocker).or_default().push(ghost);
            self.blockers.store(queue.blocked.len(), Ordering::SeqCst);
        }
    }

    /// Called after a transaction has released its locks: what it blocked can be tried again.
    pub(crate) fn transaction_ended(&self, txn: TxnId) {
        if self.blockers.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut queue = self.ghosts.lock();
        if let Some(mut ghosts) = queue.blocked.remove(&txn) {
            queue.ready.append(&mut ghosts);
            self.blockers.store(queue.blocked.len(), Ordering::SeqCst);
        }
    }

    /// Number of ghosts known.
    pub(crate) fn len(&self) -> usize {
        self.ghosts.lock().known.len()
    }

    /// Whether ghosts were left out for lack of room, and there is room again; asked once.
    pub(crate) fn take_missed(&self) -> bool {
        let mut queue = self.ghosts.lock();
        let search = queue.missed && queue.known.is_empty();
        queue.missed &= !search;
        search
    }
}

impl Ghosts {
    fn add(&mut self, ghost: Ghost) {
        if self.known.len() >= GHOSTS_MAX {
            self.missed = true;
        } else if self.known.insert(ghost.clone()) {
            self.ready.push(ghost);
        }
    }
}

/// Where the search for ghosts of earlier runs continues. The thread that has locked it is the only one to purge, so
/// that no purge blocks another.
#[derive(Default)]
pub(crate) struct Search {
    /// Trees not read to their ends, the last one first.
    pub(crate) trees: Vec<Tree>,
    /// The first key not read of the last one.
    pub(crate) from: Vec<u8>,
}

impl Search {
    pub(crate) fn new(trees: Vec<Tree>) -> Search {
        Search {
            trees,
            from: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_pages::PageId;

    fn ghost(key: u8) -> Ghost {
        Ghost::new(Tree { root: PageId(1) }, &[key])
    }

    #[test]
    fn a_ghost_is_queued_once_and_waits_for_the_end_of_its_blocker() {
        let queue = GhostQueue::default();
        queue.add(&mut vec![ghost(1), ghost(2), ghost(1)]);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.take_ready(), [ghost(1), ghost(2)]);
        assert_eq!(queue.len(), 0);
        queue.block(ghost(1), TxnId(7));
        queue.add(&mut vec![ghost(1)]);
        assert_eq!(queue.take_ready(), []);
        queue.transaction_ended(TxnId(8));
        assert_eq!(queue.take_ready(), []);
        queue.transaction_ended(TxnId(7));
        assert_eq!(queue.take_ready(), [ghost(1)]);
        assert!(!queue.take_missed());
    }
}
