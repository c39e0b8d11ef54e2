//! Effective sizes: the papers' approximation of dependency-set sizes, kept up to date at every change.
//!
//! `size(t) = 1 + sum of size(w) over the transactions w that wait for t` (dissertation section 4.5). The papers'
//! implementation updates each transaction once even if several paths lead to it, so its sizes depend on the order of
//! events. Here a change goes along every path, in topological order, and the sizes always equal their definition.

use smallvec::SmallVec;

use super::scratch::Scratch;
use super::vertices::Graph;
use super::waits_for::WaitsFor;
use crate::meta::{QueueIndex, TxnIndex};
use crate::modes::Mode;

/// Pending changes of effective sizes, by transaction.
type Deltas = SmallVec<[(TxnIndex, u64); 4]>;

impl Graph {
    /// Begins or ceases to keep effective sizes up to date. Every wait must have been linked or taken back.
    pub fn track_sizes(&mut self, track: bool) {
        if std::mem::replace(&mut self.track_sizes, track) == track {
            return;
        }
        for node in self.txns.iter_mut().flatten() {
            (node.effective_size, node.linked) = (1, false);
        }
        let waits = self.txns().filter(|(_, node)| node.waiting.is_some());
        let waiting: Vec<TxnIndex> = waits.map(|(txn, _)| txn).collect();
        // In any order: a size that grows later is passed on along the waits counted by then.
        for txn in waiting {
            self.link(txn);
        }
    }

    /// Counts the wait of `txn` in the effective sizes of everybody it waits for.
    pub fn link(&mut self, txn: TxnIndex) {
        if self.track_sizes && !self.txn(txn).linked {
            let size = self.txn(txn).effective_size;
            let deltas = self
                .blockers_by(txn, WaitsFor::Accounted)
                .into_iter()
                .map(|to| (to, size))
                .collect();
            self.txn_mut(txn).linked = true;
            self.propagate(deltas);
        }
    }

    pub(super) fn unlink(&mut self, txn: TxnIndex) {
        if self.track_sizes && self.txn(txn).linked {
            let size = self.txn(txn).effective_size.wrapping_neg();
            let deltas = self
                .blockers_by(txn, WaitsFor::Accounted)
                .into_iter()
                .map(|to| (to, size))
                .collect();
            self.txn_mut(txn).linked = false;
            self.propagate(deltas);
        }
    }

    /// Takes the waits of the waiters at `places` out of the effective sizes of those they wait for.
    pub(super) fn unlink_places(&mut self, index: QueueIndex, places: &[usize]) {
        if !self.track_sizes {
            return;
        }
        let queue = self.queue(index);
        let weight = |held: Mode| {
            let waiters = places.iter().map(|&place| &queue.waiting()[place]);
            let blocked = waiters.filter(|w| {
                queue.accounted[w.mode as usize].contains(held) && self.txn(w.txn).linked
            });
            blocked.fold(0u64, |sum, waiter| {
                sum.wrapping_add(self.txn(waiter.txn).effective_size)
            })
        };
        let mut weights = [None; Mode::COUNT];
        let grants = queue.granted.iter();
        let deltas = grants
            .map(|grant| {
                let weight =
                    *weights[grant.mode as usize].get_or_insert_with(|| weight(grant.mode));
                (grant.owner, weight.wrapping_neg())
            })
            .collect();
        let txns: SmallVec<[TxnIndex; 4]> = places
            .iter()
            .map(|&place| queue.waiting()[place].txn)
            .collect();
        for txn in txns {
            self.txn_mut(txn).linked = false;
        }
        self.propagate(deltas);
    }

    /// Updates the effective sizes for the modes that wait for `index` now. A waiter that conflicts with other
    /// waiters can add edges between those and the holders (never with `S` and `X` only).
    pub fn account(&mut self, index: QueueIndex) {
        let queue = &self.queues[index.0 as usize];
        let (old, new) = (queue.accounted, queue.blocking_modes());
        if old == new {
            return;
        }
        let held = queue.granted.modes();
        let changed = |mode: Mode| {
            !old[mode as usize]
                .difference_of(new[mode as usize])
                .intersection(held)
                .is_empty()
        };
        let mut deltas = Deltas::new();
        if self.track_sizes && queue.waiting_modes().iter().any(changed) {
            for grant in queue.granted.iter() {
                let mut delta = 0u64;
                for waiter in queue
                    .waiting()
                    .iter()
                    .filter(|waiter| self.txn(waiter.txn).linked)
                {
                    let size = self.txn(waiter.txn).effective_size;
                    if old[waiter.mode as usize].contains(grant.mode) {
                        delta = delta.wrapping_sub(size);
                    }
                    if new[waiter.mode as usize].contains(grant.mode) {
                        delta = delta.wrapping_add(size);
                    }
                }
                deltas.push((grant.owner, delta));
            }
        }
        self.queues[index.0 as usize].accounted = new;
        self.propagate(deltas);
    }

