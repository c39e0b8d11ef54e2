//! Removing ghosts: entries that were deleted, or inserted by a transaction that rolled back.
//!
//! A ghost is removed when its row and the gap below it can be locked exclusively at once, and the table `IX`. So its
//! transaction has ended, and no scan relies on the gap, which becomes part of the one above. One that is locked is
//! tried again when the transaction that has locked it ends ([`crate::ghosts`]).
//!
//! Ghosts are remembered in memory only. After opening, all leaves are therefore read once, a few at a time, to find those of
//! earlier runs.

use evenkeel_locks::{Mode, TxnId};
use evenkeel_log::Depends;
use std::sync::atomic::Ordering;

use crate::error::StoreError;
use crate::ghosts::{Ghost, Search};
use crate::inner::StoreInner;
use crate::locking::LockName;
use crate::overflow::NUMBER_BYTES;
use crate::storage::apply;
use crate::tree::Tree;
use crate::tree::change::Change;
use crate::tree::descend::Seek;
use crate::tree::node::Node;
use crate::tree::structure::is_underfull;

/// Result of removing a ghost.
enum Purged {
    /// It is gone, now or before.
    Gone,
    /// Somebody has locked this.
    Locked(LockName),
    /// Its deletion is not durable yet.
    NotDurable,
}

impl StoreInner {
    /// Removes the ghosts known, after reading at most `leaves_max` leaves in search of others; how many ghosts are left.
    ///
    /// # Errors
    /// If pages or log fail; the ghosts stay.
    pub(crate) fn purge(&self, leaves_max: usize) -> Result<usize, StoreError> {
        let mut search = self.ghost_search.lock();
        if self.ghosts.take_missed() {
            *search = Search::new(self.trees());
        }
        self.search_ghosts(&mut search, leaves_max)?;
        let mut ghosts = self.ghosts.take_ready().into_iter();
        let (mut retried, mut failed) = (Vec::new(), None);
        let result = ghosts.try_for_each(|ghost| {
            self.counters.purge_attempts.add_one();
            match self.check().and_then(|()| self.purge_one(&ghost)) {
                Ok(Purged::Gone) => {}
                Ok(Purged::NotDurable) => retried.push(ghost),
                Ok(Purged::Locked(name)) => match self.locks.holders(&name).first() {
                    Some(&holder) => self.retry_after(ghost, name, holder),
                    None => retried.push(ghost),
                },
                Err(error) => {
                    failed = Some(ghost);
                    return Err(error);
                }
            }
            Ok(())
        });
        // Others first the next time: they may be on pages that can be read.
        retried.extend(ghosts);
        retried.extend(failed);
        self.ghosts.add(&mut retried);
        result.map(|()| self.ghosts.len())
    }

    /// Queues `ghost` until `holder`, which has locked `name`, has ended.
    fn retry_after(&self, ghost: Ghost, name: LockName, holder: TxnId) {
        self.ghosts.block(ghost, holder);
        // It may have ended between the failed attempt and now, and nobody would report that again.
        if !self.locks.holders(&name).contains(&holder) {
            self.ghosts.transaction_ended(holder);
        }
    }

    /// Reads on, at most `leaves_max` leaves, and queues the ghosts there.
    fn search_ghosts(&self, search: &mut Search, leaves_max: usize) -> Result<(), StoreError> {
        for _ in 0..leaves_max {
            let Some(&tree) = search.trees.last() else {
                return Ok(());
            };
            self.check()?;
            let leaf = tree.leaf_to_read(&self.storage.pool, Seek::At(&search.from))?;
            let node = Node(&leaf);
            let ghosts = node.entries().filter(|entry| entry.ghost);
            let mut ghosts = ghosts.map(|entry| Ghost::new(tree, entry.key)).collect();
            self.ghosts.add(&mut ghosts);
            search.from.clear();
            match node.high() {
                Some(high) => search.from.extend_from_slice(high),
                None => drop(search.trees.pop()),
            }
        }
        Ok(())
    }

    fn purge_one(&self, ghost: &Ghost) -> Result<Purged, StoreError> {
        let bytes = (ghost.key.len() + 4 * self.storage.pool.body_bytes()) as u64;
        self.reserve_log(bytes)?;
        let purged = self.purge_reserved(ghost);
        self.storage.log.release(bytes);
        purged
    }

    /// Removes a ghost, with room for its records reserved in the log.
    fn purge_reserved(&self, ghost: &Ghost) -> Result<Purged, StoreError> {
        let Ghost { tree, key } = ghost;
        let mut leaf = tree.leaf_to_write(&self.storage.pool, key)?;
        let slot = match Node(&leaf).search(key) {
            Ok(slot) if Node(&leaf).entry(slot).ghost => slot,
            _ => return Ok(Purged::Gone),
        };
        // Held to the end, because `merge` asks for more.
        let mut locks = self.locks.begin();
        let (table, row) = self.locks_of(*tree, key)?;
        let wanted = [
            (table, Mode::IX),
            (row, Mode::X),
            (LockName::gap(*tree, Some(key)), Mode::X),
        ];
        for (name, mode) in wanted {
            if locks.try_lock(&name, mode).is_err() {
                return Ok(Purged::Locked(name));
            }
        }
        // Nobody that passes by would see that it needs the deletion, were the ghost gone before that is durable.
        if [table, row].map(|name| self.released.commit_of(name)) != [None; 2] {
            return Ok(Purged::NotDurable);
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
                let gap = LockName::gap(*tree, Some(fence));
                locks.try_lock(&gap, Mode::X).is_ok()
            })?;
        }
        Ok(Purged::Gone)
    }

    /// The locks of the table and of the row that an entry belongs to.
    fn locks_of(&self, tree: Tree, key: &[u8]) -> Result<(LockName, LockName), StoreError> {
        let Some((table, index)) = self.owner_of(tree) else {
            return Ok((LockName::table(tree), LockName::row(tree, key)));
        };
        let primary = match index {
            None if tree == table.overflow_tree() => &key[..key.len().saturating_sub(NUMBER_BYTES)],
            None => key,
            Some(index) => {
                let schema = &table.indexes()[index.place];
                let start = table.layout().primary_key_in(schema, key);
                let start = start.ok_or_else(|| {
                    StoreError::Corrupt(format!(
                        "a key of an index of {:?} is malformed",
                        table.name()
                    ))
                })?;
                &key[start..]
            }
        };
        Ok((table.lock(), table.row_lock(primary)))
    }
}
