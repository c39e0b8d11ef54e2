//! State shared by all handles of a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_disk::{Directory, DirectoryLock};
use evenkeel_locks::LockManager;
use evenkeel_pages::PageId;
use parking_lot::{Mutex, RwLock};

use crate::checkpoint::CheckpointState;
use crate::error::StoreError;
use crate::ghosts::{GhostQueue, Search};
use crate::locking::LockName;
use crate::observe::Observer;
use crate::released::Released;
use crate::running::Running;
use crate::settings::Release;
use crate::statistics::Counters;
use crate::storage::Storage;
use crate::table::{Index, Table};
use crate::tree::Tree;

/// No lock timeout.
const NO_TIMEOUT: u64 = u64::MAX;

/// State shared by handles, transactions and background threads of one store.
pub(crate) struct StoreInner {
    /// Tells handles of different stores apart.
    pub(crate) number: u64,
    pub(crate) storage: Storage,
    pub(crate) locks: LockManager<LockName>,
    pub(crate) running: Running,
    pub(crate) counters: Counters,
    pub(crate) ghosts: GhostQueue,
    pub(crate) ghost_search: Mutex<Search>,
    pub(crate) catalog: Tree,
    pub(crate) checkpoints: Mutex<CheckpointState>,
    pub(crate) directory: Arc<dyn Directory>,
    /// Whether everything a transaction can read is durable or known to [`Released`], see [`StoreInner::set_flush_policy`].
    pub(crate) needs_known: AtomicBool,
    pub(crate) release: Release,
    pub(crate) released: Released,
    pub(crate) escalation_locks: usize,
    pub(crate) log_block_bytes: usize,
    tables: RwLock<Tables>,
    lock_timeout_ns: AtomicU64,
    pub(crate) checkpoint_log_bytes: AtomicU64,
    stopped: AtomicBool,
    stopped_why: Mutex<Option<Arc<str>>>,
    observed: AtomicBool,
    observer: RwLock<Option<Arc<dyn Observer>>>,
    /// Held for as long as the files may be written: dropped after `storage`, whose threads end first.
    _lock: DirectoryLock,
}

#[derive(Default)]
struct Tables {
    by_name: HashMap<String, Table>,
    /// The table a tree belongs to, and which of its indexes it is.
    by_root: HashMap<PageId, (Table, Option<Index>)>,
}

/// The parts of a [`StoreInner`].
pub(crate) struct Parts {
    pub(crate) storage: Storage,
    pub(crate) locks: LockManager<LockName>,
    pub(crate) running: Running,
    pub(crate) catalog: Tree,
    pub(crate) checkpoints: CheckpointState,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) needs_known: bool,
    pub(crate) release: Release,
    pub(crate) lock_timeout: Option<Duration>,
    pub(crate) escalation_locks: usize,
    pub(crate) checkpoint_log_bytes: u64,
    pub(crate) lock: DirectoryLock,
}

impl StoreInner {
    pub(crate) fn new(parts: Parts) -> StoreInner {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
        let log_block_bytes = parts.storage.log.settings().block_bytes;
        let store = StoreInner {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            storage: parts.storage,
            locks: parts.locks,
            running: parts.running,
            counters: Counters::default(),
            ghosts: GhostQueue::default(),
            ghost_search: Mutex::default(),
            catalog: parts.catalog,
            checkpoints: Mutex::new(parts.checkpoints),
            directory: parts.directory,
            needs_known: AtomicBool::new(parts.needs_known),
            release: parts.release,
            released: Released::new(),
            escalation_locks: parts.escalation_locks,
            log_block_bytes,
            tables: RwLock::default(),
            lock_timeout_ns: AtomicU64::new(NO_TIMEOUT),
            checkpoint_log_bytes: AtomicU64::new(parts.checkpoint_log_bytes),
            stopped: AtomicBool::new(false),
            stopped_why: Mutex::new(None),
            observed: AtomicBool::new(false),
            observer: RwLock::new(None),
            _lock: parts.lock,
        };
        store.set_lock_timeout(parts.lock_timeout);
        store
    }

    /// # Errors
    /// If the store has stopped.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if !self.stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        let why = self.stopped_why.lock().clone();
        Err(StoreError::Stopped(
            why.unwrap_or_else(|| "it failed".into()),
        ))
    }

    /// Reserves `bytes` of the log, see [`Log::reserve`](evenkeel_log::Log::reserve). No page may be latched.
    ///
    /// # Errors
    /// If the disk is full, even after the log has given back what is not needed any more.
    #[inline]
    pub(crate) fn reserve_log(&self, bytes: u64) -> Result<(), StoreError> {
        match self.storage.log.reserve(bytes) {
            Ok(()) => Ok(()),
            Err(error) => {
                let error = StoreError::from(error);
                if !error.is_disk_full() || !self.reclaim_log() {
                    return Err(error);
                }
                Ok(self.storage.log.reserve(bytes)?)
            }
        }
    }

    /// Makes log files free for reuse, whatever that takes; whether there may be some.
    #[cold]
    fn reclaim_log(&self) -> bool {
        let streams = self.storage.log.statistics().streams;
        streams.iter().any(|stream| stream.files > 1)
            && self.storage.pool.flush_all().is_ok()
            && self.checkpoint().is_ok()
    }

    /// Refuses everything from now on: a transaction could be neither completed nor undone.
    pub(crate) fn stop(&self, why: &dyn std::fmt::Display) {
        self.stopped_why
            .lock()
            .get_or_insert_with(|| why.to_string().into());
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn lock_timeout(&self) -> Option<Duration> {
        match self.lock_timeout_ns.load(Ordering::Relaxed) {
            NO_TIMEOUT => None,
            timeout_ns => Some(Duration::from_nanos(timeout_ns)),
        }
    }

    pub(crate) fn set_lock_timeout(&self, timeout: Option<Duration>) {
        let timeout_ns = timeout.and_then(|timeout| u64::try_from(timeout.as_nanos()).ok());
        self.lock_timeout_ns
            .store(timeout_ns.unwrap_or(NO_TIMEOUT), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observed.load(Ordering::Relaxed)
    }

    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.read().clone()
    }

    pub(crate) fn set_observer(&self, observer: Option<Arc<dyn Observer>>) {
        let mut current = self.observer.write();
        self.observed.store(observer.is_some(), Ordering::Relaxed);
        *current = observer;
    }

    pub(crate) fn table(&self, name: &str) -> Option<Table> {
        self.tables.read().by_name.get(name).cloned()
    }

    pub(crate) fn table_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tables.read().by_name.keys().cloned().collect();
        names.sort();
        names
    }

    pub(crate) fn add_table(&self, table: Table) {
        let mut tables = self.tables.write();
        for (place, tree) in table.index_trees().iter().enumerate() {
            tables
                .by_root
                .insert(tree.root, (table.clone(), Some(Index { place })));
        }
        for tree in [table.tree(), table.overflow_tree()] {
            tables.by_root.insert(tree.root, (table.clone(), None));
        }
        tables.by_name.insert(table.name().to_owned(), table);
    }

    /// The trees of all tables and indexes.
    pub(crate) fn trees(&self) -> Vec<Tree> {
        let tables = self.tables.read();
        tables.by_root.keys().map(|&root| Tree { root }).collect()
    }

    /// The table and index a tree belongs to.
    pub(crate) fn owner_of(&self, tree: Tree) -> Option<(Table, Option<Index>)> {
        self.tables.read().by_root.get(&tree.root).cloned()
    }
}
