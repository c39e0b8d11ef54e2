//! Work on an open store, without faults or with a pending one.

use std::sync::atomic::Ordering;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    Change, ColumnType, FlushPolicy, Schema, StoreError, Table, TransactionOptions, Value,
};
use rand::RngExt;

use super::Runner;
use crate::chains::model::{Changes, TABLE, Wrong, apply, read};

/// Ids of rows are below.
pub(super) const IDS: u64 = 1_000_000;
/// Most transactions until a background thread is in the middle of a sync.
const UNTIL_WRITING: usize = 30;
/// Most transactions until the page file has got longer.
const UNTIL_GROWN: usize = 20;
/// Bytes of the longest rows; each takes many pages and more than a file of the log holds.
const LONG: u64 = 100_000;
/// Bytes of the longest, which a few chains have.
const LONGEST: u64 = 1 << 20;

pub(super) fn row(id: i64, (number, text): &(i64, String)) -> [Value; 3] {
    [id.into(), (*number).into(), text.as_str().into()]
}

/// A text that differs from others and, everywhere, from itself.
pub(super) fn text(first: u64, len: usize) -> String {
    let mut text = String::with_capacity(len + 20);
    let mut word = first;
    while text.len() < len {
        text.push_str(&word.to_string());
        text.push(' ');
        word += 1;
    }
    text.truncate(len);
    text
}

