//! Changes of the graph: locks are held and released, waits begin and end. Effective sizes follow.

use smallvec::SmallVec;

use super::vertices::Graph;
use crate::meta::{QueueIndex, TxnIndex};
use crate::modes::Mode;
use crate::queue::Waiter;

impl Graph {
    /// `txn` holds `mode` on `index` from now on; the granted set must admit it.
    pub fn hold(&mut self, txn: TxnIndex, index: QueueIndex, mode: Mode) {
        let weight = self.waiters_weight(index, txn, mode);
        self.hold_weighed(txn, index, mode, weight);
    }

    fn hold_weighed(&mut self, txn: TxnIndex, index: QueueIndex, mode: Mode, weight: u64) {
        self.queues[index.0 as usize].granted.insert(txn, mode);
        let node = self.txn_mut(txn);
        node.holds.push((index, mode));
        node.effective_size = node.effective_size.wrapping_add(weight);
    }

    /// Grants the waiters at `places` of the queue of `index`, which must be admitted together, and returns them. Linear
    /// in the length of the queue, however many are granted. Call [`Graph::account`] afterwards.
    pub(crate) fn grant_places(
        &mut self,
        index: QueueIndex,
        places: &[usize],
    ) -> SmallVec<[Waiter; 4]> {
        self.unlink_places(index, places);
        let waiters = self.queues[index.0 as usize].dequeue_places(places);
        for waiter in &waiters {
            self.txn_mut(waiter.txn).waiting = None;
        }
        // Those left wait for a new holder by its mode alone, so holders of one mode gain the same.
        let mut weights = [None; Mode::COUNT];
        for waiter in &waiters {
            let weight = weights[waiter.mode as usize];
            let weight =
                weight.unwrap_or_else(|| self.waiters_weight(index, waiter.txn, waiter.mode));
            weights[waiter.mode as usize] = Some(weight);
            self.hold_weighed(waiter.txn, index, waiter.mode, weight);
        }
        waiters
    }

    /// `txn` gives its lock on `index` back and returns the mode it held. A waiting transaction's wait is taken back
    /// first.
    pub fn unhold(&mut self, txn: TxnIndex, index: QueueIndex) -> Option<Mode> {
        // Its own size changes with those waiting here; those it waits for would have to be updated, too.
        let alone = self.queue(index).waiter_count() == 0;
        debug_assert!(
            alone || self.txn(txn).waiting.is_none(),
            "a transaction that waits releases nothing"
        );
        let mode = self.queues[index.0 as usize].granted.remove(&txn)?;
        let weight = self.waiters_weight(index, txn, mode);
        let node = self.txn_mut(txn);
        node.holds.retain(|held| held.0 != index);
        node.effective_size = node.effective_size.wrapping_sub(weight);
        Some(mode)
    }

    /// `txn` holds the stronger `target` on `index` from now on; the other holders must admit it.
    pub fn upgrade(&mut self, txn: TxnIndex, index: QueueIndex, target: Mode) {
        let held = self
            .queue(index)
            .granted
            .mode_of(&txn)
            .expect("only a holder upgrades");
        let before = self.waiters_weight(index, txn, held);
        self.queues[index.0 as usize].granted.upgrade(&txn, target);
        let after = self.waiters_weight(index, txn, target);
        let node = self.txn_mut(txn);
        node.effective_size = node.effective_size.wrapping_sub(before).wrapping_add(after);
        for entry in node.holds.iter_mut().filter(|held| held.0 == index) {
            entry.1 = target;
        }
    }

    /// `txn` waits for `mode` on `index` from now on, as a holder if `upgrade`. Its wait counts in effective sizes only
    /// after [`Graph::link`]: cycles are looked for in between, because sizes are defined on acyclic graphs.
    pub fn begin_wait(
        &mut self,
        txn: TxnIndex,
        index: QueueIndex,
        mode: Mode,
        upgrade: bool,
        now_ns: u64,
    ) {
        let birth_ns = self.txn(txn).meta.birth_ns;
        debug_assert!(
            self.txn(txn).waiting.is_none(),
            "a transaction waits for one object"
        );
        self.queues[index.0 as usize].enqueue(txn, mode, upgrade, birth_ns, now_ns);
        self.txn_mut(txn).waiting = Some(index);
    }

    /// `txn` waits no longer; returns its request. Call [`Graph::account`] after the last change to the object.
    pub fn end_wait(&mut self, txn: TxnIndex) -> Option<(QueueIndex, Waiter)> {
        let index = self.txn(txn).waiting?;
        self.unlink(txn);
        let waiter = self.queues[index.0 as usize]
            .dequeue(txn)
            .expect("a waiting transaction is in the queue");
        self.txn_mut(txn).waiting = None;
        Some((index, waiter))
    }
}
