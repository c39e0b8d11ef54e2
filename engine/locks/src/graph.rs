//! The wait-for graph, and what the schedules read off it (dissertation section 4.2.2).
//!
//! Vertices are transactions and objects: a transaction waits for at most one object, an object is held by any number of
//! transactions. A waiter depends on *every* holder that keeps it from being granted ([`Queue::blocking_modes`]);
//! following only one of several shared holders hides cycles and undercounts dependency sets. With shared and exclusive
//! locks only, these edges are exactly those of the papers' dependency graph.

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::modes::Mode;
use crate::queue::{Queue, Waiter};

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

#[derive(Default)]
struct Scratch {
    stamp: u32,
    /// Per transaction: the traversal that saw it last.
    seen: Vec<u32>,
    depth: Vec<u32>,
    stack: Vec<TxnIndex>,
}

impl Scratch {
    fn begin(&mut self, len: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.seen.fill(0);
            self.stamp = 1;
        }
        self.seen.resize(len.max(self.seen.len()), 0);
        self.depth.resize(self.seen.len(), 0);
        self.stack.clear();
    }

    /// Marks `txn`; whether this traversal sees it for the first time.
    fn visit(&mut self, txn: TxnIndex) -> bool {
        let seen = &mut self.seen[txn.0 as usize];
        std::mem::replace(seen, self.stamp) != self.stamp
    }
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

    /// Takes the waits of the waiters at `places` out of the effective sizes of those they wait for.
    fn unlink_places(&mut self, index: QueueIndex, places: &[usize]) {
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

    /// Counts the wait of `txn` in the effective sizes of everybody it waits for.
    pub fn link(&mut self, txn: TxnIndex) {
        if self.track_sizes && !self.txn(txn).linked {
            let size = self.txn(txn).effective_size;
            let deltas = self
                .blockers_by(txn, Edges::Accounted)
                .into_iter()
                .map(|to| (to, size))
                .collect();
            self.txn_mut(txn).linked = true;
            self.propagate(deltas);
        }
    }

    fn unlink(&mut self, txn: TxnIndex) {
        if self.track_sizes && self.txn(txn).linked {
            let size = self.txn(txn).effective_size.wrapping_neg();
            let deltas = self
                .blockers_by(txn, Edges::Accounted)
                .into_iter()
                .map(|to| (to, size))
                .collect();
            self.txn_mut(txn).linked = false;
            self.propagate(deltas);
        }
    }

    /// Brings effective sizes up to date with the modes that wait for `index` now: a waiter that conflicts with other
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
        let mut deltas: Vec<(TxnIndex, u64)> = Vec::new();
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

    /// Calls `visit` for every transaction that waits for `txn` directly.
    fn for_dependents(&self, txn: TxnIndex, mut visit: impl FnMut(TxnIndex)) {
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

    /// `|g(txn)|`: how many transactions, itself included, wait for `txn` directly or through others.
    pub fn dependency_set_size(&self, txn: TxnIndex) -> u64 {
        self.dependency_union().add(txn)
    }

    /// Measures the union of dependency sets, one transaction at a time.
    pub fn dependency_union(&self) -> DependencyUnion<'_> {
        self.scratch.borrow_mut().begin(self.txns.len());
        DependencyUnion {
            graph: self,
            size: 0,
        }
    }

    /// The papers' approximation of `|g(txn)|`: one plus the sum over the transactions that wait for it (section 4.5).
    /// At least the exact size; more where dependency sets overlap (figure 4.7). Meaningful if the graph tracks sizes.
    pub fn effective_size(&self, txn: TxnIndex) -> u64 {
        debug_assert!(self.track_sizes, "the graph was not asked to track sizes");
        self.txn(txn).effective_size
    }

    /// Number of transactions on the longest path that ends in `txn`, itself included (section 4.3.1).
    pub fn depth(&self, txn: TxnIndex) -> u32 {
        let mut scratch = self.scratch.borrow_mut();
        scratch.begin(self.txns.len());
        scratch.visit(txn);
        let dependents = |txn: TxnIndex| {
            let mut found = Vec::new();
            self.for_dependents(txn, |dependent| found.push(dependent));
            found
        };
        // Depth first without recursion: chains may be longer than a stack is deep.
        let mut path = vec![(txn, dependents(txn), 0)];
        loop {
            let (top, rest, deepest) = path
                .last_mut()
                .expect("the path ends with the transaction itself");
            if let Some(dependent) = rest.pop() {
                if scratch.visit(dependent) {
                    path.push((dependent, dependents(dependent), 0));
                } else {
                    *deepest = (*deepest).max(scratch.depth[dependent.0 as usize]);
                }
                continue;
            }
            let (top, depth) = (*top, *deepest + 1);
            scratch.depth[top.0 as usize] = depth;
            path.pop();
            match path.last_mut() {
                Some((_, _, deepest)) => *deepest = (*deepest).max(depth),
                None => return depth,
            }
        }
    }

    /// How many of the locks of `txn` somebody waits for (section 4.3.1).
    pub fn blocking_locks(&self, txn: TxnIndex) -> u32 {
        let blocks = |&&(index, held): &&(QueueIndex, Mode)| {
            let queue = self.queue(index);
            let blocking = queue.blocking_modes();
            queue
                .waiting_modes()
                .iter()
                .any(|mode| blocking[mode as usize].contains(held))
                || queue
                    .upgrading()
                    .iter()
                    .any(|w| w.txn != txn && !w.mode.compatible(held))
        };
        self.txn(txn).holds.iter().filter(blocks).count() as u32
    }

    /// Sum of the effective sizes of the linked waiters of `index` that wait for `holder`, which holds `held`.
    fn waiters_weight(&self, index: QueueIndex, holder: TxnIndex, held: Mode) -> u64 {
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
    fn propagate(&mut self, deltas: Vec<(TxnIndex, u64)>) {
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
                for blocker in self.blockers_by(txn, Edges::Accounted) {
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
                self.blockers_by(txn, Edges::Accounted)
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
}

/// The union of the dependency sets of the transactions added so far.
pub struct DependencyUnion<'a> {
    graph: &'a Graph,
    size: u64,
}

impl DependencyUnion<'_> {
    /// Adds the dependency set of `txn`; returns the size of the union so far.
    pub fn add(&mut self, txn: TxnIndex) -> u64 {
        let mut scratch = self.graph.scratch.borrow_mut();
        if scratch.visit(txn) {
            scratch.stack.push(txn);
        }
        while let Some(txn) = scratch.stack.pop() {
            self.size += 1;
            self.graph.for_dependents(txn, |dependent| {
                if scratch.visit(dependent) {
                    scratch.stack.push(dependent);
                }
            });
        }
        self.size
    }

    /// Leaves `txn` and what is reached only through it out of what is counted from now on.
    pub fn exclude(&mut self, txn: TxnIndex) {
        self.graph.scratch.borrow_mut().visit(txn);
    }

    /// Size of the union so far.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Graph {
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
