//! Commit: the record, the release of the locks, and the wait for the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_locks::Mode;
use evenkeel_log::{Depends, Lsn};

use crate::error::StoreError;
use crate::inner::StoreInner;
use crate::locking::LockName;
use crate::record::RecordKind;
use crate::settings::Release;
use crate::transaction::Transaction;

impl Transaction {
    /// Makes its changes permanent, as durable as the flush policy says, and releases its locks.
    ///
    /// # Errors
    /// [`StoreError::CommitUnknown`] if only reopening the store shows whether it is committed; after every other error it is
    /// rolled back.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.check()?;
        if self.number != 0 {
            self.make_durable()?;
            self.leave();
        } else {
            self.await_needs()?;
            self.store.counters.read_only.add_one();
        }
        self.ended = true;
        self.store.counters.committed.add_one();
        self.release_locks();
        self.store.ghosts.add(&mut self.deleted);
        self.store.ghosts.add(&mut self.taken_back);
        self.notify_observer(true);
        Ok(())
    }

    fn make_durable(&mut self) -> Result<(), StoreError> {
        let needs = std::mem::take(&mut self.needs);
        let depends = self.store.commit_dependencies(&needs);
        let appended = self.append_record(RecordKind::Commit, depends, &[]);
        let durable = appended.and_then(|lsn| {
            let released = self.release_early(lsn);
            self.store.storage.log.commit(lsn)?;
            for name in released {
                self.store.released.remove(name, lsn);
            }
            Ok(())
        });
        durable.map_err(|error| self.commit_unknown(error))
    }

    /// Waits until all data that the transaction has read is durable.
    fn await_needs(&mut self) -> Result<(), StoreError> {
        let log = &self.store.storage.log;
        let durable = self.needs.iter().try_for_each(|&lsn| log.commit(lsn));
        durable.map_err(|error| self.commit_unknown(error.into()))
    }

    /// Releases its locks although the commit record `lsn` is not durable, if the settings allow that; returns the
    /// exclusive ones.
    fn release_early(&mut self, lsn: Lsn) -> Vec<LockName> {
        let store = &self.store;
        if store.release == Release::WhenDurable || !store.needs_known.load(Ordering::SeqCst) {
            return Vec::new();
        }
        let exclusive = self.locks.held().filter(|&(_, mode)| mode == Mode::X);
        let names: Vec<LockName> = exclusive.map(|(&name, _)| name).collect();
        for &name in &names {
            store.released.add(name, lsn);
        }
        self.locks.release_all();
        names
    }

    /// Neither undone nor committed: nobody may see its changes. This includes a failed append, which may have
    /// written the record, and a transaction that has read data that is not durable.
    fn commit_unknown(&mut self, error: StoreError) -> StoreError {
        self.ended = true;
        self.store.stop(&error);
        StoreError::CommitUnknown(Arc::new(error))
    }
}

