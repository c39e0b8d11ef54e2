//! Rows too long for an entry of a page. The entry records the row's length, and its bytes lie elsewhere in chunks,
//! as in PostgreSQL's TOAST tables ("The Oversized-Attribute Storage Technique").
//!
//! ```text
//! value in the primary tree:   0, the row's bytes       or   1, their number (4)
//! overflow tree of the table:  key = primary key, number of the chunk (4, big endian)    value = its bytes
//! ```
//! All chunks but the last are as long as a page allows with that key. They are entries like those of an index: locked by their
//! row's lock, logged, undone and removed as any entry is, so crash safety needs nothing new.

use crate::codec::Write;
use crate::error::StoreError;
use crate::row::{OUT_OF_LINE, begin_inline, is_out_of_line, out_of_line_len};
use crate::storage::check_entry;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::tree::descend::Seek;
use crate::tree::node::{Node, entry_bytes, entry_bytes_max};
use crate::value::Row;

/// The longest row, in bytes as stored: it is read and written as a whole.
pub(crate) const ROW_BYTES_MAX: usize = 16 << 20;
/// Bytes of a chunk's number in its key.
pub(crate) const NUMBER_BYTES: usize = 4;
fn chunk_key(key: &[u8], number: usize) -> Vec<u8> {
    let mut chunk_key = Vec::with_capacity(key.len() + NUMBER_BYTES);
    chunk_key.extend_from_slice(key);
    chunk_key.extend_from_slice(&(number as u32).to_be_bytes());
    chunk_key
}

impl Transaction {
    /// Takes the row's bytes out of a value that is too long for the primary tree, and leaves their length.
    ///
    /// # Errors
    /// [`StoreError::RowTooLong`], or [`StoreError::KeyTooLong`] if the key leaves no room for chunks.
    pub(crate) fn take_out_of_line(
        &self,
        table: &Table,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let pool = &self.store.storage.pool;
        let bytes_max = entry_bytes_max(pool.body_bytes());
        if entry_bytes(key.len(), value.len()) <= bytes_max {
            return Ok(None);
        }
        // At least half of each entry is the chunk.
        check_entry(
            pool,
            table.name(),
            2 * entry_bytes(key.len() + NUMBER_BYTES, 0),
        )?;
        let bytes = value.split_off(1);
        if bytes.len() > ROW_BYTES_MAX {
            return Err(StoreError::RowTooLong {
                table: table.name().to_owned(),
                bytes: bytes.len(),
                bytes_max: ROW_BYTES_MAX,
            });
        }
        value.clear();
        value.u8(OUT_OF_LINE);
        value.u32(bytes.len() as u32);
        Ok(Some(bytes))
    }

    /// Bytes of each chunk but the last.
    fn chunk_bytes(&self, key: &[u8]) -> usize {
        let bytes_max = entry_bytes_max(self.store.storage.pool.body_bytes());
        bytes_max - entry_bytes(key.len() + NUMBER_BYTES, 0)
    }

    /// Replaces the chunks of `old` by those of `new`, where they differ. The row is locked.
    pub(crate) fn write_chunks(
        &mut self,
        table: &Table,
        key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<(), StoreError> {
        let len = self.chunk_bytes(key);
        let (mut old, mut new) = (old.chunks(len), new.chunks(len));
        let tree = table.overflow_tree();
        for number in 0.. {
            let done = match (old.next(), new.next()) {
                (None, None) => return Ok(()),
                (Some(old), Some(new)) if old == new => true,
                (Some(_), Some(new)) => {
                    let replaced =
                        self.replace_value(tree, &chunk_key(key, number), new, |_| false);
                    replaced?.is_some()
                }
                (None, Some(new)) => self.insert_entry(tree, &chunk_key(key, number), new)?,
                (Some(_), None) => self.delete_entry(tree, &chunk_key(key, number))?.is_some(),
            };
            if !done {
                return Err(wrong_chunks(table));
            }
        }
        Ok(())
    }

    /// The bytes of a row in chunks, which is locked; empty if `value` is of any other.
    pub(crate) fn read_chunks(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let Some(len) = out_of_line_len(value).filter(|&len| len <= ROW_BYTES_MAX) else {
            return Ok(Vec::new());
        };
        let mut bytes = Vec::with_capacity(len);
        let mut number = 0;
        while bytes.len() < len {
            let first = chunk_key(key, number);
            let pool = &self.store.storage.pool;
            let leaf = table.overflow_tree().leaf_to_read(pool, Seek::At(&first))?;
            let node = Node(&leaf);
            let slot = node.search(&first).map_err(|_| wrong_chunks(table))?;
            for entry in (slot..node.count()).map(|slot| node.entry(slot)) {
                if bytes.len() == len {
                    break;
                }
                if entry.ghost || entry.value.is_empty() || entry.key != chunk_key(key, number) {
                    return Err(wrong_chunks(table));
                }
                bytes.extend_from_slice(entry.value);
                number += 1;
            }
        }
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(wrong_chunks(table)),
        }
    }

    /// The row of a value of the primary tree. The row is locked and no page latched.
    pub(crate) fn row_of(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<Row, StoreError> {
        if !is_out_of_line(value) {
            return table.decode(key, value);
        }
        let mut whole = Vec::new();
        begin_inline(&mut whole);
        whole.append(&mut self.read_chunks(table, key, value)?);
        table.decode(key, &whole)
    }
}

fn wrong_chunks(table: &Table) -> StoreError {
    StoreError::Corrupt(format!(
        "a long row of {:?} lacks a part, or has one too many",
        table.name()
    ))
}
