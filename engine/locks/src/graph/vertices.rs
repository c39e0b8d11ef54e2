//! The vertices of the wait-for graph: transactions and objects, created, found and removed.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::scratch::Scratch;
use crate::meta::{QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode;
use crate::queue::Queue;

/// One transaction.
#[derive(Clone, Debug)]
pub struct TxnNode {
    /// The caller's facts about it.
    pub meta: TxnMeta,
    /// Number of its locks, on objects inside the graph or not.
    pub locks_held: u32,
    /// The object it waits for.
    pub waiting: Option<QueueIndex>,
    /// The objects of the graph it holds locks on.
    pub(crate) holds: SmallVec<[(QueueIndex, Mode); 4]>,
    /// `1 + sum of the waiters' effective sizes`, kept up to date if the graph tracks sizes.
    pub(crate) effective_size: u64,
    /// Whether its wait is counted in the effective sizes of those it waits for.
    pub(super) linked: bool,
    /// Whether it must abort because it was wounded (wound-wait).
    pub(super) wounded: bool,
}

/// Places an empty graph keeps memory for.
const SPARE_PLACES_MAX: usize = 1024;

/// Transactions, objects and the waits between them.
#[derive(Default)]
pub struct Graph {
    pub(super) txns: Vec<Option<TxnNode>>,
    free_txns: Vec<u32>,
    pub(super) queues: Vec<Queue>,
    free_queues: Vec<u32>,
    pub(super) track_sizes: bool,
    pub(super) scratch: RefCell<Scratch>,
}

impl Graph {
    /// An empty graph. With `track_sizes` it keeps effective sizes up to date at every change.
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

    /// Whether there is neither a transaction nor an object, though there is room kept for many.
    pub fn has_spare_memory(&self) -> bool {
        self.free_txns.len() == self.txns.len()
            && self.free_queues.len() == self.queues.len()
            && self.txns.len() + self.queues.len() > SPARE_PLACES_MAX
    }

    /// Gives the memory of places back if none is in use and they are many.
    pub(crate) fn forget_spare_memory(&mut self) {
        if self.has_spare_memory() {
            *self = Graph::new(self.track_sizes);
        }
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

    pub(super) fn txn_mut(&mut self, txn: TxnIndex) -> &mut TxnNode {
        self.txns[txn.0 as usize]
            .as_mut()
            .expect("a live transaction")
    }

    /// An object.
    pub fn queue(&self, queue: QueueIndex) -> &Queue {
        &self.queues[queue.0 as usize]
    }

    /// The object, for its barrier and the counts of overtaking. Holders and waiters change through the graph only.
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

    /// Marks `txn` as wounded: it must abort. Whether that is new.
    pub(crate) fn mark_wounded(&mut self, txn: TxnIndex) -> bool {
        !std::mem::replace(&mut self.txn_mut(txn).wounded, true)
    }
}
