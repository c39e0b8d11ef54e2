//! Taking changes back: the list a transaction keeps of what it changed, and the undoing of one change.

use evenkeel_log::{Depends, Lsn, NewRecord};
use evenkeel_pages::{PageId, PageWrite};

use crate::codec::{Reader, Write};
use crate::error::StoreError;
use crate::record::{RecordKind, Undo, put_changes};
use crate::storage::{Storage, apply};
use crate::tree::Tree;
use crate::tree::change::Change;
use crate::tree::node::Node;

/// The changes of a transaction, in order, as the undo parts of its log records.
#[derive(Default, Debug)]
pub(crate) struct UndoList {
    bytes: Vec<u8>,
    /// The record of each change, and where its undo part begins.
    entries: Vec<(Lsn, usize)>,
}

impl UndoList {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds the change of record `lsn`, whose undo part is `undo`.
    pub(crate) fn push(&mut self, lsn: Lsn, undo: &[u8]) {
        self.entries.push((lsn, self.bytes.len()));
        self.bytes.extend_from_slice(undo);
    }

    /// The last change: its record and its undo part.
    pub(crate) fn last(&self) -> Option<(Lsn, &[u8])> {
        let &(lsn, start) = self.entries.last()?;
        Some((lsn, &self.bytes[start..]))
    }

    /// The record of the change before the last, where undo continues.
    pub(crate) fn next_after_last(&self) -> Lsn {
        let before = self.entries.len().checked_sub(2);
        before.map_or(Lsn::ZERO, |at| self.entries[at].0)
    }

    pub(crate) fn pop(&mut self) {
        if let Some((_, start)) = self.entries.pop() {
            self.bytes.truncate(start);
        }
    }

    /// Forgets changes of records after `lsn`: a compensation record says they are undone.
    pub(crate) fn pop_after(&mut self, lsn: Lsn) {
        while self.entries.last().is_some_and(|&(last, _)| last > lsn) {
            self.pop();
        }
    }

    /// The undo parts in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<Undo<'_>>> {
        self.entries
            .iter()
            .map(|&(_, start)| Undo::decode(&mut Reader(&self.bytes[start..])))
    }
}

/// Writes the compensation records of one transaction.
pub(crate) struct Compensation<'s> {
    pub(crate) storage: &'s Storage,
    /// The transaction.
    pub(crate) txn: u64,
    /// Its last record.
    pub(crate) prev: Lsn,
}

impl<'s> Compensation<'s> {
    /// Undoes the changes of `list` until `keep` are left.
    ///
    /// # Errors
    /// If pages or log fail; `list` then begins with what is still to be undone.
    pub(crate) fn undo_to(&mut self, list: &mut UndoList, keep: usize) -> Result<(), StoreError> {
        while list.len() > keep {
            let next = list.next_after_last();
            let (_, bytes) = list
                .last()
                .expect("a list longer than what to keep is not empty");
            let undo = Undo::decode(&mut Reader(bytes))
                .ok_or_else(|| StoreError::Corrupt("an undo record is malformed".to_owned()))?;
            self.undo(&undo, next)?;
            list.pop();
        }
        Ok(())
    }

    /// Undoes one change; after it, `next` is the record to undo.
    pub(crate) fn undo(&mut self, undo: &Undo<'_>, next: Lsn) -> Result<(), StoreError> {
        match *undo {
            Undo::Insert { tree, key } => self.set_ghost(Tree { root: tree }, key, true, next),
            Undo::Delete { tree, key } => self.set_ghost(Tree { root: tree }, key, false, next),
            Undo::Splice {
                tree,
                key,
                ghost,
                at,
                removed,
                with,
            } => {
                let tree = Tree { root: tree };
                let (leaf, slot) = loop {
                    let (leaf, slot) = self.find(tree, key)?;
                    let node = Node(&leaf);
                    let growth = with.len().saturating_sub(usize::from(removed));
                    if node.fits_value(
                        usize::from(slot),
                        node.entry(usize::from(slot)).value.len() + growth,
                    ) {
                        break (leaf, slot);
                    }
                    drop(leaf);
                    // Others have filled what the change had freed.
                    tree.make_room(self.storage, key, 0, growth)?;
                };
                self.change(
                    leaf,
                    &Change::Splice {
                        slot,
                        ghost,
                        at,
                        removed,
                        with,
                    },
                    next,
                )
            }
            Undo::Allocate { page } => {
                let storage = self.storage;
                storage.pool.free(page, |allocation| {
                    self.append(&[(page, Change::Free)], &[allocation.map_lsn], next)
                })
            }
        }
    }

    fn set_ghost(
        &mut self,
        tree: Tree,
        key: &[u8],
        ghost: bool,
        next: Lsn,
    ) -> Result<(), StoreError> {
        let (leaf, slot) = self.find(tree, key)?;
        self.change(leaf, &Change::SetGhost { slot, ghost }, next)
    }

    /// The entry of `key`, which is there: ghosts are not removed while their transaction runs.
    fn find(&self, tree: Tree, key: &[u8]) -> Result<(PageWrite<'s>, u16), StoreError> {
        let leaf = tree.leaf_to_write(&self.storage.pool, key)?;
        match Node(&leaf).search(key) {
            Ok(slot) => Ok((leaf, slot as u16)),
            Err(_) => Err(StoreError::CorruptPage {
                page: leaf.id(),
                what: "an entry to undo is missing",
            }),
        }
    }

    fn change(
        &mut self,
        mut leaf: PageWrite<'s>,
        change: &Change<'_>,
        next: Lsn,
    ) -> Result<(), StoreError> {
        let lsn = self.append(&[(leaf.id(), change.clone())], &[leaf.lsn()], next)?;
        apply(&mut leaf, change, lsn);
        Ok(())
    }

    fn append(
        &mut self,
        changes: &[(PageId, Change<'_>)],
        depends: &[Lsn],
        next: Lsn,
    ) -> Result<Lsn, StoreError> {
        let mut payload = Vec::new();
        payload.u64(next.0);
        put_changes(changes, &mut payload);
        self.prev = self.storage.log.append(&NewRecord {
            txn: self.txn,
            prev: self.prev,
            kind: RecordKind::Compensation as u8,
            depends: Depends::On(depends),
            payload: &payload,
        })?;
        Ok(self.prev)
    }

    /// Says that the transaction is undone completely.
    pub(crate) fn end(&mut self) -> Result<(), StoreError> {
        self.prev = self.storage.log.append(&NewRecord {
            txn: self.txn,
            prev: self.prev,
            kind: RecordKind::End as u8,
            depends: Depends::On(&[]),
            payload: &[],
        })?;
        Ok(())
    }
}
