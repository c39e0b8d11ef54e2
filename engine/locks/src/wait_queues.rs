//! The wait queues of a lock manager, by object, and the transactions in them: protected by its one graph lock.

use std::hash::Hash;

use crate::contention::{Contention, Effects, Outcome, Refusal, Rules};
use crate::error::{LockError, TxnId};
use crate::granted::GrantedSet;
use crate::graph::{QueueIndex, TxnIndex, TxnNode};
use crate::hot::HotObjects;
use crate::modes::Mode;
use crate::observe::Wait;
use crate::owner::Owner;
use crate::rng::Rng;
use crate::table::{Locks, Table};

/// One call in this many is timed: reading the clock would be a large part of the cost of the metrics.
pub(crate) const TIMED_ONE_IN: u64 = 8;

/// Objects and transactions in the wait-for graph, by their places there.
pub(crate) struct WaitQueues<K> {
    pub(crate) core: Contention,
    objects: Vec<Option<(K, u64)>>,
    owners: Vec<Option<Owner>>,
    pub(crate) hot: HotObjects<K>,
    /// Whether `hot` is kept and time measured.
    metrics: bool,
    timed: Rng,
    effects: Effects,
    /// Transactions whose wait ended, to be woken without locks.
    woken: Vec<Owner>,
}

/// Result of entering a request into the wait-for graph.
pub(crate) enum Entered {
    Granted,
    Waiting,
}

impl<K: Hash + Eq + Clone> WaitQueues<K> {
    pub(crate) fn new(rules: Rules, metrics: bool) -> WaitQueues<K> {
        WaitQueues {
            core: Contention::new(rules),
            objects: Vec::new(),
            owners: Vec::new(),
            hot: HotObjects::default(),
            metrics,
            timed: Rng::new(0),
            effects: Effects::default(),
            woken: Vec::new(),
        }
    }

    /// The transactions whose wait ended; wake them after unlocking the graph.
    #[must_use]
    pub(crate) fn take_woken(&mut self) -> Vec<Owner> {
        std::mem::take(&mut self.woken)
    }

    /// Moves the grants of an object somebody is about to wait for into the graph.
    pub(crate) fn adopt(&mut self, key: &K, hash: u64, locks: &mut Locks) -> QueueIndex {
        let granted = match locks {
            Locks::Contended(queue) => return *queue,
            Locks::Free(granted) => std::mem::take(granted),
        };
        let queue = self.core.add_queue();
        let at = queue.0 as usize;
        if self.objects.len() <= at {
            self.objects.resize_with(at + 1, || None);
        }
        self.objects[at] = Some((key.clone(), hash));
        for grant in granted.iter() {
            let txn = self.enter(&grant.owner);
            self.core.adopt(txn, queue, grant.mode);
        }
        *locks = Locks::Contended(queue);
        queue
    }

    /// The place of a transaction in the graph, where it is entered if it was not there.
    fn enter(&mut self, owner: &Owner) -> TxnIndex {
        if let Some(txn) = owner.index() {
            return txn;
        }
        let txn = self.core.add_txn(*owner.meta());
        let at = txn.0 as usize;
        if self.owners.len() <= at {
            self.owners.resize_with(at + 1, || None);
        }
        self.owners[at] = Some(owner.clone());
        owner.set_index(Some(txn));
        txn
    }

    /// Asks for `mode` on `queue`.
    pub(crate) fn request(
        &mut self,
        owner: &Owner,
        queue: QueueIndex,
        mode: Mode,
        locks_held: u32,
        now_ns: u64,
    ) -> Result<Entered, LockError> {
        let txn = self.enter(owner);
        let outcome = self
            .core
            .request(txn, queue, mode, locks_held, now_ns, &mut self.effects);
        if self.metrics && outcome == Ok(Outcome::Waiting) {
            self.note_hot(txn, queue);
        }
        match outcome {
            Ok(Outcome::Waiting) => Ok(Entered::Waiting),
            Ok(_) => Ok(Entered::Granted),
            Err(refusal) => Err(error_of(owner, refusal)),
        }
    }

    fn note_hot(&mut self, txn: TxnIndex, queue: QueueIndex) {
        let graph = self.core.graph();
        let holder = graph.a_blocker(txn);
        let holder_class = holder.map_or(0, |holder| graph.txn(holder).meta.class);
        if let Some((key, hash)) = &self.objects[queue.0 as usize] {
            self.hot.note(key, *hash, holder_class);
        }
    }

    /// Whether to measure the time the graph is locked now: one in [`TIMED_ONE_IN`], drawn, because the kinds of calls
    /// may alternate.
    pub(crate) fn draw_timed(&mut self) -> bool {
        self.metrics && self.timed.bits().is_multiple_of(TIMED_ONE_IN)
    }

