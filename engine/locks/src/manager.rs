//! The lock manager: strict two-phase locking with scheduled grants.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::contended::{Contended, Entered};
use crate::contention::Rules;
use crate::error::{LockError, TxnId};
use crate::graph::TxnMeta;
use crate::modes::Mode;
use crate::observe::{Metrics, Wait};
use crate::owner::{Owner, WaitEnd};
use crate::schedule::ScheduleKind;
use crate::sync::Mutex;
use crate::table::{Quick, Table};
use crate::transaction::Transaction;

/// How a lock manager works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// How conflicts are decided.
    pub rules: Rules,
    /// Parts of the table locked separately, rounded up to a power of two.
    pub shards: usize,
    /// Locks one transaction may hold.
    pub locks_max: usize,
}

impl Config {
    /// The papers' setting for this schedule, 64 shards, a million locks a transaction.
    pub fn new(schedule: ScheduleKind) -> Config {
        Config {
            rules: Rules::new(schedule),
            shards: 64,
            locks_max: 1 << 20,
        }
    }
}

/// What is known of a transaction when it begins.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TxnOptions {
    /// Its type, for hLDSF's estimates and for the metrics.
    pub class: u32,
    /// The birth of the transaction this one is a retry of, see [`Transaction::birth_ns`]: it keeps its age.
    pub birth_ns: Option<u64>,
    /// Its expected remaining time, where known.
    pub expected_remaining_ns: Option<f64>,
}

/// A lock manager over objects identified by `K`. Clones share it.
///
/// ```
/// use evenkeel_locks::{Config, LockManager, Mode, ScheduleKind};
///
/// let locks = LockManager::new(Config::new(ScheduleKind::Ldsf));
/// let mut txn = locks.begin();
/// txn.lock(&"account 7", Mode::X)?;
/// assert!(locks.begin().try_lock(&"account 7", Mode::S).is_err());
/// txn.release_all();
/// assert!(locks.begin().try_lock(&"account 7", Mode::S).is_ok());
/// # Ok::<(), evenkeel_locks::LockError>(())
/// ```
pub struct LockManager<K> {
    inner: Arc<Inner<K>>,
}

impl<K> Clone for LockManager<K> {
    fn clone(&self) -> Self {
        LockManager {
            inner: Arc::clone(&self.inner),
        }
    }
}

pub(crate) struct Inner<K> {
    table: Table<K>,
    contended: Mutex<Contended<K>>,
    pub(crate) config: Config,
    next_id: AtomicU64,
    epoch: Instant,
    /// Time spent in the wait-for graph: queues, cycles, decisions, effective sizes.
    deciding_ns: AtomicU64,
}

/// How far a request got.
pub(crate) enum Progress {
    Granted,
    Waiting,
}

impl<K: Hash + Eq + Clone> LockManager<K> {
    /// A lock manager in which nothing is locked.
    pub fn new(config: Config) -> LockManager<K> {
        let inner = Inner {
            table: Table::new(config.shards),
            contended: Mutex::new(Contended::new(config.rules)),
            config,
            next_id: AtomicU64::new(1),
            epoch: Instant::now(),
            deciding_ns: AtomicU64::new(0),
        };
        LockManager {
            inner: Arc::new(inner),
        }
    }

    /// Begins a transaction of class 0, born now.
    pub fn begin(&self) -> Transaction<K> {
        self.begin_with(TxnOptions::default())
    }

    /// Begins a transaction.
    pub fn begin_with(&self, options: TxnOptions) -> Transaction<K> {
        let meta = TxnMeta {
            id: self.inner.next_id.fetch_add(1, Ordering::Relaxed),
            birth_ns: options.birth_ns.unwrap_or_else(|| self.inner.now_ns()),
            class: options.class,
            expected_remaining_ns: options.expected_remaining_ns,
        };
        Transaction::new(Arc::clone(&self.inner), Owner::new(meta))
    }

    /// How it works.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Objects locked now.
    pub fn locked_objects(&self) -> usize {
        self.inner.table.len()
    }

    /// What was counted since the beginning.
    pub fn metrics(&self) -> Metrics<K> {
        let uncontended_grants = self.inner.table.grants();
        let contended = self.inner.contended.lock();
        Metrics {
            uncontended_grants,
            contention: contended.core.counters().clone(),
            deciding_ns: self.inner.deciding_ns.load(Ordering::Relaxed),
            waits_by_object: contended.hot.objects(),
            waits_by_holder_class: contended.hot.holder_classes(),
        }
    }

    /// Who waits for whom at this moment.
    pub fn wait_for_graph(&self) -> Vec<Wait<K>> {
        let contended = self.inner.contended.lock();
        let now_ns = self.inner.now_ns();
        let graph = contended.core.graph();
        let wait = |(txn, node): (_, &crate::graph::TxnNode)| {
            let queue = node.waiting?;
            let (request, upgrade) = graph.queue(queue).request_of(txn)?;
            let (key, _) = contended.objects[queue.0 as usize].clone()?;
            let waits_for = graph
                .blockers(txn)
                .into_iter()
                .map(|holder| TxnId(graph.txn(holder).meta.id))
                .collect();
            let waited_ns = now_ns.saturating_sub(request.since_ns);
            Some(Wait {
                txn: TxnId(node.meta.id),
                key,
                mode: request.mode,
                upgrade,
                waited_ns,
                waits_for,
            })
        };
        graph.txns().filter_map(wait).collect()
    }
}

