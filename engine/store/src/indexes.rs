//! Keeping a table's indexes in step with its rows. The rows are locked, so their entries are.

use evenkeel_locks::Mode;

use crate::error::StoreError;
use crate::locking::LockName;
use crate::storage::check_entry;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::tree::Tree;
use crate::tree::descend::Seek;
use crate::tree::node::{Node, entry_bytes};
use crate::value::{Row, Value};
use crate::write::duplicate;

impl Transaction {
    pub(crate) fn insert_into_index(
        &mut self,
        table: &Table,
        place: usize,
        row: &[Value],
    ) -> Result<(), StoreError> {
        let (index, tree) = (&table.indexes()[place], table.index_trees()[place]);
        let mut key = Vec::new();
        table.layout().encode_index_key(index, row, &mut key);
        check_entry(
            &self.store.storage.pool,
            table.name(),
            entry_bytes(key.len(), 0),
        )?;
        if table.layout().is_unique_in(index, row) {
            let values = self.lock_unique(table, place, &key)?;
            if self.has_live_entry(tree, &key[..values])? {
                return Err(duplicate(table, &index.name));
            }
        }
        if self.insert_entry(tree, &key, &[])? {
            return Ok(());
        }
        Err(StoreError::Corrupt(format!(
            "index {:?} of {:?} has an entry of a row that was not there",
            index.name,
            table.name()
        )))
    }

    pub(crate) fn delete_from_index(
        &mut self,
        table: &Table,
        place: usize,
        row: &Row,
    ) -> Result<(), StoreError> {
        let (index, tree) = (&table.indexes()[place], table.index_trees()[place]);
        let mut key = Vec::new();
        table.layout().encode_index_key(index, row, &mut key);
        if table.layout().is_unique_in(index, row) {
            self.lock_unique(table, place, &key)?;
        }
        if self.delete_entry(tree, &key)?.is_some() {
            return Ok(());
        }
        Err(StoreError::Corrupt(format!(
            "index {:?} of {:?} lacks the entry of a row",
            index.name,
            table.name()
        )))
    }

    pub(crate) fn move_in_index(
        &mut self,
        table: &Table,
        place: usize,
        old: &Row,
        new: &[Value],
    ) -> Result<(), StoreError> {
        let columns = &table.indexes()[place].columns;
        let (mut old_key, mut new_key) = (Vec::new(), Vec::new());
        for &at in columns {
            crate::key::encode_value(&old[at], &mut old_key);
            crate::key::encode_value(&new[at], &mut new_key);
        }
        if old_key == new_key {
            return Ok(());
        }
        self.delete_from_index(table, place, old)?;
        self.insert_into_index(table, place, new)
    }

    /// Locks the values in an index key; how long they are.
    fn lock_unique(
        &mut self,
        table: &Table,
        place: usize,
        key: &[u8],
    ) -> Result<usize, StoreError> {
        let values = table.layout().primary_key_in(&table.indexes()[place], key);
        let values = values
            .ok_or_else(|| StoreError::Corrupt("an index key just made is malformed".to_owned()))?;
        self.lock(
            LockName::unique(table.index_trees()[place], &key[..values]),
            Mode::X,
        )?;
        Ok(values)
    }

    /// Whether a live entry's key begins with `prefix`.
    fn has_live_entry(&self, tree: Tree, prefix: &[u8]) -> Result<bool, StoreError> {
        let mut from = prefix.to_vec();
        loop {
            let leaf = tree.leaf_to_read(&self.store.storage.pool, Seek::At(&from))?;
            let node = Node(&leaf);
            let start = node.search(&from).unwrap_or_else(|slot| slot);
            for entry in (start..node.count()).map(|slot| node.entry(slot)) {
                if !entry.key.starts_with(prefix) {
                    return Ok(false);
                }
                if !entry.ghost {
                    return Ok(true);
                }
            }
            match node.high() {
                Some(high) if high.starts_with(prefix) => from = high.to_vec(),
                _ => return Ok(false),
            }
        }
    }
}
