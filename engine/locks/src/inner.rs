//! State shared by all handles of one lock manager: the table, the wait-for graph, the clock.
//!
//! Order of locks: graph, then one shard, then one transaction's cell. An uncontended request takes its shard only.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::config::{Config, TxnOptions};
use crate::contention::Rules;
use crate::error::{LockError, TxnId};
use crate::meta::TxnMeta;
use crate::observe::{Metrics, Wait};
use crate::owner::{Owner, WaitEnd};
use crate::sync::{Mutex, MutexGuard};
use crate::table::{Locks, Quick, Request, Table};
use crate::wait_queues::{Entered, TIMED_ONE_IN, WaitQueues};

/// The state that a [`crate::LockManager`] shares with its transactions.
pub(crate) struct ManagerInner<K> {
    table: Table<K>,
    queues: Mutex<WaitQueues<K>>,
    config: Config,
    next_id: AtomicU64,
    epoch: Instant,
    /// Whether the schedule in force compares remaining times: read by every transaction that ends.
    estimates_remaining: AtomicBool,
    /// Time spent in the wait-for graph, estimated: queues, cycles, decisions, effective sizes.
    deciding_ns: AtomicU64,
}

/// Progress of a request.
pub(crate) enum Progress {
    Granted,
    Waiting,
}

/// The graph, locked.
struct Section<'e, K> {
    queues: MutexGuard<'e, WaitQueues<K>>,
    started: Instant,
    now_ns: u64,
    /// Whether the time until its end is measured.
    timed: bool,
}

impl<K: Hash + Eq + Clone> ManagerInner<K> {
    pub(crate) fn new(config: Config) -> ManagerInner<K> {
        ManagerInner {
            table: Table::new(config.shards),
            queues: Mutex::new(WaitQueues::new(config.rules, config.metrics)),
            config,
            next_id: AtomicU64::new(1),
            epoch: Instant::now(),
            estimates_remaining: AtomicBool::new(config.rules.schedule.needs_remaining_times()),
            deciding_ns: AtomicU64::new(0),
        }
    }

    /// Nanoseconds since the manager was made.
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub(crate) fn hash(&self, key: &K) -> u64 {
        self.table.hash(key)
    }

    pub(crate) fn locks_max(&self) -> usize {
        self.config.locks_max
    }

    pub(crate) fn estimates_remaining(&self) -> bool {
        self.estimates_remaining.load(Ordering::Relaxed)
    }

    pub(crate) fn new_owner(&self, options: TxnOptions) -> Owner {
        Owner::new(TxnMeta {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            birth_ns: options.birth_ns.unwrap_or_else(|| self.now_ns()),
            class: options.class,
            expected_remaining_ns: options.expected_remaining_ns,
        })
    }

    /// The configuration with the rules in force.
    pub(crate) fn config(&self) -> Config {
        Config {
            rules: *self.queues.lock().core.rules(),
            ..self.config
        }
    }

    /// Works by what `change` makes of the rules in force from now on.
    pub(crate) fn change_rules(&self, change: impl FnOnce(Rules) -> Rules) {
        let mut section = self.enter();
        let rules = change(*section.queues.core.rules());
        self.estimates_remaining
            .store(rules.schedule.needs_remaining_times(), Ordering::Relaxed);
        section.queues.set_rules(rules, section.now_ns);
        self.leave(section, None);
    }

    /// Objects locked now.
    pub(crate) fn locked_objects(&self) -> usize {
        self.table.len()
    }

    /// The transactions that hold a lock on `key`.
    pub(crate) fn holders(&self, key: &K) -> Vec<TxnId> {
        let hash = self.hash(key);
        let queues = self.queues.lock();
        let mut shard = self.table.shard(hash);
        match shard.locks_mut(key, hash) {
            None => Vec::new(),
            Some(Locks::Free(granted)) => granted
                .iter()
                .map(|grant| TxnId(grant.owner.meta().id))
                .collect(),
            Some(Locks::Contended(queue)) => {
                let graph = queues.core.graph();
                let granted = &graph.queue(*queue).granted;
                granted
                    .iter()
                    .map(|grant| TxnId(graph.txn(grant.owner).meta.id))
                    .collect()
            }
        }
    }

    /// Metrics since the beginning.
    pub(crate) fn metrics(&self) -> Metrics<K> {
        let uncontended_grants = self.table.grants();
        let queues = self.queues.lock();
        Metrics {
            uncontended_grants,
            contention: queues.core.counters().clone(),
            deciding_ns: self.deciding_ns.load(Ordering::Relaxed),
            waits_by_object: queues.hot.objects(),
            waits_by_holder_class: queues.hot.holder_classes(),
        }
    }

