//! Lock escalation: a transaction with very many locks replaces its locks in a table by one lock on the whole table.
//! The modes are those of Gray, Lorie, Putzolu and Traiger, "Granularity of Locks and Degrees of Consistency in a
//! Shared Data Base", 1976.
//!
//! From [`escalation_locks`](crate::Settings::escalation_locks) on it tries, without waiting, and again with a quarter more if the
//! table is in use. With as many locks as one may hold it waits for the table like for any lock. The table is the one where it has
//! most; the mode is `X` if it has written more of its rows than read, else `S`. Then the locks that are covered
//! are released, and none is taken that is. So a scan or a load may be of any size.
//!
//! Three things rest on the locks of single rows and must not get lost with them:
//! * A reader of a row needs the commit that left it, durable or not ([`crate::released`]): that is looked up by the
//!   row's name, lock or no lock. A commit with a lock of the table leaves the table's name there, for everybody
//!   after it.
//! * A ghost is not removed while its row may come back: [`crate::purge`] locks the table, too.
//! * An insertion does not meet a scan's gaps: it may leave out the gap's lock under `X` on the table only.

use std::collections::HashMap;

use evenkeel_locks::Mode;
use evenkeel_pages::PageId;
use foldhash::fast::RandomState;

use crate::covering::{Wait, covers_parts};
use crate::error::StoreError;
use crate::locking::{LockDuration, LockKind, LockName};
use crate::table::Table;
use crate::transaction::{Isolation, Transaction};
use crate::tree::Tree;

/// The locks of one table.
#[derive(Default)]
struct TableLocks {
    names: Vec<(LockName, Mode)>,
    rows_read: usize,
    rows_written: usize,
}

impl Transaction {
    /// The duration of a table lock that a statement takes in `mode`.
    pub(crate) fn table_lock_duration(&self, table: &Table, mode: Mode) -> LockDuration {
        let reads = self.isolation == Isolation::ReadCommitted && mode == Mode::IS;
        match reads && self.locks.mode_of(&table.lock()).is_none() {
            true => LockDuration::Instant,
            false => LockDuration::Commit,
        }
    }

    /// Locks the table of the statement that begins. Not counted among the grants observed unless there is a conflict: the papers'
    /// systems do not schedule intention locks.
    pub(crate) fn lock_table(&mut self, table: &Table, mode: Mode) -> Result<(), StoreError> {
        let name = table.lock();
        let held = self.locks.mode_of(&name);
        self.escalation.table = Some(name);
        self.escalation.covers = held;
        if held.is_some_and(|held| held.covers(mode)) {
            return Ok(());
        }
        if self.locks.try_lock(&name, mode).is_err() {
            match self.lock_uncovered(name, mode) {
                Err(StoreError::TooManyLocks(_)) => {
                    self.escalate(Wait::Yes, mode)?;
                    self.lock_uncovered(name, mode)?;
                }
                done => done?,
            }
        }
        self.note_need(name);
        self.escalation.covers = self.locks.mode_of(&name);
        // As in `lock`.
        self.store.check()
    }

    /// Replaces the locks of the table with the most locks by one table lock. If there are none to replace and no
    /// more are allowed, locks the statement's table so that it needs none in `mode`.
    ///
    /// # Errors
    /// If the table is waited for and not had.
    pub(crate) fn escalate(&mut self, wait: Wait, mode: Mode) -> Result<(), StoreError> {
        let most = self.most_locked().or_else(|| {
            let table = self.escalation.table.filter(|_| wait == Wait::Yes)?;
            let rows_written = usize::from(mode.intention() == Mode::IX);
            Some((
                table,
                TableLocks {
                    rows_written,
                    ..TableLocks::default()
                },
            ))
        });
        if let Some((table, held)) = most {
            let mode = match held.rows_written > held.rows_read {
                true => Mode::X,
                false => Mode::S,
            };
            let granted = match wait {
                Wait::No => self.locks.try_lock(&table, mode).is_ok(),
                Wait::Yes => self.lock_uncovered(table, mode).map(|()| true)?,
            };
            if granted {
                self.note_need(table);
                self.release_covered(table, &held);
            }
        }
        self.escalation.put_off(self.locks.locks_held());
        self.store.check()
    }

    /// Releases the locks of parts of the table that its own covers.
    fn release_covered(&mut self, table: LockName, held: &TableLocks) {
        let mode = self.locks.mode_of(&table).expect("just granted");
        for (name, part) in &held.names {
            // A gap's lock is in force while something is inserted there: after that it is only what a scan has.
            let needed = match name.kind() {
                LockKind::Gap => Mode::S,
                _ => *part,
            };
            if covers_parts(mode, needed) {
                self.locks.release(name);
            }
        }
        if self.escalation.table == Some(table) {
            self.escalation.covers = Some(mode);
        }
        self.store.counters.escalations.add_one();
    }

    /// The table with most of its locks, and those locks.
    fn most_locked(&self) -> Option<(LockName, TableLocks)> {
        let mut tables: HashMap<PageId, LockName, RandomState> = HashMap::default();
        let mut held: HashMap<LockName, TableLocks, RandomState> = HashMap::default();
        for (&name, mode) in self.locks.held() {
            if matches!(name.kind(), LockKind::Table | LockKind::Catalog) {
                continue;
            }
            let table = *tables.entry(name.root()).or_insert_with(|| {
                let tree = Tree { root: name.root() };
                let owner = self.store.owner_of(tree);
                owner.map_or(LockName::table(tree), |(table, _)| table.lock())
            });
            let held = held.entry(table).or_default();
            held.names.push((name, mode));
            match (name.kind(), mode) {
                (LockKind::Gap, _) => {}
                (_, Mode::X) => held.rows_written += 1,
                _ => held.rows_read += 1,
            }
        }
        let all = held.into_iter();
        // Of equals the same each time.
        all.max_by_key(|(table, held)| (held.names.len(), table.root().0))
    }
}