    /// Works by `rules` from now on.
    pub(crate) fn set_rules(&mut self, rules: Rules, now_ns: u64) {
        self.core.set_rules(rules, now_ns, &mut self.effects);
    }

    /// Has the object of `queue` leave with the next [`WaitQueues::settle`] if nobody waits for it.
    pub(crate) fn touch(&mut self, queue: QueueIndex) {
        self.effects.touched.push(queue);
    }

    /// Takes the lock of `owner` on `queue` back.
    pub(crate) fn release(&mut self, owner: &Owner, queue: QueueIndex, now_ns: u64) {
        if let Some(txn) = owner.index() {
            self.core.release(txn, queue, now_ns, &mut self.effects);
        }
    }

    /// Takes the wait of `owner` back; whether it waited.
    pub(crate) fn cancel(&mut self, owner: &Owner, now_ns: u64) -> bool {
        owner
            .index()
            .is_some_and(|txn| self.core.cancel(txn, now_ns, &mut self.effects))
    }

    /// Delivers to other transactions how their waits ended, and takes objects and transactions without contention
    /// out of the graph.
    pub(crate) fn settle(&mut self, table: &Table<K>, caller: Option<&Owner>, now_ns: u64) {
        let mut effects = std::mem::take(&mut self.effects);
        for granted in effects.granted.drain(..) {
            let owner = self.owner(granted.txn);
            owner.deliver(Ok((granted.mode, now_ns)));
            self.woken.push(owner);
        }
        for (txn, refusal) in effects.refused.drain(..) {
            let owner = self.owner(txn);
            owner.deliver(Err(error_of(&owner, refusal)));
            self.woken.push(owner);
            self.leave_if_idle(txn);
        }
        for (txn, older) in effects.wounded.drain(..) {
            self.owner(txn).require_abort(LockError::Wounded {
                older: TxnId(older),
            });
        }
        effects.touched.sort_unstable();
        effects.touched.dedup();
        for queue in effects.touched.drain(..) {
            self.retire(queue, table);
        }
        if let Some(txn) = caller.and_then(Owner::index) {
            self.leave_if_idle(txn);
        }
        self.effects = effects;
        if self.core.graph().has_spare_memory() {
            self.core.forget_spare_memory();
            (self.objects, self.owners) = (Vec::new(), Vec::new());
        }
    }

    fn owner(&self, txn: TxnIndex) -> Owner {
        self.owners[txn.0 as usize]
            .clone()
            .expect("a transaction of the graph has an owner")
    }

    /// Moves the grants of an object nobody waits for back into the table.
    fn retire(&mut self, queue: QueueIndex, table: &Table<K>) {
        let object = self.core.graph().queue(queue);
        if object.waiter_count() > 0 {
            return;
        }
        let Some((key, hash)) = self.objects[queue.0 as usize].take() else {
            return;
        };
        let holders: Vec<(TxnIndex, Mode)> = object
            .granted
            .iter()
            .map(|grant| (grant.owner, grant.mode))
            .collect();
        let mut granted = GrantedSet::default();
        for (txn, mode) in holders {
            granted.insert(self.owner(txn), mode);
            self.core.disown(txn, queue);
            self.leave_if_idle(txn);
        }
        self.core.remove_queue(queue);
        table.shard(hash).free(&key, hash, granted);
    }

    /// All waits, with the blockers of each.
    pub(crate) fn waits(&self, now_ns: u64) -> Vec<Wait<K>> {
        let txns = self.core.graph().txns();
        txns.filter_map(|(txn, node)| self.wait(txn, node, now_ns))
            .collect()
    }

    fn wait(&self, txn: TxnIndex, node: &TxnNode, now_ns: u64) -> Option<Wait<K>> {
        let graph = self.core.graph();
        let queue = node.waiting?;
        let (request, upgrade) = graph.queue(queue).request_of(txn)?;
        let (key, _) = self.objects[queue.0 as usize].clone()?;
        let waits_for = graph.blockers(txn).into_iter();
        Some(Wait {
            txn: TxnId(node.meta.id),
            key,
            mode: request.mode,
            upgrade,
            waited_ns: now_ns.saturating_sub(request.since_ns),
            waits_for: waits_for
                .map(|holder| TxnId(graph.txn(holder).meta.id))
                .collect(),
        })
    }

    fn leave_if_idle(&mut self, txn: TxnIndex) {
        if !self.core.graph().is_idle(txn) {
            return;
        }
        self.core.remove_txn(txn);
        if let Some(owner) = self.owners[txn.0 as usize].take() {
            owner.set_index(None);
        }
    }
}

/// The error that `owner` gets for a refusal. A wound concerns the whole transaction: its further requests are refused, too.
fn error_of(owner: &Owner, refusal: Refusal) -> LockError {
    let error = LockError::from(refusal);
    if matches!(error, LockError::Wounded { .. }) {
        owner.require_abort(error.clone());
    }
    error
}
