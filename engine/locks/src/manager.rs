//! The lock manager: strict two-phase locking with scheduled grants.

use std::hash::Hash;
use std::sync::Arc;

use crate::config::{Config, ConfigError, TxnOptions};
use crate::contention::Rules;
use crate::error::TxnId;
use crate::inner::ManagerInner;
use crate::observe::{Metrics, Wait};
use crate::schedule::ScheduleKind;
use crate::transaction::Transaction;

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
    manager: Arc<ManagerInner<K>>,
}

impl<K> Clone for LockManager<K> {
    fn clone(&self) -> Self {
        LockManager {
            manager: Arc::clone(&self.manager),
        }
    }
}

impl<K: Hash + Eq + Clone> LockManager<K> {
    /// A lock manager in which nothing is locked.
    ///
    /// # Panics
    /// If [`Config::check`] refuses `config`.
    pub fn new(config: Config) -> LockManager<K> {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        LockManager {
            manager: Arc::new(ManagerInner::new(config)),
        }
    }

    /// Begins a transaction of class 0, born now.
    pub fn begin(&self) -> Transaction<K> {
        self.begin_with(TxnOptions::default())
    }

    /// Begins a transaction.
    pub fn begin_with(&self, options: TxnOptions) -> Transaction<K> {
        Transaction::new(Arc::clone(&self.manager), self.manager.new_owner(options))
    }

    /// Its present configuration.
    pub fn config(&self) -> Config {
        self.manager.config()
    }

    /// Nanoseconds since it was made: the clock of births ([`Transaction::birth_ns`]).
    pub fn now_ns(&self) -> u64 {
        self.manager.now_ns()
    }

    /// Grants by `schedule` from now on, with what the papers keep from starving under it ([`Rules::new`]). Deadlock
    /// policy and seed stay. See [`LockManager::set_rules`].
    pub fn set_schedule(&self, schedule: ScheduleKind) {
        self.manager.change_rules(|rules| Rules {
            starvation: Rules::new(schedule).starvation,
            schedule,
            ..rules
        });
    }

    /// Works by `rules` from now on, while transactions hold and wait: grants stay, and nobody loses a place in a queue.
    /// A wait that the new deadlock policy forbids ends at once ([`LockError::Died`], [`LockError::Wounded`]).
    ///
    /// # Errors
    /// If [`Rules::check`] refuses them; nothing changes.
    ///
    /// [`LockError::Died`]: crate::LockError::Died
    /// [`LockError::Wounded`]: crate::LockError::Wounded
    pub fn set_rules(&self, rules: Rules) -> Result<(), ConfigError> {
        rules.check()?;
        self.manager.change_rules(|_| rules);
        Ok(())
    }

    /// Objects locked now.
    pub fn locked_objects(&self) -> usize {
        self.manager.locked_objects()
    }

    /// The transactions that hold a lock on `key`, in no particular order.
    pub fn holders(&self, key: &K) -> Vec<TxnId> {
        self.manager.holders(key)
    }

    /// Metrics since the beginning.
    pub fn metrics(&self) -> Metrics<K> {
        self.manager.metrics()
    }

    /// The current waits, with the blockers of each.
    pub fn wait_for_graph(&self) -> Vec<Wait<K>> {
        self.manager.wait_for_graph()
    }
}