    /// The current waits.
    pub(crate) fn wait_for_graph(&self) -> Vec<Wait<K>> {
        let queues = self.queues.lock();
        queues.waits(self.now_ns())
    }

    /// Grants the request if that needs no more than the object's shard.
    pub(crate) fn grant_quickly(&self, owner: &Owner, request: &Request<'_, K>) -> Quick {
        self.table.shard(request.hash).grant(request, owner)
    }

    /// Grants the request or enters its wait into the graph. `locks_held` is the number of locks `owner` holds.
    ///
    /// # Errors
    /// The request was refused: a deadlock, a prevention policy, or a transaction that must abort.
    pub(crate) fn grant_or_wait(
        &self,
        owner: &Owner,
        request: &Request<'_, K>,
        locks_held: u32,
    ) -> Result<Progress, LockError> {
        let mut section = self.enter();
        // Under the graph lock: a wound or a cancellation from now on finds the wait.
        owner.check()?;
        let mut shard = self.table.shard(request.hash);
        // The object may have become free, or another's, since the caller looked.
        if shard.grant(request, owner) == Quick::Done {
            return Ok(Progress::Granted);
        }
        let locks = shard
            .locks_mut(request.key, request.hash)
            .expect("an object that refuses a lock is in the table");
        let queue = section.queues.adopt(request.key, request.hash, locks);
        drop(shard);
        let entered =
            section
                .queues
                .request(owner, queue, request.target, locks_held, section.now_ns);
        if !matches!(entered, Ok(Entered::Waiting)) {
            section.queues.touch(queue);
        }
        self.leave(section, Some(owner));
        match entered? {
            Entered::Granted => Ok(Progress::Granted),
            Entered::Waiting => Ok(Progress::Waiting),
        }
    }

    /// Takes the wait of `owner` back, unless it has ended: then how.
    pub(crate) fn stop_waiting(&self, owner: &Owner) -> Option<WaitEnd> {
        let mut section = self.enter();
        let waited = section.queues.cancel(owner, section.now_ns);
        self.leave(section, Some(owner));
        if waited { None } else { owner.take_end() }
    }

    /// Refuses every further request of `owner` and ends its wait.
    pub(crate) fn cancel(&self, owner: &Owner) {
        let mut section = self.enter();
        owner.require_abort(LockError::Cancelled);
        if section.queues.cancel(owner, section.now_ns) {
            owner.deliver(Err(LockError::Cancelled));
        }
        self.leave(section, Some(owner));
        owner.wake();
    }

    /// Takes the lock on `key` back if nobody waits for it; whether that was so.
    pub(crate) fn release_quickly(&self, owner: &Owner, key: &K, hash: u64) -> bool {
        self.table.shard(hash).release(key, hash, owner) == Quick::Done
    }

    /// Takes locks back on objects somebody waits for, or waited for a moment ago.
    pub(crate) fn release_contended(&self, owner: &Owner, locks: &[(K, u64)]) {
        let mut section = self.enter();
        for (key, hash) in locks {
            let mut shard = self.table.shard(*hash);
            if shard.release(key, *hash, owner) == Quick::Done {
                continue;
            }
            let Some(locks) = shard.locks_mut(key, *hash) else {
                continue;
            };
            let queue = section.queues.adopt(key, *hash, locks);
            drop(shard);
            section.queues.release(owner, queue, section.now_ns);
        }
        self.leave(section, Some(owner));
    }

    /// A transaction ended this long after a scheduled grant.
    pub(crate) fn observe_remaining(&self, class: u32, remaining_ns: f64) {
        self.queues
            .lock()
            .core
            .observe_remaining(class, remaining_ns);
    }

    fn enter(&self) -> Section<'_, K> {
        let mut queues = self.queues.lock();
        let timed = queues.draw_timed();
        let started = Instant::now();
        Section {
            queues,
            started,
            now_ns: started.duration_since(self.epoch).as_nanos() as u64,
            timed,
        }
    }

    /// Delivers the ends of other transactions' waits, unlocks the graph, and wakes exactly those transactions.
    fn leave(&self, section: Section<'_, K>, caller: Option<&Owner>) {
        let Section {
            mut queues,
            started,
            now_ns,
            timed,
        } = section;
        queues.settle(&self.table, caller, now_ns);
        let woken = queues.take_woken();
        drop(queues);
        if timed {
            let estimate_ns = started.elapsed().as_nanos() as u64 * TIMED_ONE_IN;
            self.deciding_ns.fetch_add(estimate_ns, Ordering::Relaxed);
        }
        for owner in woken {
            owner.wake();
        }
    }
}