impl StoreInner {
    /// Dependencies of a commit record in addition to the transaction's records: under eager flush the commits it is
    /// known to need, under the lazy policies everything.
    fn commit_dependencies<'n>(&self, needs: &'n [Lsn]) -> Depends<'n> {
        if self.needs_known.load(Ordering::SeqCst) {
            Depends::On(needs)
        } else {
            Depends::Everything
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnType, Scan, Schema, Settings, Store, Table};
    use evenkeel_disk::faults::FaultDisk;

    fn open(disk: &FaultDisk) -> Store {
        open_with(disk, usize::MAX)
    }

    fn open_with(disk: &FaultDisk, escalation_locks: usize) -> Store {
        let logs = vec![disk.root().subdirectory("log-0").unwrap()];
        let mut settings = Settings::default().without_threads();
        settings.pool.frames = 24;
        settings.log.segment_bytes = 64 << 10;
        settings.escalation_locks = escalation_locks;
        Store::open_on(disk.root(), logs, settings).unwrap()
    }

    /// A table with the rows 1 and 2.
    fn rows(store: &Store) -> Table {
        let schema = Schema::new("rows").column("id", ColumnType::Int);
        let table = store.create_table(schema.primary_key(["id"])).unwrap();
        let mut txn = store.begin(Default::default());
        for id in [1, 2] {
            txn.insert(&table, &[id.into()]).unwrap();
        }
        txn.commit().unwrap();
        table
    }

    fn ids_after_power_failure(disk: &FaultDisk) -> Vec<i64> {
        let store = open(&disk.after_power_failure(0));
        let table = store.table("rows").unwrap();
        let rows = store.begin(Default::default()).scan(&table, &Scan::all());
        rows.unwrap().iter().map(|row| row.int(0)).collect()
    }

    /// Deletes row 1 and goes as far as releasing the locks: nothing of it is durable.
    fn delete_and_release(store: &Store, table: &Table) -> Transaction {
        let mut txn = store.begin(Default::default());
        assert!(txn.delete(table, &[1.into()]).unwrap());
        let lsn = txn.append_record(RecordKind::Commit, Depends::On(&[]), &[]);
        assert_eq!(txn.release_early(lsn.unwrap()).len(), 1);
        txn
    }

    #[test]
    fn a_reader_of_what_is_not_durable_is_acknowledged_when_it_is() {
        let disk = FaultDisk::new();
        let store = open(&disk);
        let table = rows(&store);
        let mut deleting = delete_and_release(&store, &table);
        for (id, needs) in [(2, 0), (1, 1)] {
            let mut reading = store.begin(Default::default());
            let row = reading.get(&table, &[id.into()]).unwrap();
            assert_eq!((row.is_some(), reading.needs.len()), (id == 2, needs));
            assert_eq!(ids_after_power_failure(&disk), [1, 2]);
            reading.commit().unwrap();
        }
        assert_eq!(ids_after_power_failure(&disk), [2]);
        deleting.ended = true;
    }

    /// A scan would pass by where the ghost was without a lock that tells of the deletion.
    #[test]
    fn a_ghost_stays_until_its_deletion_is_durable() {
        let disk = FaultDisk::new();
        let store = open(&disk);
        let table = rows(&store);
        let mut deleting = delete_and_release(&store, &table);
        let mut scanning = store.begin(Default::default());
        assert_eq!(scanning.scan(&table, &Scan::all()).unwrap().len(), 1);
        assert_eq!(scanning.needs.len(), 1);
        drop(scanning);
        assert_eq!(store.tidy().unwrap(), 1, "the ghost that the scan met");
        deleting.ended = true;
    }

    /// A reader of the whole table takes no row locks, but still needs the commits that left the rows.
    #[test]
    fn a_reader_with_the_tables_lock_needs_what_it_reads() {
        let disk = FaultDisk::new();
        let store = open_with(&disk, 2);
        let table = rows(&store);
        let mut deleting = delete_and_release(&store, &table);
        let mut scanning = store.begin(Default::default());
        assert_eq!(scanning.scan(&table, &Scan::all()).unwrap().len(), 1);
        assert_eq!((scanning.locks_held(), scanning.needs.len()), (1, 1));
        assert_eq!(ids_after_power_failure(&disk), [1, 2]);
        scanning.commit().unwrap();
        assert_eq!(ids_after_power_failure(&disk), [2]);
        deleting.ended = true;
    }

    /// A writer of the whole table leaves the table's name, which readers and the removal of ghosts find.
    #[test]
    fn changes_under_a_table_lock_are_needed() {
        let disk = FaultDisk::new();
        let store = open_with(&disk, 2);
        let table = rows(&store);
        let mut deleting = store.begin(Default::default());
        for id in [1, 2] {
            assert!(deleting.delete(&table, &[id.into()]).unwrap());
        }
        let lsn = deleting.append_record(RecordKind::Commit, Depends::On(&[]), &[]);
        assert_eq!(deleting.release_early(lsn.unwrap()), [table.lock()]);
        let queue = Arc::clone(&deleting.store);
        queue.ghosts.add(&mut deleting.deleted);
        assert_eq!(store.tidy().unwrap(), 2);
        let mut reading = store.begin(Default::default());
        assert_eq!(reading.get(&table, &[1.into()]).unwrap(), None);
        assert_eq!(reading.needs.len(), 1);
        assert_eq!(ids_after_power_failure(&disk), [1, 2]);
        reading.commit().unwrap();
        assert_eq!(ids_after_power_failure(&disk), []);
        deleting.ended = true;
    }
}
