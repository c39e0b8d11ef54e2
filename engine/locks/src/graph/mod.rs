//! The wait-for graph, and what the schedules read off it (dissertation section 4.2.2).
//!
//! Vertices are transactions and objects: a transaction waits for at most one object, an object is held by any number of
//! transactions. A waiter depends on *every* holder that keeps it from being granted ([`Queue::blocking_modes`]);
//! following only one of several shared holders hides cycles and undercounts dependency sets. With shared and exclusive
//! locks only, these edges are exactly those of the papers' dependency graph.

mod effective;
mod measures;

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::modes::Mode;
use crate::queue::{Queue, Waiter};
use measures::Scratch;

pub use measures::DependencyUnion;

/// A transaction's place in the graph; used again after the transaction was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TxnIndex(pub u32);

/// An object's place in the graph; used again after the object was removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct QueueIndex(pub u32);

/// What the graph is told about a transaction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TxnMeta {
    /// Unique, increasing with the order of creation; orders transactions of equal birth.
    pub id: u64,
    /// When it was born. A retry that keeps its birth keeps its age.
    pub birth_ns: u64,
    /// Its type, for estimates of remaining time by type (section 4.7.3).
    pub class: u32,
    /// Its expected remaining time where the caller knows it; otherwise the mean of its class is used.
    pub expected_remaining_ns: Option<f64>,
}

impl TxnMeta {
    /// Whether this transaction is the elder of the two.
    pub fn is_elder_than(&self, other: &TxnMeta) -> bool {
        (self.birth_ns, self.id) < (other.birth_ns, other.id)
    }
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct TxnNode {
    /// What the caller said about it.
    pub meta: TxnMeta,
    /// How many locks it holds, on objects inside the graph or not.
    pub locks_held: u32,
    /// The object it waits for.
    pub waiting: Option<QueueIndex>,
    /// The objects of the graph it holds locks on.
    pub(crate) holds: SmallVec<[(QueueIndex, Mode); 4]>,
    /// `1 + sum of the waiters' effective sizes`, kept up to date if the graph tracks sizes.
    pub(crate) effective_size: u64,
    /// Whether its wait is counted in the effective sizes of those it waits for.
    linked: bool,
    /// Whether it was told to abort (wound-wait).
    wounded: bool,
}

/// Which edges a traversal follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edges {
    /// Those of the queues as they are.
    Current,
    /// Those the effective sizes were computed with.
    Accounted,
}

/// Transactions, objects and who waits for whom.
#[derive(Default)]
pub struct Graph {
    txns: Vec<Option<TxnNode>>,
    free_txns: Vec<u32>,
    queues: Vec<Queue>,
    free_queues: Vec<u32>,
    track_sizes: bool,
    scratch: RefCell<Scratch>,
}

impl Graph {
    /// An empty graph. With `track_sizes` it keeps [`Graph::effective_size`] up to date at every change.
    pub fn new(track_sizes: bool) -> Graph {
        Graph {
            track_sizes,
            ..Graph::default()
        }
    }

    /// Adds a transaction that holds nothing and waits for nothing.
    pub fn add_txn(&mut self, meta: TxnMeta) -> TxnIndex {
        let node = TxnNode {
            meta,
            locks_held: 0,
            waiting: None,
            holds: SmallVec::new(),
            effective_size: 1,
            linked: false,
            wounded: false,
        };
        if let Some(index) = self.free_txns.pop() {
            self.txns[index as usize] = Some(node);
            return TxnIndex(index);
        }
        self.txns.push(Some(node));
        TxnIndex(u32::try_from(self.txns.len() - 1).expect("fewer than 2^32 transactions at once"))
    }

    /// Removes a transaction, which must hold nothing and wait for nothing.
    pub fn remove_txn(&mut self, txn: TxnIndex) {
        let node = self.txns[txn.0 as usize].take().expect("removed once");
        assert!(
            node.holds.is_empty() && node.waiting.is_none(),
            "a transaction leaves without locks"
        );
        self.free_txns.push(txn.0);
    }