impl<K: Hash + Eq + Clone> Inner<K> {
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub(crate) fn hash(&self, key: &K) -> u64 {
        self.table.hash(key)
    }

    /// Grants `target` to `owner` if that needs no more than the object's shard.
    pub(crate) fn grant_quickly(
        &self,
        owner: &Owner,
        key: &K,
        hash: u64,
        held: Option<Mode>,
        target: Mode,
    ) -> Quick {
        self.table.shard(hash).grant(key, hash, owner, held, target)
    }

    /// Grants `target` to `owner` or enters its wait into the graph.
    ///
    /// # Errors
    /// The request was refused: a deadlock, a prevention policy, or a transaction told to abort.
    pub(crate) fn grant_or_wait(
        &self,
        owner: &Owner,
        key: &K,
        hash: u64,
        held: Option<Mode>,
        target: Mode,
        locks_held: u32,
    ) -> Result<Progress, LockError> {
        let mut contended = self.contended.lock();
        // Under the graph lock: a wound or a cancellation from now on finds the wait.
        owner.check()?;
        let mut shard = self.table.shard(hash);
        // The object may have become free, or another's, since the caller looked.
        if shard.grant(key, hash, owner, held, target) == Quick::Done {
            return Ok(Progress::Granted);
        }
        let locks = shard
            .locks_mut(key, hash)
            .expect("an object that refuses a lock is in the table");
        let queue = contended.adopt(key, hash, locks);
        drop(shard);
        let started = Instant::now();
        let now_ns = self.now_ns();
        let entered = contended.request(owner, queue, target, locks_held, now_ns);
        contended.settle(&self.table, owner, now_ns);
        if !matches!(entered, Ok(Entered::Waiting)) {
            contended.retire(queue, &self.table);
        }
        self.finish(contended, started);
        match entered? {
            Entered::Granted => Ok(Progress::Granted),
            Entered::Waiting => Ok(Progress::Waiting),
        }
    }

    /// Takes the wait of `owner` back, unless it has ended: then how.
    pub(crate) fn stop_waiting(&self, owner: &Owner) -> Option<WaitEnd> {
        let mut contended = self.contended.lock();
        let (started, now_ns) = (Instant::now(), self.now_ns());
        let waited = contended.cancel(owner, now_ns);
        contended.settle(&self.table, owner, now_ns);
        self.finish(contended, started);
        if waited { None } else { owner.take_end() }
    }

    /// Refuses every further request of `owner` and ends its wait.
    pub(crate) fn cancel(&self, owner: &Owner) {
        let mut contended = self.contended.lock();
        let (started, now_ns) = (Instant::now(), self.now_ns());
        owner.doom(LockError::Cancelled);
        if contended.cancel(owner, now_ns) {
            owner.deliver(Err(LockError::Cancelled));
        }
        contended.settle(&self.table, owner, now_ns);
        self.finish(contended, started);
        owner.wake();
    }

    /// Takes the lock on `key` back if nobody waits for it; whether that was so.
    pub(crate) fn release_quickly(&self, owner: &Owner, key: &K, hash: u64) -> bool {
        self.table.shard(hash).release(key, hash, owner) == Quick::Done
    }

    /// Takes locks back on objects somebody waits for, or waited for a moment ago.
    pub(crate) fn release_contended(&self, owner: &Owner, locks: &[(K, u64)]) {
        let mut contended = self.contended.lock();
        let (started, now_ns) = (Instant::now(), self.now_ns());
        for (key, hash) in locks {
            let mut shard = self.table.shard(*hash);
            if shard.release(key, *hash, owner) == Quick::Done {
                continue;
            }
            let Some(locks) = shard.locks_mut(key, *hash) else {
                continue;
            };
            let queue = contended.adopt(key, *hash, locks);
            drop(shard);
            contended.release(owner, queue, now_ns);
        }
        contended.settle(&self.table, owner, now_ns);
        self.finish(contended, started);
    }

    /// A transaction ended this long after a scheduled grant.
    pub(crate) fn observe_remaining(&self, class: u32, remaining_ns: f64) {
        self.contended
            .lock()
            .core
            .observe_remaining(class, remaining_ns);
    }

    /// Unlocks the graph, then wakes exactly the transactions whose wait ended.
    fn finish(&self, mut contended: crate::sync::MutexGuard<'_, Contended<K>>, started: Instant) {
        let woken = contended.take_woken();
        drop(contended);
        self.deciding_ns
            .fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        for owner in woken {
            owner.wake();
        }
    }
}

/// The latest moment to wait for a lock.
pub(crate) fn deadline(timeout: Duration) -> Option<Instant> {
    // A timeout beyond the clock's range is none.
    Instant::now().checked_add(timeout)
}
