//! Statements that read single rows.

use evenkeel_locks::Mode;

use crate::error::StoreError;
use crate::key::encode_value;
use crate::locking::{LockDuration, LockName};
use crate::row::is_out_of_line;
use crate::table::Table;
use crate::transaction::{Isolation, Transaction};
use crate::tree::descend::Seek;
use crate::tree::node::Node;
use crate::value::{Row, Value};

impl Transaction {
    /// The row with this primary key. Locked shared until the end, unless the isolation is read committed.
    ///
    /// # Errors
    /// If a lock is refused or the disk fails.
    pub fn get(&mut self, table: &Table, key: &[Value]) -> Result<Option<Row>, StoreError> {
        self.read(table, key, Mode::S)
    }

    /// The row with this primary key, locked exclusively until the end: for what is going to be updated. Asking for the
    /// stronger lock at once avoids the deadlock of two transactions that read and then both update.
    ///
    /// # Errors
    /// As [`get`](Transaction::get).
    pub fn get_for_update(
        &mut self,
        table: &Table,
        key: &[Value],
    ) -> Result<Option<Row>, StoreError> {
        self.read(table, key, Mode::X)
    }

    fn read(
        &mut self,
        table: &Table,
        values: &[Value],
        mode: Mode,
    ) -> Result<Option<Row>, StoreError> {
        self.statement(table, mode.intention(), |txn| {
            table.layout().check_key(values)?;
            let mut key = std::mem::take(&mut txn.buffers.key);
            key.clear();
            values
                .iter()
                .for_each(|value| encode_value(value, &mut key));
            let name = table.row_lock(&key);
            let duration = txn.lock_to_read(name, mode)?;
            let row = txn.read_locked(table, &key);
            if duration == LockDuration::Instant {
                txn.locks.release(&name);
            }
            txn.buffers.key = key;
            row
        })
    }

    /// The row with this encoded key, whose lock is held.
    pub(crate) fn read_locked(&self, table: &Table, key: &[u8]) -> Result<Option<Row>, StoreError> {
        let leaf = table
            .tree()
            .leaf_to_read(&self.store.storage.pool, Seek::At(key))?;
        let node = Node(&leaf);
        let value = match node.search(key) {
            Ok(slot) if !node.entry(slot).ghost => node.entry(slot).value,
            _ => return Ok(None),
        };
        if !is_out_of_line(value) {
            return table.decode(key, value).map(Some);
        }
        let value = value.to_vec();
        drop(leaf);
        self.row_of(table, key, &value).map(Some)
    }

    /// Locks a row for reading; how long the lock is to be held.
    fn lock_to_read(&mut self, name: LockName, mode: Mode) -> Result<LockDuration, StoreError> {
        let duration = self.lock_duration(name, mode);
        self.lock(name, mode)?;
        Ok(duration)
    }

    /// The duration of a row's lock that is about to be taken.
    pub(crate) fn lock_duration(&self, name: LockName, mode: Mode) -> LockDuration {
        let instant = self.isolation == Isolation::ReadCommitted && mode == Mode::S;
        if instant && self.locks.mode_of(&name).is_none() {
            LockDuration::Instant
        } else {
            LockDuration::Commit
        }
    }
}