    /// Adds an object nobody holds.
    pub fn add_queue(&mut self) -> QueueIndex {
        if let Some(index) = self.free_queues.pop() {
            return QueueIndex(index);
        }
        self.queues.push(Queue::new());
        QueueIndex(u32::try_from(self.queues.len() - 1).expect("fewer than 2^32 objects at once"))
    }

    /// Removes an object that nobody holds or waits for.
    pub fn remove_queue(&mut self, index: QueueIndex) {
        let queue = &mut self.queues[index.0 as usize];
        assert!(
            queue.granted.is_empty() && queue.waiter_count() == 0,
            "an object in use stays"
        );
        queue.reset();
        self.free_queues.push(index.0);
    }

    /// A transaction.
    pub fn txn(&self, txn: TxnIndex) -> &TxnNode {
        self.txns[txn.0 as usize]
            .as_ref()
            .expect("a live transaction")
    }

    /// Whether `txn` holds nothing and waits for nothing.
    pub fn is_idle(&self, txn: TxnIndex) -> bool {
        let node = self.txns[txn.0 as usize].as_ref();
        node.is_some_and(|node| node.waiting.is_none() && node.holds.is_empty())
    }

    fn txn_mut(&mut self, txn: TxnIndex) -> &mut TxnNode {
        self.txns[txn.0 as usize]
            .as_mut()
            .expect("a live transaction")
    }

    /// An object.
    pub fn queue(&self, queue: QueueIndex) -> &Queue {
        &self.queues[queue.0 as usize]
    }

    /// The object, for its barrier and the counts of overtaking: who holds and who waits changes through the graph.
    pub(crate) fn queue_mut(&mut self, queue: QueueIndex) -> &mut Queue {
        &mut self.queues[queue.0 as usize]
    }

    /// Every live transaction.
    pub fn txns(&self) -> impl Iterator<Item = (TxnIndex, &TxnNode)> {
        self.txns
            .iter()
            .enumerate()
            .filter_map(|(at, node)| Some((TxnIndex(at as u32), node.as_ref()?)))
    }

    /// Every object's place that is or was in use.
    pub fn queue_indices(&self) -> impl Iterator<Item = QueueIndex> + use<> {
        (0..self.queues.len() as u32).map(QueueIndex)
    }

    /// Sets the number of locks a transaction holds, those on objects outside the graph included.
    pub fn set_locks_held(&mut self, txn: TxnIndex, locks_held: u32) {
        self.txn_mut(txn).locks_held = locks_held;
    }

    /// Notes that `txn` was told to abort; whether that is new.
    pub(crate) fn mark_wounded(&mut self, txn: TxnIndex) -> bool {
        !std::mem::replace(&mut self.txn_mut(txn).wounded, true)
    }

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
        // Its own size changes with those waiting here; whom it waits for would have to be told.
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

    /// The transactions `txn` waits for directly: every one of them must release before `txn` can be granted.
    pub fn blockers(&self, txn: TxnIndex) -> SmallVec<[TxnIndex; 4]> {
        self.blockers_by(txn, Edges::Current)
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

    fn blockers_by(&self, txn: TxnIndex, edges: Edges) -> SmallVec<[TxnIndex; 4]> {
        let node = self.txn(txn);
        let Some(index) = node.waiting else {
            return SmallVec::new();
        };
        let queue = self.queue(index);
        let (request, upgrade) = queue
            .request_of(txn)
            .expect("a waiting transaction is in the queue");
        let blocking = if upgrade {
            request.mode.conflicts()
        } else {
            match edges {
                Edges::Current => queue.blocking_modes()[request.mode as usize],
                Edges::Accounted => queue.accounted[request.mode as usize],
            }
        };
        let blocks = queue
            .granted
            .iter()
            .filter(|grant| blocking.contains(grant.mode) && grant.owner != txn);
        blocks.map(|grant| grant.owner).collect()
    }
}