impl Runner<'_> {
    pub(super) fn table(&self) -> Table {
        let store = self.store.as_ref().expect("it is open");
        store.table(TABLE).expect("it was checked")
    }

    pub(super) fn work(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            if self.store.is_some() {
                let operations = 1 + self.rng.random_range(0..4);
                let changes = (0..operations).map(|_| self.change()).collect();
                self.transaction(changes)?;
            }
        }
        Ok(())
    }

    /// A row to be updated, inserted or deleted.
    pub(super) fn change(&mut self) -> (i64, Option<(i64, String)>) {
        let near = self.rng.random_range(0..IDS) as i64;
        let known = self.rows.range(near..).next().map(|(&id, _)| id);
        let number = self.rng.random_range(0..1000) as i64;
        let len = match self.rng.random_range(0..40) {
            0 => self.rng.random_range(0..LONG),
            1..4 => self.rng.random_range(0..10_000),
            _ => self.rng.random_range(0..500),
        };
        let text = text(self.rng.random_range(0..IDS), len as usize);
        match (known, self.rng.random_range(0..5)) {
            (Some(id), 0) => (id, None),
            (Some(id), 1..4) => (id, Some((number, text))),
            _ => (near, Some((number, text))),
        }
    }

    /// Inserts a row of up to a mebibyte; or changes one there is, to another length, or deletes it.
    pub(super) fn long_row(&mut self) -> Result<(), String> {
        let is_long =
            |(&id, (_, text)): (&i64, &(i64, String))| (text.len() as u64 > LONG).then_some(id);
        let known = self.rows.iter().find_map(is_long);
        let len = match self.rng.random_range(0..3) {
            0 => self.rng.random_range(0..LONGEST),
            _ => LONGEST,
        };
        let new = (7, text(self.rng.random_range(0..IDS), len as usize));
        let change = match (known, self.rng.random_range(0..4)) {
            (Some(id), 0) => (id, None),
            (Some(id), 1..3) => (id, Some(new)),
            _ => (self.rng.random_range(0..IDS) as i64, Some(new)),
        };
        self.transaction(Changes::from([change]))
    }

    pub(super) fn grow(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            if self.store.is_none() {
                return Ok(());
            }
            if self.rng.random_range(0..3) == 0 {
                self.create_table()?;
                continue;
            }
            let rows = self.new_rows(40);
            self.transaction(rows)?;
        }
        Ok(())
    }

    /// This many rows, most of them new, that fill two thirds of as many eighths of a page.
    fn new_rows(&mut self, count: usize) -> Changes {
        let mut id = || self.rng.random_range(0..IDS);
        let row = |id: u64| (id as i64, Some((7, text(id, 450))));
        (0..count).map(|_| row(id())).collect()
    }

    /// Inserts until the page file has got longer, if that does not take too long: nothing behind its old end is durable
    /// then.
    pub(super) fn until_grown(&mut self) -> Result<(), String> {
        let len = |disk: &FaultDisk| {
            let files = disk.files();
            files
                .iter()
                .find(|(name, _)| name == "pages")
                .map(|&(_, len)| len)
        };
        let before = len(&self.disk);
        for _ in 0..UNTIL_GROWN {
            if self.store.is_none() || len(&self.disk) != before {
                break;
            }
            let rows = self.new_rows(8);
            self.transaction(rows)?;
        }
        Ok(())
    }

    pub(super) fn create_table(&mut self) -> Result<(), String> {
        self.tables += 1;
        let name = format!("table {} {}", self.tables, self.rng.random_range(0..IDS));
        let mut schema = Schema::new(&name).column("id", ColumnType::Int);
        schema = schema.primary_key(["id"]);
        for index in 0..12 {
            schema = schema.index(format!("index {index}"), ["id"]);
        }
        let store = self.store.as_ref().expect("it is open");
        match store.create_table(schema) {
            Ok(_) => self.model.made_table(&name),
            Err(error) if self.is_full(&error) => return self.reads_go_on(),
            Err(error) => self.tolerate(&error)?,
        }
        Ok(())
    }

    pub(super) fn transaction(&mut self, changes: Changes) -> Result<(), String> {
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for (&id, new) in &changes {
            let done = match new {
                Some(new) => txn.put(&table, &row(id, new)),
                None => txn.delete(&table, &[id.into()]).map(drop),
            };
            match done {
                Ok(()) => {}
                // The transaction that is left running has the row, or its neighbour.
                Err(StoreError::LockTimeout) => return Ok(()),
                Err(error) if self.is_full(&error) => {
                    return match txn.rollback() {
                        Ok(()) => self.reads_go_on(),
                        Err(error) if self.faulty => self.tolerate(&error),
                        Err(error) => Err(format!("undoing on the full disk: {error}")),
                    };
                }
                Err(error) => {
                    drop(txn);
                    return self.tolerate(&error);
                }
            }
        }
        if self.rng.random_range(0..8) == 0 {
            return match txn.rollback() {
                Ok(()) => Ok(()),
                Err(error) => self.tolerate(&error),
            };
        }
        match txn.commit() {
            Ok(()) => {
                apply(&mut self.rows, &changes);
                self.model.committed(changes, self.setting.policy);
                Ok(())
            }
            Err(error) => {
                if matches!(error, StoreError::CommitUnknown(_)) {
                    self.model.in_doubt(changes);
                }
                self.tolerate(&error)
            }
        }
    }

    /// Begins a transaction, changes rows, and leaves it so.
    pub(super) fn leave_one_running(&mut self) {
        if self.rng.random_range(0..2) == 0 {
            return;
        }
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for _ in 0..3 {
            let near = self.rng.random_range(0..IDS) as i64;
            if let Some((&id, _)) = self.rows.range(near..).next() {
                // Whether it can be done does not matter.
                let _ = txn.put(&table, &row(id, &(-1, "running".to_owned())));
            }
        }
        self.running = Some(txn);
    }

    /// Begins a transaction that changes many rows and never ends, so that opening has something to undo.
    pub(super) fn leave_running_and_log_it(&mut self) -> Result<(), String> {
        self.running = None;
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for _ in 0..30 {
            let near = self.rng.random_range(0..IDS) as i64;
            let Some((&id, _)) = self.rows.range(near..).next() else {
                continue;
            };
            let text = text(near as u64, self.rng.random_range(0..450) as usize);
            match txn.put(&table, &row(id, &(-1, text))) {
                Ok(()) => {}
                Err(error) if self.is_full(&error) => break,
                Err(error) => {
                    drop(txn);
                    return self.tolerate(&error);
                }
            }
        }
        self.running = Some(txn);
        // What it did is in the log with the next commit.
        self.work(1)
    }

    pub(super) fn checkpoint(&mut self) -> Result<(), String> {
        let store = self.store.as_ref().expect("it is open");
        match store.checkpoint() {
            Ok(()) => {
                self.model.all_durable();
                Ok(())
            }
            Err(error) if self.is_full(&error) => self.reads_go_on(),
            Err(error) => self.tolerate(&error),
        }
    }

    /// Whether a statement failed only because the disk is full: then the store must go on.
    pub(super) fn is_full(&self, error: &StoreError) -> bool {
        let unharmed = !matches!(error, StoreError::CommitUnknown(_) | StoreError::Stopped(_));
        self.capacity.is_some() && !self.disk.power_is_off() && unharmed && error.is_disk_full()
    }

    /// Whatever was acknowledged is read, though the disk is full or has failed.
    pub(super) fn reads_go_on(&mut self) -> Result<(), String> {
        self.running = None;
        let Some(store) = &self.store else {
            return Ok(());
        };
        match read(store) {
            Ok(rows) if rows == self.rows => Ok(()),
            Ok(_) => Err("other rows than those committed are read".to_owned()),
            Err(Wrong::Contents(what)) => Err(what),
            // Another fault may occur in between.
            Err(Wrong::Store(error)) if self.faulty => self.tolerate(&error),
            Err(Wrong::Store(error)) => Err(format!("reading what was committed: {error}")),
        }
    }

    pub(super) fn close(&mut self) -> Result<(), String> {
        self.running = None;
        let Some(store) = &self.store else {
            return Ok(());
        };
        match store.close() {
            Ok(()) => {
                self.model.all_durable();
                let dirty = store.statistics().pool.dirty;
                self.drop_store();
                match dirty {
                    0 => Ok(()),
                    dirty => Err(format!("{dirty} dirty pages after a clean close")),
                }
            }
            Err(error) => self.tolerate(&error),
        }
    }

    /// From now on, or from the next opening on.
    pub(super) fn change_settings(
        &mut self,
        running: bool,
        streams: usize,
        policy: FlushPolicy,
    ) -> Result<(), String> {
        let changed = match &self.store {
            Some(store) if running && streams <= self.streams_max => store
                .change(Change::LogStreams(streams))
                .and_then(|()| store.change(Change::FlushPolicy(policy))),
            _ => {
                self.drop_store();
                Ok(())
            }
        };
        if let Err(error) = changed {
            return self.tolerate(&error);
        }
        if self.store.is_some() && policy == FlushPolicy::EagerFlush {
            self.model.all_durable();
        }
        (self.setting.streams, self.setting.policy) = (streams, policy);
        self.streams_max = self.streams_max.max(streams);
        Ok(())
    }

    /// Works until a thread in the background is in the midst of a sync.
    pub(super) fn until_writing(&mut self) -> Result<(), String> {
        self.running = None;
        if !self.plan.setting.threads {
            return Ok(());
        }
        let begun = self.watch.begun.load(Ordering::SeqCst);
        for _ in 0..UNTIL_WRITING {
            if self.store.is_none() || self.watch.begun.load(Ordering::SeqCst) > begun {
                break;
            }
            self.work(1)?;
        }
        Ok(())
    }
}
