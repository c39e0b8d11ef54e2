//! Statements that change rows.

use evenkeel_locks::Mode;

use crate::error::StoreError;
use crate::row::{RowLayout, is_out_of_line};
use crate::table::Table;
use crate::transaction::Transaction;
use crate::value::Value;

impl Transaction {
    /// Adds a row.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`] if its primary key, or its values of a unique index, are taken.
    pub fn insert(&mut self, table: &Table, row: &[Value]) -> Result<(), StoreError> {
        self.statement(table, Mode::IX, |txn| {
            table.layout().check_row(row)?;
            if txn.insert_row(table, row)? {
                return Ok(());
            }
            Err(duplicate(table, "primary key"))
        })
    }

    /// Adds a row, or replaces the one with its primary key.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`] if its values of a unique index are another row's.
    pub fn put(&mut self, table: &Table, row: &[Value]) -> Result<(), StoreError> {
        self.statement(table, Mode::IX, |txn| {
            table.layout().check_row(row)?;
            if txn.insert_row(table, row)? || txn.update_row(table, row)? {
                return Ok(());
            }
            Err(StoreError::Corrupt(format!(
                "a locked row of {:?} appeared and disappeared",
                table.name()
            )))
        })
    }

    /// Replaces the row with the primary key of `row`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if no such row exists, [`StoreError::DuplicateKey`] if the values of a unique index
    /// are another row's.
    pub fn update(&mut self, table: &Table, row: &[Value]) -> Result<(), StoreError> {
        self.statement(table, Mode::IX, |txn| {
            table.layout().check_row(row)?;
            if txn.update_row(table, row)? {
                return Ok(());
            }
            Err(StoreError::NotFound {
                table: table.name().to_owned(),
            })
        })
    }

    /// Removes the row with this primary key; whether there was one.
    ///
    /// # Errors
    /// If a lock is refused or the disk fails.
    pub fn delete(&mut self, table: &Table, key: &[Value]) -> Result<bool, StoreError> {
        self.statement(table, Mode::IX, |txn| {
            table.layout().check_key(key)?;
            txn.delete_row(table, &crate::key::encode_all(key))
        })
    }

    /// Locks the row and adds it; whether there was none.
    fn insert_row(&mut self, table: &Table, row: &[Value]) -> Result<bool, StoreError> {
        let (key, mut value) = self.encode(table.layout(), row);
        let long = self.take_out_of_line(table, &key, &mut value)?;
        self.lock(table.row_lock(&key), Mode::X)?;
        let inserted = self.insert_entry(table.tree(), &key, &value)?;
        if inserted {
            if let Some(long) = long {
                self.write_chunks(table, &key, &[], &long)?;
            }
            for place in 0..table.indexes().len() {
                self.insert_into_index(table, place, row)?;
            }
        }
        self.buffers.key = key;
        self.buffers.value = value;
        Ok(inserted)
    }

    /// The key and value of a row, in the transaction's own buffers.
    fn encode(&mut self, layout: &RowLayout, row: &[Value]) -> (Vec<u8>, Vec<u8>) {
        let mut key = std::mem::take(&mut self.buffers.key);
        let mut value = std::mem::take(&mut self.buffers.value);
        key.clear();
        value.clear();
        layout.encode_key(row, &mut key);
        layout.encode_row(row, &mut value);
        (key, value)
    }

    /// Locks the row and replaces it; whether there was one.
    fn update_row(&mut self, table: &Table, row: &[Value]) -> Result<bool, StoreError> {
        let (key, mut value) = self.encode(table.layout(), row);
        let long = self.take_out_of_line(table, &key, &mut value)?;
        self.lock(table.row_lock(&key), Mode::X)?;
        let indexed = !table.indexes().is_empty();
        let old = self.replace_value(table.tree(), &key, &value, |old| {
            indexed || is_out_of_line(old)
        })?;
        let found = old.is_some();
        let old = old.flatten();
        // Before the chunks are replaced.
        let old_row = match &old {
            Some(old) if indexed => Some(self.row_of(table, &key, old)?),
            _ => None,
        };
        if found && (long.is_some() || old.as_deref().is_some_and(is_out_of_line)) {
            let old = self.read_chunks(table, &key, &old.unwrap_or_default())?;
            self.write_chunks(table, &key, &old, &long.unwrap_or_default())?;
        }
        if let Some(old) = old_row {
            for place in 0..table.indexes().len() {
                self.move_in_index(table, place, &old, row)?;
            }
        }
        self.buffers.key = key;
        self.buffers.value = value;
        Ok(found)
    }

    fn delete_row(&mut self, table: &Table, key: &[u8]) -> Result<bool, StoreError> {
        self.lock(table.row_lock(key), Mode::X)?;
        let Some(old) = self.delete_entry(table.tree(), key)? else {
            return Ok(false);
        };
        if !table.indexes().is_empty() {
            let old = self.row_of(table, key, &old)?;
            for place in 0..table.indexes().len() {
                self.delete_from_index(table, place, &old)?;
            }
        }
        if is_out_of_line(&old) {
            let chunks = self.read_chunks(table, key, &old)?;
            self.write_chunks(table, key, &chunks, &[])?;
        }
        Ok(true)
    }
}

pub(crate) fn duplicate(table: &Table, index: &str) -> StoreError {
    StoreError::DuplicateKey {
        table: table.name().to_owned(),
        index: index.to_owned(),
    }
}
