//! Removing ghosts: entries that were deleted, or inserted by a transaction that rolled back.
//!
//! A ghost is removed when its row and the gap below it can be locked exclusively at once, so neither its transaction is
//! running nor does a scan rely on the gap, which becomes part of the one above. What cannot be removed yet is tried again later; after a
//! restart, scans that meet ghosts report them.

use evenkeel_locks::Mode;
use evenkeel_log::Depends;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;

use crate::error::StoreError;
use crate::inner::StoreInner;
use crate::locking::LockName;
use crate::storage::apply;
use crate::tree::Tree;
use crate::tree::change::Change;
use crate::tree::node::Node;
use crate::tree::structure::is_underfull;

/// Ghosts remembered at most; others stay until a scan meets them.
const GHOSTS_MAX: usize = 1 << 20;

/// A deleted entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ghost {
    tree: Tree,
    key: Box<[u8]>,
}

impl Ghost {
    pub(crate) fn new(tree: Tree, key: &[u8]) -> Ghost {
        Ghost {
            tree,
            key: key.into(),
        }
    }
}

/// Ghosts to remove.
#[derive(Default)]
pub(crate) struct GhostQueue {
    ghosts: Mutex<Vec<Ghost>>,
}

impl GhostQueue {
    /// Takes over `ghosts`.
    pub(crate) fn add(&self, ghosts: &mut Vec<Ghost>) {
        if ghosts.is_empty() {
            return;
        }
        let mut queue = self.ghosts.lock();
        let room = GHOSTS_MAX.saturating_sub(queue.len());
        queue.extend(ghosts.drain(..).take(room));
    }

    fn take(&self) -> Vec<Ghost> {
        std::mem::take(&mut self.ghosts.lock())
    }
}

/// What became of a ghost.
enum Purged {
    /// It is gone, now or before.
    Gone,
    /// Somebody holds its row or gap.
    InUse,
}

impl StoreInner {
    /// Removes the ghosts known; how many could not be removed yet.
    ///
    /// # Errors
    /// If pages or log fail; the ghosts stay.
    pub(crate) fn purge(&self) -> Result<usize, StoreError> {
        let mut left = Vec::new();
        let mut ghosts = self.ghosts.take().into_iter();
        let result = ghosts.try_for_each(|ghost| {
            self.check()?;
            if let Purged::InUse = self.purge_one(&ghost)? {
                left.push(ghost);
            }
            Ok(())
        });
        left.extend(ghosts);
        let count = left.len();
        self.ghosts.add(&mut left);
        result.map(|()| count)
    }

    fn purge_one(&self, ghost: &Ghost) -> Result<Purged, StoreError> {
        let Ghost { tree, key } = ghost;
        let mut leaf = tree.leaf_to_write(&self.storage.pool, key)?;
        let slot = match Node(&leaf).search(key) {
            Ok(slot) if Node(&leaf).entry(slot).ghost => slot,
            _ => return Ok(Purged::Gone),
        };
        // Held to the end, because `merge` asks for more.
        let mut locks = self.locks.begin();
        let mut may_lock = |name| locks.try_lock(&name, Mode::X).is_ok();
        let row = self.row_lock(*tree, key)?;
        if !may_lock(row) || !may_lock(LockName::gap(*tree, Some(key))) {
            return Ok(Purged::InUse);
        }
        // Nobody that passes by would see that it needs the deletion, were the ghost gone before that is durable.
        if self.released.commit_of(row).is_some() {
            return Ok(Purged::InUse);
        }
        let change = Change::Remove { slot: slot as u16 };
        // Under the lazy policies the deletion may not be durable yet: its commit is among everything.
        let depends = [leaf.lsn()];
        let depends = match self.needs_known.load(Ordering::SeqCst) {
            true => Depends::On(&depends),
            false => Depends::Everything,
        };
        let lsn = self
            .storage
            .append_structure(&[(leaf.id(), change.clone())], depends)?;
        apply(&mut leaf, &change, lsn);
        self.counters.purged.add_one();
        let underfull = is_underfull(Node(&leaf)) && leaf.id() != tree.root;
        drop(leaf);
        if underfull {
            tree.merge(&self.storage, key, |fence| {
                may_lock(LockName::gap(*tree, Some(fence)))
            })?;
        }
        Ok(Purged::Gone)
    }

    /// The lock of the row an entry belongs to.
    fn row_lock(&self, tree: Tree, key: &[u8]) -> Result<LockName, StoreError> {
        let Some((table, index)) = self.owner_of(tree) else {
            return Ok(LockName::row(tree, key));
        };
        let Some(index) = index else {
            return Ok(table.row_lock(key));
        };
        let start = table
            .layout()
            .primary_key_in(&table.indexes()[index.place], key);
        let start = start.ok_or_else(|| {
            StoreError::Corrupt(format!(
                "a key of an index of {:?} is malformed",
                table.name()
            ))
        })?;
        Ok(table.row_lock(&key[start..]))
    }
}
