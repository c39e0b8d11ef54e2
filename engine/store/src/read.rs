//! Statements that read single rows.

use evenkeel_locks::Mode;

use crate::error::StoreError;
use crate::key::encode_value;
use crate::locking::LockName;
use crate::table::Table;
use crate::transaction::{Isolation, Transaction};
use crate::tree::descend::Seek;
use crate::tree::node::Node;
use crate::value::{Row, Value};
use crate::write::decode;

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
        self.statement(table, |txn| {
            table.layout().check_key(values)?;
            let mut key = std::mem::take(&mut txn.buffers.key);
            key.clear();
            values
                .iter()
                .for_each(|value| encode_value(value, &mut key));
            let name = table.row_lock(&key);
            let held = txn.lock_to_read(name, mode)?;
            let row = txn.read_locked(table, &key);
            if held == Hold::Moment {
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
            .leaf_to_read(&self.engine.storage.pool, Seek::At(key))?;
        let node = Node(&leaf);
        match node.search(key) {
            Ok(slot) if !node.entry(slot).ghost => {
                decode(table, key, node.entry(slot).value).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Locks a row for reading; how long it is to be held.
    fn lock_to_read(&mut self, name: LockName, mode: Mode) -> Result<Hold, StoreError> {
        let hold = self.hold(name, mode);
        self.lock(name, mode)?;
        Ok(hold)
    }

    /// How long a row's lock is to be held that is about to be taken.
    pub(crate) fn hold(&self, name: LockName, mode: Mode) -> Hold {
        let moment = self.isolation == Isolation::ReadCommitted && mode == Mode::S;
        if moment && self.locks.mode_of(&name).is_none() {
            Hold::Moment
        } else {
            Hold::ToTheEnd
        }
    }
}

/// How long a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Until the row is read: read committed.
    Moment,
    /// Until the transaction ends.
    ToTheEnd,
}