    /// The papers' approximation of `|g(txn)|`: one plus the sum over the transactions that wait for it (section 4.5).
    /// At least the exact size; more where dependency sets overlap (figure 4.7). Meaningful if the graph tracks sizes.
    pub fn effective_size(&self, txn: TxnIndex) -> u64 {
        debug_assert!(self.track_sizes, "the graph was not asked to track sizes");
        self.txn(txn).effective_size
    }

    /// Sum of the effective sizes of the linked waiters of `index` that wait for `holder`, which holds `held`.
    pub(super) fn waiters_weight(&self, index: QueueIndex, holder: TxnIndex, held: Mode) -> u64 {
        if !self.track_sizes {
            return 0;
        }
        let queue = self.queue(index);
        let waiting = queue
            .waiting()
            .iter()
            .filter(|w| queue.accounted[w.mode as usize].contains(held));
        let upgrading = queue
            .upgrading()
            .iter()
            .filter(|w| w.txn != holder && !w.mode.compatible(held));
        let linked = waiting
            .chain(upgrading)
            .map(|waiter| self.txn(waiter.txn))
            .filter(|node| node.linked);
        linked.fold(0, |sum, node| sum.wrapping_add(node.effective_size))
    }

    /// Adds each delta to its transaction and, through every path, to those it waits for. Wrapping arithmetic: sums
    /// over paths can exceed any integer, and what was added must be taken back exactly.
    fn propagate(&mut self, mut deltas: Deltas) {
        // While only one transaction is to be changed there is one path: no order to find.
        while let [(to, delta)] = deltas[..] {
            let node = self.txn_mut(to);
            node.effective_size = node.effective_size.wrapping_add(delta);
            if !node.linked {
                return;
            }
            let blockers = self.blockers_by(to, WaitsFor::Accounted);
            deltas = blockers.into_iter().map(|to| (to, delta)).collect();
        }
        if deltas.iter().all(|&(to, _)| !self.txn(to).linked) {
            // They wait for nobody: nothing to pass on.
            for (to, delta) in deltas {
                let node = self.txn_mut(to);
                node.effective_size = node.effective_size.wrapping_add(delta);
            }
            return;
        }
        let mut order = Vec::new();
        {
            let mut scratch = self.scratch.borrow_mut();
            scratch.begin(self.txns.len());
            for &(start, _) in &deltas {
                self.postorder(start, &mut scratch, &mut order);
            }
        }
        let mut pending = vec![0u64; order.len()];
        let mut place = hashbrown::HashMap::with_capacity(order.len());
        // Reverse postorder: a transaction comes before everybody it waits for.
        order.reverse();
        for (at, &txn) in order.iter().enumerate() {
            place.insert(txn.0, at);
        }
        for (start, delta) in deltas {
            let at = place[&start.0];
            pending[at] = pending[at].wrapping_add(delta);
        }
        for at in 0..order.len() {
            let (txn, delta) = (order[at], pending[at]);
            let node = self.txn_mut(txn);
            node.effective_size = node.effective_size.wrapping_add(delta);
            if node.linked {
                for blocker in self.blockers_by(txn, WaitsFor::Accounted) {
                    let to = place[&blocker.0];
                    pending[to] = pending[to].wrapping_add(delta);
                }
            }
        }
    }

    /// Appends what is reachable from `start` along counted waits, each transaction after all it waits for.
    fn postorder(&self, start: TxnIndex, scratch: &mut Scratch, order: &mut Vec<TxnIndex>) {
        if !scratch.visit(start) {
            return;
        }
        let next = |txn: TxnIndex| {
            let linked = self.txn(txn).linked;
            if linked {
                self.blockers_by(txn, WaitsFor::Accounted)
            } else {
                SmallVec::new()
            }
        };
        let mut path = vec![(start, next(start))];
        while let Some((txn, rest)) = path.last_mut() {
            match rest.pop() {
                Some(blocker) if scratch.visit(blocker) => path.push((blocker, next(blocker))),
                Some(_) => {}
                None => {
                    order.push(*txn);
                    path.pop();
                }
            }
        }
    }

    /// The effective size of `txn` computed from its definition, for tests of the incremental one.
    #[cfg(test)]
    pub(crate) fn effective_size_by_definition(&self, txn: TxnIndex) -> u64 {
        let mut size = 1u64;
        self.for_dependents(txn, |dependent| {
            size = size.wrapping_add(self.effective_size_by_definition(dependent));
        });
        size
    }
}
