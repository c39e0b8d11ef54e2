//! Changes of single entries of a tree by a transaction: logged, with what undoes them, and under the gap locks that scans hold.

use evenkeel_locks::Mode;
use evenkeel_pages::PageWrite;

use crate::error::StoreError;
use crate::ghosts::Ghost;
use crate::locking::LockName;
use crate::record::Undo;
use crate::transaction::Transaction;
use crate::tree::Tree;
use crate::tree::change::{Change, difference};
use crate::tree::node::{Entry, Node, entry_bytes_max};

/// Whether an insertion may go into a gap.
enum Gap {
    Free,
    /// After this lock has been waited for.
    Locked(LockName, Mode),
}

/// A missing resource of a change, to be supplied with no page latched before the change is tried again.
enum Lack {
    /// This many bytes in the leaf.
    Room(usize),
    /// This lock.
    Lock(LockName, Mode),
}

impl Transaction {
    /// Adds an entry, or revives a ghost; whether there was no live one. The row must be locked.
    pub(crate) fn insert_entry(
        &mut self,
        tree: Tree,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, StoreError> {
        let store = std::sync::Arc::clone(&self.store);
        let storage = &store.storage;
        let entry = Entry {
            key,
            value,
            ghost: false,
        };
        let mut waited = Vec::new();
        self.reserve_log(2 * entry.bytes())?;
        let inserted = loop {
            let leaf = tree.leaf_to_write(&storage.pool, key)?;
            let node = Node(&leaf);
            let lacks = match node.search(key) {
                Ok(slot) if !node.entry(slot).ghost => break false,
                Ok(slot) => self.write_value(tree, leaf, slot, entry)?.map(Lack::Room),
                Err(slot) => self.insert_at(tree, leaf, slot, entry)?,
            };
            match lacks {
                None => break true,
                Some(Lack::Room(bytes)) => tree.make_room(storage, key, 0, bytes)?,
                Some(Lack::Lock(name, mode)) => {
                    if self.locks.mode_of(&name).is_none() {
                        waited.push(name);
                    }
                    self.lock(name, mode)?;
                }
            }
        };
        for name in waited {
            self.locks.release(&name);
        }
        Ok(inserted)
    }

    /// Replaces the value in a leaf's slot, and makes a ghost there live again; or how many bytes the leaf lacks for that.
    fn write_value(
        &mut self,
        tree: Tree,
        mut leaf: PageWrite<'_>,
        slot: usize,
        entry: Entry<'_>,
    ) -> Result<Option<usize>, StoreError> {
        let Entry { key, value, .. } = entry;
        let node = Node(&leaf);
        let Entry {
            value: old, ghost, ..
        } = node.entry(slot);
        let growth = value.len().saturating_sub(old.len());
        if growth > node.free_bytes() {
            return Ok(Some(growth));
        }
        let (at, removed, with) = difference(old, value);
        if !ghost && removed == 0 && with.is_empty() {
            return Ok(None);
        }
        let undo = splice_undo(tree, key, old, (at, removed, with), ghost);
        let change = Change::Splice {
            slot: slot as u16,
            ghost: false,
            at,
            removed,
            with,
        };
        self.change(&mut leaf, &change, &undo)?;
        Ok(None)
    }

    /// Adds an entry to a leaf at a slot; or what that lacks.
    fn insert_at(
        &mut self,
        tree: Tree,
        mut leaf: PageWrite<'_>,
        slot: usize,
        entry: Entry<'_>,
    ) -> Result<Option<Lack>, StoreError> {
        let node = Node(&leaf);
        if entry.bytes() > node.free_bytes() {
            return Ok(Some(Lack::Room(entry.bytes())));
        }
        let gap = LockName::gap_at(tree, node, slot);
        if let Gap::Locked(name, mode) = self.pass_gap(tree, entry.key, gap)? {
            return Ok(Some(Lack::Lock(name, mode)));
        }
        let mut undo = Vec::with_capacity(entry.key.len() + 16);
        Undo::Insert {
            tree: tree.root,
            key: entry.key,
        }
        .encode(&mut undo);
        let slot = slot as u16;
        self.change(&mut leaf, &Change::Insert { slot, entry }, &undo)?;
        Ok(None)
    }

    /// Whether `key` may be inserted into the gap; called with the leaf latched, so that no scan can lock it in between.
    fn pass_gap(&mut self, tree: Tree, key: &[u8], gap: LockName) -> Result<Gap, StoreError> {
        let held = self.locks.mode_of(&gap);
        if held == Some(Mode::IX) {
            return Ok(Gap::Free);
        }
        if !self.try_lock_unobserved(gap, Mode::IX)? {
            return Ok(Gap::Locked(gap, Mode::IX));
        }
        if held.is_none() {
            self.locks.release(&gap);
            return Ok(Gap::Free);
        }
        // A scan of our own protects the gap: it must protect both parts that the new key makes of it.
        let below = LockName::gap(tree, Some(key));
        if !self.try_lock_unobserved(below, Mode::S)? {
            return Ok(Gap::Locked(below, Mode::S));
        }
        Ok(Gap::Free)
    }

    /// Replaces the value of a live entry. `None` if the entry does not exist, else the old value if the caller
    /// `needs` it.
    pub(crate) fn replace_value(
        &mut self,
        tree: Tree,
        key: &[u8],
        value: &[u8],
        needs: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Option<Vec<u8>>>, StoreError> {
        let store = std::sync::Arc::clone(&self.store);
        // The old value may be as long as any.
        self.reserve_log(
            key.len() + value.len() + entry_bytes_max(store.storage.pool.body_bytes()),
        )?;
        let entry = Entry {
            key,
            value,
            ghost: false,
        };
        loop {
            let leaf = tree.leaf_to_write(&store.storage.pool, key)?;
            let node = Node(&leaf);
            let slot = match node.search(key) {
                Ok(slot) if !node.entry(slot).ghost => slot,
                _ => return Ok(None),
            };
            let old = node.entry(slot).value;
            let kept = needs(old).then(|| old.to_vec());
            match self.write_value(tree, leaf, slot, entry)? {
                None => return Ok(Some(kept)),
                Some(bytes) => tree.make_room(&store.storage, key, 0, bytes)?,
            }
        }
    }

    /// Makes a live entry a ghost; its value, if there was one.
    pub(crate) fn delete_entry(
        &mut self,
        tree: Tree,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let store = std::sync::Arc::clone(&self.store);
        self.reserve_log(2 * key.len())?;
        let mut leaf = tree.leaf_to_write(&store.storage.pool, key)?;
        let node = Node(&leaf);
        let slot = match node.search(key) {
            Ok(slot) if !node.entry(slot).ghost => slot,
            _ => return Ok(None),
        };
        let old = node.entry(slot).value.to_vec();
        let mut undo = Vec::new();
        Undo::Delete {
            tree: tree.root,
            key,
        }
        .encode(&mut undo);
        self.change(
            &mut leaf,
            &Change::SetGhost {
                slot: slot as u16,
                ghost: true,
            },
            &undo,
        )?;
        self.deleted.push(Ghost::new(tree, key));
        Ok(Some(old))
    }
}

/// The undo part of a splice: what puts `old` back.
fn splice_undo(
    tree: Tree,
    key: &[u8],
    old: &[u8],
    (at, removed, with): (u16, u16, &[u8]),
    ghost: bool,
) -> Vec<u8> {
    let old_part = &old[usize::from(at)..usize::from(at) + usize::from(removed)];
    let mut undo = Vec::with_capacity(key.len() + old_part.len() + 32);
    Undo::Splice {
        tree: tree.root,
        key,
        ghost,
        at,
        removed: with.len() as u16,
        with: old_part,
    }
    .encode(&mut undo);
    undo
}
